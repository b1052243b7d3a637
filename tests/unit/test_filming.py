"""Films: what they are called, and that one episode that cannot be filmed does not end the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from robodx.cli.films import film_examples
from robodx.policy_contract import make_policy
from robodx.records.about import UnreadableRun
from robodx.records.film_name import film_name
from robodx.records.trial import Trial
from robodx.report import material
from robodx.report.material import gather
from robodx.running.rollout import rollout
from robodx.sim import gl
from robodx.sim.render import Renderer
from robodx.video import filming
from robodx.video.rendering import frames
from tests.reporting import ABOUT, diagnosis, episode, finding, run_folder

TASK = "primitive/pick_cube"


def touch(path: Path, pictures: Iterator[object], *_: object, comment: str | None = None) -> None:
    assert list(pictures) == []
    path.write_bytes(b"film" + (comment or "").encode())


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two episodes of which the first has no trajectory, a damaged part beside, and nothing is drawn."""
    rows = [episode(TASK, seed, success=False, trial_id=f"{seed:016x}", suite="tasks") for seed in range(2)]
    run = run_folder(tmp_path / "run", rows)
    (run / "episodes" / "other.parquet").write_bytes(b"damaged")
    monkeypatch.setattr(filming, "write_mp4", touch)
    monkeypatch.setattr(filming, "film_frames", lambda *_, **__: ())
    (run / "trajectories").mkdir()
    (run / "trajectories" / f"{1:016x}.npz").write_bytes(b"")
    monkeypatch.setattr(filming, "Trajectory", SimpleNamespace(load=Path.read_bytes))
    return run


def test_what_cannot_be_filmed_is_told_and_the_rest_is_filmed(made: Path) -> None:
    reported: list[str] = []
    films = list(filming.film_trials(made, [f"{seed:016x}" for seed in range(2)], reported.append))
    assert [path.name for path in films] == ["primitive.pick_cube-seed1-failure-000000.mp4"]
    assert (
        "other.parquet is damaged" in reported[0]
        and f"{0:016x}.npz cannot be filmed" in reported[1]
        and len(reported) == 2
    )
    (made / "episodes" / "other.parquet").unlink()
    with pytest.raises(UnreadableRun, match="cannot be filmed"):
        list(filming.film(made, 2))


def test_the_pairs_of_causes_are_filmed_first(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = [f"{seed:016x}" for seed in range(2)]
    wanted: list[list[str]] = []
    monkeypatch.setattr(gl, "status", lambda: SimpleNamespace(is_available=True))

    def film_trials(out: Path, trial_ids: list[str], tell: object, *, is_plain: bool) -> tuple[Path, ...]:
        wanted.append(trial_ids)
        return ()

    monkeypatch.setattr(filming, "film_trials", film_trials)
    going = finding(certainty="associated", examples=(trials[1],))
    told = diagnosis(going, finding(pair=(trials[1], trials[0]), examples=("example", "another", "third")))
    monkeypatch.setattr(material, "diagnose", lambda *_, **__: [told])
    film_examples(gather([made]), 2)
    assert wanted == [[trials[1], trials[0], "example", "another"]]


def test_trials_are_filmed_in_the_order_in_which_they_are_wanted(made: Path) -> None:
    (made / "trajectories" / f"{0:016x}.npz").write_bytes(b"")
    films = list(filming.film_trials(made, [f"{seed:016x}" for seed in (1, 0)], lambda problem: None))
    assert [path.name.partition("-")[2][:5] for path in films] == ["seed1", "seed0"]


def test_a_run_that_does_not_say_its_rate_is_told(made: Path) -> None:
    reported: list[str] = []
    run_folder(made, [episode(TASK, 1)], {**ABOUT, "policy_spec": {}}, part="other")
    assert list(filming.film_trials(made, [f"{1:016x}"], reported.append)) == []
    assert "does not say policy_spec.hz" in reported[0]


def test_a_damaged_part_does_not_keep_examples_from_being_filmed(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gl, "status", lambda: SimpleNamespace(is_available=True))
    film_examples(gather([made]), 2)
    assert "other.parquet is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("hostile", ["../../../etc/cron.d/x", "/etc/passwd", "a\x00b", "..\\..\\x", "a b\nc"])
def test_a_record_cannot_lead_a_film_out_of_its_folder(hostile: str, tmp_path: Path) -> None:
    name = film_name({"task": hostile, "seed": 1, "outcome": hostile, "trial_id": hostile})
    assert (tmp_path / name).resolve().parent == tmp_path.resolve()
    assert not set(name) & set("/\\\x00 \n")


def test_what_stands_still_is_drawn_once_and_what_moves_at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    draw = Renderer.rgb

    def counted(renderer: Renderer, camera: str, height: int, width: int) -> object:
        drawn.append(camera)
        return draw(renderer, camera, height, width)

    monkeypatch.setattr(Renderer, "rgb", counted)
    trial = Trial("primitive/press_switch", 2, "still", 0)
    ((episode, trajectory),) = rollout([trial], make_policy("still"))
    assert trajectory is not None and episode.steps == 400
    film = list(frames(trial, trajectory, (), hz=20.0, cameras=("front",), size=48))
    assert len(film) == 401 + 10 and len(drawn) < 10
    joints = trajectory.qpos
    joints[-30:, 0] += np.linspace(0.05, 1.0, 30)
    drawn.clear()
    film = list(frames(trial, trajectory, (), hz=20.0, cameras=("front",), size=48))
    assert 30 <= len(drawn) < 40 and len({one.tobytes() for one in film[-40:-10]}) == 30
