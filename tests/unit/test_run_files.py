"""Run files: options that are kept, printed and run again, and what is wrong in one is named with its place."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from robodx.records.table import load
from tests.commands import call

TASK = "primitive/press_switch"
PLUGIN = """
from robodx import PolicySpec, policy
import numpy as np

@policy("{name}")
class Resting:
    spec = PolicySpec(state=())
    def act(self, observations):
        return [np.tile(np.array([0, 0, 0, 0, 0, 0, 1], np.float32), (400, 1)) for _ in observations]
"""


def trials(run: Path) -> list[str]:
    return sorted(load(run)["trial_id"])


def files(run: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in run.rglob("*.npz")}


def test_a_run_that_is_printed_and_saved_is_the_same_run_from_wherever(tmp_path: Path) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here, elsewhere):
        folder.mkdir()
    words = (TASK, "--policy", "expert", "--seeds", "2", "--first-seed", "3", "--perturb", "packet_loss=0.15")
    text = call("run", *words, "--print-config", cwd=here)
    assert not list(here.iterdir()), "nothing is run"
    call("run", *words, cwd=here)
    (run,) = (here / "runs").iterdir()
    ids, made = trials(run), files(run)
    (elsewhere / "my.toml").write_text(text)
    said = call("run", "--config", "my.toml", cwd=elsewhere)
    assert "Resuming: 2 of 2" in said and [path.name for path in elsewhere.iterdir()] == ["my.toml"]
    assert (trials(run), files(run)) == (ids, made), "resumed, and nothing was run again"
    call("run", "--config", "my.toml", "--out", "again", cwd=elsewhere)
    assert trials(elsewhere / "again") == ids


def test_a_finished_run_prints_its_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN.format(name="resting_a"))
    words = ("--seeds", "1", "--repeats", "2", "--perturb", "noise=v2", "--plugin", "mine.py", "--batch", "2")
    call("run", TASK, "--policy", "resting_a", *words, "--out", "run", cwd=tmp_path)
    text = call("run", "--config", "run", "--print-config", cwd=tmp_path)
    assert tomllib.loads(text) == {
        "selectors": [TASK], "policy": "resting_a", "out": str(tmp_path / "run"), "seeds": 1,
        "repeats": 2, "perturb": ["noise=25"], "batch": 2, "plugin": [str(tmp_path / "mine.py")],
    }  # fmt: skip
    (tmp_path / "saved.toml").write_text(text)
    for config in ("saved.toml", "run"):
        assert "Resuming: 2 of 2" in call("run", "--config", config, cwd=tmp_path)
    other = call("run", "--config", "run", "--policy", "still", cwd=tmp_path, expect=2)
    assert "Choose another folder with --out" in other, "it is of another policy, and nothing is overwritten"
    assert "it ran primitive/press_switch" in call("diagnose", "--config", "run", cwd=tmp_path, expect=2)


def test_to_look_at_anothers_run_loads_none_of_its_code(tmp_path: Path) -> None:
    call("run", TASK, "--policy", "still", "--seeds", "1", "--name", "secret", "--out", "run", cwd=tmp_path)
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    trap = tmp_path / "trap.py"
    trap.write_text("raise SystemExit('sprung')")
    about["given"]["plugins"] = [str(trap)]
    (tmp_path / "run" / "run.json").write_text(json.dumps(about))
    said = tomllib.loads(call("run", "--config", "run", "--print-config", cwd=tmp_path))
    assert said["plugin"] == [str(trap)] and said["name"] == "secret" and "policy" not in said
    assert "no policy to run" in call("run", "--config", "run", cwd=tmp_path, expect=2)
    assert "sprung" in call("run", "--config", "run", "--policy", "still", cwd=tmp_path, expect=2)


def test_what_is_typed_wins_and_paths_are_beside_the_file(tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "rest.py").write_text(PLUGIN.format(name="resting_b"))
    (beside / "my.toml").write_text(
        f'selectors = "{TASK}"\npolicy = "resting_b"\nplugin = ["rest.py"]\nout = "kept"\nseeds = 1\n'
        'first-seed = 4\nretries = 0\nperturb = ["noise=v1", "frame_drop=v1"]\njson = true\nagainst = "base"\n'
    )
    print_it = ("run", "--config", "beside/my.toml", "--print-config")
    said = tomllib.loads(call(*print_it, "--retries", "2", "--perturb", "resolution=v1", cwd=tmp_path))
    assert said == {
        "selectors": [TASK], "policy": "resting_b", "out": str(beside / "kept"), "seeds": 1, "first_seed": 4,
        "perturb": ["resolution=v1"], "against": str(beside / "base"), "json": True,
        "plugin": [str(beside / "rest.py")],
    }  # fmt: skip
    other = tomllib.loads(call(*print_it, "primitive/pick_cube", "--policy", "still", cwd=tmp_path))
    assert (other["selectors"], other["policy"], other["retries"]) == (["primitive/pick_cube"], "still", 0)


def test_a_preset_of_the_file_s_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "my.toml").write_text(f'selectors = ["{TASK}"]\npolicy = "still"\npreset = "conv.toml"\n')
    said = tomllib.loads(call("run", "--config", "beside/my.toml", "--print-config", cwd=tmp_path))
    assert said["preset"] == str(tmp_path / "beside" / "conv.toml")
    (tmp_path / "beside" / "my.toml").write_text(f'selectors = ["{TASK}"]\npolicy = "still"\npreset = "droid"\n')
    assert tomllib.loads(call("run", "--config", "beside/my.toml", "--print-config", cwd=tmp_path))["preset"] == "droid"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("seeds = 3\n\nwokers = 2", 'my.toml, line 3: No option of robodx run "wokers". Did you mean "workers"'),
        ("[workers]\nn = 3", "line 1: workers must be a whole number, not {'n': 3}"),
        ('seeds = "many"', "line 1: seeds must be a whole number, not 'many'"),
        ("seeds = true", "seeds must be a whole number, not true"),
        ("seeds = 0", "seeds must be 1 to 100000, not 0"),
        ("quick = 1", "quick must be true or false, not 1"),
        ("policy = ['a']", "policy must be a text, not ['a']"),
        ("perturb = [1]", "perturb must be a list of texts, not [1]"),
        ("margin = nan", "margin must be a finite number, not nan"),
        ("first-seed = 1\nfirst_seed = 2", "line 2: first_seed is given twice"),
        ("config = 'other.toml'", 'No option of robodx run "config"'),
        ("seeds = 3\nworkers = = 2", "my.toml is not TOML: Invalid value (at line 2"),
        ("seeds = 3", "nothing to run"),
        (f'selectors = ["{TASK}"]', "no policy to run"),
        (f'selectors = ["{TASK}"]\npolicy = "still"\nperturb = ["noice=v1"]', 'No perturbation "noice"'),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_told_with_its_place(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(text)
    said = call("run", "--config", "my.toml", cwd=tmp_path, expect=2)
    assert told in said and "Traceback" not in said, said
    assert [path.name for path in tmp_path.iterdir()] == ["my.toml"], "nothing is left behind"


def test_what_is_no_file_and_no_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for config, told in (
        ("nowhere.toml", "there is no run file nowhere.toml"),
        (".", "is not a run folder: it has no run.json"),
        ("binary.toml", "is not TOML"),
        ("/dev/zero", "/dev/zero is larger than 1 MB"),
    ):
        assert told in call("run", "--config", config, cwd=tmp_path, expect=2)
        assert told in call("diagnose", "--config", config, cwd=tmp_path, expect=2)


def test_a_diagnosis_has_a_run_file_and_takes_its_policy_either_way(tmp_path: Path) -> None:
    printed = [
        call("diagnose", *words, "--workers", "2", "--print-config", cwd=tmp_path)
        for words in (("still",), ("--policy", "still"), ("still", "--policy", "still"))
    ]
    assert len(set(printed)) == 1 and tomllib.loads(printed[0]) == {
        "policy": "still", "out": str(tmp_path / "runs" / "diagnosis+still"), "seeds": 1, "workers": 2,
    }  # fmt: skip
    (tmp_path / "my.toml").write_text(printed[0])
    again = call("diagnose", "--config", "my.toml", "--print-config", cwd=tmp_path)
    assert again == printed[0]
    typed = call("diagnose", "random", "--config", "my.toml", "--print-config", cwd=tmp_path)
    assert tomllib.loads(typed)["policy"] == "random", "what is typed wins"
    both = call("diagnose", "still", "--policy", "random", cwd=tmp_path, expect=2)
    assert 'two policies are given, "still" and --policy "random"' in both
    assert "no policy to diagnose" in call("diagnose", cwd=tmp_path, expect=2)
    (tmp_path / "my.toml").write_text('selectors = ["control"]')
    assert 'No option of robodx diagnose "selectors"' in call("diagnose", "--config", "my.toml", cwd=tmp_path, expect=2)


def test_names_in_anothers_run_are_data(tmp_path: Path) -> None:
    call("run", TASK, "--policy", "still", "--seeds", "1", "--out", "run", cwd=tmp_path)
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    hostile = 'a"\n[policy]\u202e\x1b[31m\x7f\\'
    about["request"]["selectors"] = [hostile]
    (tmp_path / "run" / "run.json").write_text(json.dumps(about))
    said = call("run", "--config", "run", "--print-config", cwd=tmp_path)
    assert "\x1b" not in said and "\u202e" not in said
    assert tomllib.loads(said)["selectors"] == [hostile]
    assert tomllib.loads(said)["policy"] == "still"
