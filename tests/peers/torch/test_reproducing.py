"""examples/training/reproduce.py, all of its stages: one demonstration a task, a few steps, networks that run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from robodx.policy_contract import make_policy
from robodx.records.trial import Trial
from robodx.running.generating import Generation
from robodx.running.rollout import rollout
from robodx.tasks.base import TASKS

SCRIPT = Path(__file__).parents[3] / "examples" / "training" / "reproduce.py"
TASK = "primitive/press_switch"
NETWORKS = ("act", "act_no_language", "flow")


def test_all_stages_end_in_networks_that_run(tmp_path: Path) -> None:
    def walk(stage: str, *more: str) -> str:
        short = ["--scale", "0.001", "--batch", "4", "--keep", "1", "--shares", "1", "--scaling-steps", "1"]
        minutes = [word for name in ("act", "no-language", "flow") for word in (f"--{name}-minutes", "0.001")]
        words = [sys.executable, str(SCRIPT), stage, "--work", str(tmp_path), *short, *minutes, *more]
        ran = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1200)
        assert ran.returncode == 0, ran.stdout
        return ran.stdout

    assert "generated 5 of 5 parts" in walk("all")
    shown = [json.loads(path.read_text())["episodes"] for path in (tmp_path / "data").glob("*/about.json")]
    assert sorted(one["task"] for episodes in shown for one in episodes) == sorted(Generation(("alpha",)).tasks)
    # Each goes on where it was, and the rest is done at the same time.
    for stage in ("generate", "act", "no_language", "flow", "rest", "scaling", "export"):
        walk(stage)
    weights = tmp_path / "weights"
    assert (weights / "shares" / "act_share_1.onnx").is_file() and list((weights / "act").glob("step_*.onnx"))
    for name in NETWORKS:
        trial = Trial(TASK, TASKS[TASK].version, name, 0)
        (finished,) = rollout([trial], make_policy(f"onnx:{weights / name}.onnx"))
        assert finished.episode.outcome in ("success", "timeout", "failure"), finished.episode.error
