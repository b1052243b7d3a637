"""examples/training, from a data set to a policy that runs: a few steps on tiny pictures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "training"))

import export
import train
from frames import Frames, are_held_out
from network import normalised_actions, weights_digest

from robodx.datasets.formats.base import FORMATS
from robodx.datasets.schema import Demonstration, Features, Pictures
from robodx.learned.acting import denormalised_actions
from robodx.learned.networks import load
from robodx.policy_contract import make_policy
from robodx.records.trial import Trial
from robodx.running.rollout import rollout
from robodx.tasks.base import TASKS

CAMERAS = ("front", "wrist")
TASK = "primitive/press_switch"
FEATURES = Features(
    hz=10.0,
    cameras={name: (32, 32) for name in CAMERAS},
    state={"state": tuple(f"s{number}" for number in range(15))},
    action=tuple(f"a{number}" for number in range(8)),
    robot="panda",
)


def written(path: Path, *lengths: int, says: str = "press the switch") -> Path:
    rng = np.random.default_rng(0)
    episodes = [
        Demonstration(
            instructions=(says,) * steps,
            images={name: Pictures.of(rng.integers(0, 256, (steps, 32, 32, 3), dtype=np.uint8)) for name in CAMERAS},
            state={"state": rng.normal(size=(steps, 15)).astype(np.float32)},
            action=rng.normal(size=(steps, 8)).astype(np.float32),
            success=np.arange(steps) == steps - 1,
            metadata={"task": TASK, "seed": 1_000_000 + number},
        )
        for number, steps in enumerate(lengths)
    ]
    write = FORMATS["lerobot"].write
    assert write is not None
    path.mkdir()
    write(path, FEATURES, episodes)
    return path


def trained(data: Path, out: Path, steps: int, *more: object, network: str = "act_no_language") -> Path:
    """The last checkpoint."""
    asked = ["--network", network, "--data", data, "--out", out, "--steps", steps, "--batch", 4, *more]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["train.py", *map(str, asked), "--workers", "1", "--device", "cpu"])
        train.main()
    return out / "last.pt"


def exported(checkpoint: Path, out: Path) -> Path:
    export.export(torch.load(checkpoint, weights_only=True), out)
    return out


def test_a_training_goes_on_with_its_own_data_only_and_runs_as_a_policy(tmp_path: Path) -> None:
    data, out = written(tmp_path / "data", 6, 5, 4), tmp_path / "act"
    trained(data, out, 3)
    again = torch.load(trained(data, out, 4), weights_only=True)
    assert again["step"] == 4 and again["vocabulary"] == [] and (out / "loss.svg").exists()
    other = written(tmp_path / "other", 6, 5)
    with pytest.raises(SystemExit, match=r"holds frames of .*data"):
        trained(other, out, 5)
    with pytest.raises(SystemExit, match=r"another training \(data\)"):
        trained(other, out, 5, "--cache", tmp_path / "cache")
    with pytest.raises(SystemExit, match=r"another training \(share\)"):
        trained(data, out, 5, "--share", 0.9)
    with pytest.raises(SystemExit, match=r"another training \(rate\)"):
        trained(data, out, 5, "--rate", 0.1)
    log = (out / "log.csv").read_text().splitlines()
    train.forget_after(out / "log.csv", 3)
    # What is done again is not there twice.
    assert (out / "log.csv").read_text().splitlines() == [line for line in log if not line.startswith("4,")]

    file = exported(out / "last.pt", tmp_path / "act.onnx")
    (finished,) = rollout([Trial(TASK, TASKS[TASK].version, "mine", 0)], make_policy(f"onnx:{file}"))
    assert finished.episode.outcome in ("timeout", "failure") and (finished.episode.steps or 0) > 10


def test_fine_tuning_begins_with_the_weights_and_words_of_another_training(tmp_path: Path) -> None:
    data, others = written(tmp_path / "data", 6, 5, 4), written(tmp_path / "others", 6, 5, says="a press of the switch")
    first = torch.load(trained(data, tmp_path / "act", 2, network="act"), weights_only=True)
    init = ("--init", tmp_path / "act" / "average.pt")
    more = torch.load(trained(others, tmp_path / "more", 1, *init, "--rate", 0, network="act"), weights_only=True)
    assert more["vocabulary"] == first["vocabulary"] and more["init"] == weights_digest(first["average"])
    trainable = [name for name in first["average"] if name.endswith(("weight", "bias"))]
    assert trainable and all(torch.equal(more["weights"][name], first["average"][name]) for name in trainable)
    with pytest.raises(SystemExit, match=r"another network or other data \(shape\)"):
        trained(data, tmp_path / "small", 1, *init, network="act_no_language")
    with pytest.raises(SystemExit, match=r"another training \(.*init\)"):
        trained(others, tmp_path / "more", 2, "--rate", 0, network="act")


def test_a_resumed_training_draws_what_it_would_have_drawn(tmp_path: Path) -> None:
    data, cache = written(tmp_path / "data", 6, 5, 4), tmp_path / "cache"
    # The rate depends on where a training ends, so both are to end at the same step; the first is cut off.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train.Learner, "_tell", lambda *_: None)
        whole = torch.load(trained(data, tmp_path / "whole", 3, "--cache", cache), weights_only=True)
        save = train.Learner._save

        def cut_off(learner: train.Learner, *, is_kept: bool) -> None:
            save(learner, is_kept=is_kept)
            raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as once, pytest.raises(KeyboardInterrupt):
            once.setattr(train.Learner, "_save", cut_off)
            trained(data, tmp_path / "parts", 3, "--cache", cache, "--save-every", 1)
        parts = torch.load(trained(data, tmp_path / "parts", 3, "--cache", cache), weights_only=True)
    for name, value in whole["weights"].items():
        torch.testing.assert_close(parts["weights"][name], value)


def test_a_flow_reads_the_words_and_the_tokens_of_its_act(tmp_path: Path) -> None:
    data = written(tmp_path / "data", 6, 5, 4)
    act = trained(data, tmp_path / "act", 1, network="act")
    others = written(tmp_path / "others", 6, 5, says="a press of the switch")
    flow = trained(others, tmp_path / "flow", 1, "--act", act, network="flow")
    words = torch.load(act, weights_only=True)["vocabulary"]
    assert torch.load(flow, weights_only=True)["vocabulary"] == words and "of" not in words
    frames = Frames.load([str(others)], tmp_path / "flow" / "frames", vocabulary=words)
    assert frames.words[0, :5].tolist() == [1, words.index("press"), 1, words.index("the"), words.index("switch")]

    with pytest.raises(SystemExit, match="export the act"):
        exported(flow, tmp_path / "flow.onnx")
    exported(act, tmp_path / "act.onnx")
    assert load(exported(flow, tmp_path / "flow.onnx")).card.is_stochastic
    exported(trained(data, tmp_path / "act", 2, network="act"), tmp_path / "act.onnx")
    with pytest.raises(SystemExit, match="not the network that the flow was trained on"):
        exported(flow, tmp_path / "flow.onnx")


def test_disturbed_and_undisturbed_episodes_are_held_out() -> None:
    seeds = list(range(1_000_000, 1_005_000))
    chosen = [seed for seed, is_held_out in zip(seeds, are_held_out([TASK] * 5000, seeds), strict=True) if is_held_out]
    assert 70 < len(chosen) < 130 and 0.3 < np.mean([seed % 2 for seed in chosen]) < 0.7
    assert sum(are_held_out([TASK] * 3, seeds[:3])) == 1


def test_what_the_policy_makes_of_normalised_actions_is_the_actions() -> None:
    rng = np.random.default_rng(0)
    actions, tool = rng.uniform(0.1, 0.9, (5, 8)).astype(np.float32), np.array([0.4, 0, 0.3], np.float32)
    actions[:, 3:7] /= np.linalg.norm(actions[:, 3:7], axis=1, keepdims=True)
    inside = normalised_actions(torch.tensor(actions)[None], torch.tensor(tool)[None])[0].numpy()
    np.testing.assert_allclose(denormalised_actions(inside, tool), actions, atol=1e-5)


def test_frames_of_a_data_set_that_has_changed_are_refused(tmp_path: Path) -> None:
    data = written(tmp_path / "data", 6, 5)
    Frames.load([str(data)], tmp_path / "cache", workers=1)
    about = json.loads((tmp_path / "cache" / "source.json").read_text())
    assert about["place"] == str(data.resolve()) and len(about["parts"]) == 2
    data.rename(tmp_path / "old")
    written(data, 6, 4)
    with pytest.raises(SystemExit, match="as it is now"):
        Frames.load([str(data)], tmp_path / "cache", workers=1)
