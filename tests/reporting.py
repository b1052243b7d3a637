"""Small runs made of rows alone, for what reads records: nothing is simulated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from robodx.analysis.findings.base import Diagnosis, Finding, PairEvidence
from robodx.analysis.statistics.estimates import Estimate
from robodx.records.about import SCHEMA_VERSION
from robodx.records.schema import SCHEMA

LEVELS = {"v1": 10.0, "v2": 25.0, "v3": 75.0}
ABOUT: dict[str, Any] = {
    "schema_version": SCHEMA_VERSION,
    "request": {"selectors": ["capability"], "policy": "vision", "seeds": 4, "robot": "panda", "perturbations": []},
    "policy_spec": {"hz": 20.0},
    "versions": {"robodx": "0.1.0", "mujoco": "4.0.0", "gl_renderer": None},
    "tasks": {},
    "perturbations": {"noise": {"kind": "sensor", "levels": LEVELS, "is_ordered": True, "unit": "of 255"}},
}


def episode(task: str, seed: int, *, success: bool = True, **further: Any) -> dict[str, Any]:
    """A row of the table; what is not given is as of an episode in which nothing happened."""
    family, _, name = task.partition("/")
    policy, repeat, applied = (
        further.get("policy", "vision"),
        further.get("repeat", 0),
        further.get("perturbations", []),
    )
    stress = "".join(f"{one['name']}{one['severity']:g}" for one in applied)
    identity = f"{policy}-{task}-{seed}-{repeat}-{stress}"
    row: dict[str, Any] = {
        **dict.fromkeys(SCHEMA),
        "trial_id": identity, "pair_id": f"{task}-{seed}", "suite": "capability", "task": task, "task_version": 1,
        "family": family, "tier": "easy", "tags": ["capability"], "robot": "panda", "policy": policy, "seed": seed,
        "repeat": repeat, "perturbations": [], "clock": "lockstep", "outcome": "success" if success else "failure",
        "success": success, "progress": 1.0 if success else 0.5, "stages": 2, "stages_reached": 2 if success else 1,
        "stage_steps": [10, 20][: 2 if success else 1], "steps": 30,
        "instructions": [{"step": 0, "text": f"Do {name}."}], "events": [], "quality_flags": [],
        "failure_kind": None if success else "motor", "trajectory_hash": identity, "attempt": 0, "duration_s": 1.5,
        "length_ratio": 1.1, "sparc": -2.0, "stability": 0.95, "inference_ms_p50": 12.0, "inference_ms_p95": 20.0,
    }  # fmt: skip
    return row | further


def run_folder(
    path: Path, rows: Iterable[Mapping[str, Any]], about: Mapping[str, Any] = ABOUT, *, part: str = "all"
) -> Path:
    (path / "episodes").mkdir(parents=True, exist_ok=True)
    (path / "run.json").write_text(json.dumps(about))
    table = pl.DataFrame(list(rows), schema=SCHEMA)
    table.write_parquet(path / "episodes" / f"{part}.parquet")
    return path


def capability(policy: str = "vision", *, seeds: int = 4, fails: str = "language") -> list[dict[str, Any]]:
    """A task in each of three families and two tiers; of one family every other seed fails."""
    return [
        episode(f"{family}/{tier}", seed, success=family != fails or seed % 2 == 0, policy=policy, tier=tier)
        for family in ("control", "language", "perception")
        for tier in ("easy", "hard")
        for seed in range(seeds)
    ]


def stressed(policy: str = "vision", *, seeds: int = 8) -> list[dict[str, Any]]:
    """A clean, an identity and three stressed variants of one carrier; it breaks from v2 on."""
    task, suite = "primitive/pick_cube", "stress"
    rows = [
        episode(task, seed, policy=policy, suite=suite, repeat=repeat, tier=None)
        for repeat in (0, 1)
        for seed in range(seeds)
    ]
    for index, (level, severity) in enumerate(LEVELS.items()):
        stress = {"repeat": 2 + index, "perturbations": [{"name": "noise", "severity": severity}]}
        rows += [
            episode(task, seed, success=level == "v1" or seed == 0, policy=policy, suite=suite, tier=None, **stress)
            for seed in range(seeds)
        ]
    return rows


# Eight situations: with the factor taken away all succeed, with the placebo one.
PAIRS = PairEvidence(8, 8, 1, Estimate(0.88, 0.4, 1.0, 8), "effect", 300.0, ("negation",))


def finding(**further: Any) -> Finding:
    rate = Estimate(0.4, 0.3, 0.5, 40)
    reported = Finding(
        kind="language sub-skill", subject="negation",
        statement="It fails because the instruction has a negation. Taken away, 8 of 8 such situations succeed.",
        attribute="requires language/negation", levels=("yes",), given=None, when="the instruction has a negation",
        happens="it fails", certainty="cause", inside=rate, outside=Estimate(0.1, 0.0, 0.2, 80),
        effect=Estimate(0.3, 0.2, 0.4, 120), undo=PAIRS, put_in=None, contexts=9, new_contexts=5, is_general=True,
        crossed=None, rivals=(), along=(), share=0.3, p=None,
        examples=("vision-language/easy-1-0-",), pair=None, is_below_chance=False,
        next_test="robodx run language --policy vision", advice="Train it on negations.",
    )  # fmt: skip
    return replace(reported, **further)


def diagnosis(*findings: Finding, **further: Any) -> Diagnosis:
    found = Diagnosis(
        policy="vision", episodes=100, errors=0, success=Estimate(0.8, 0.7, 0.9, 100), findings=findings, symptoms=(),
        excluded=(), resolution=0.59, screened=50, paired=50, is_whole=True,
    )  # fmt: skip
    return replace(found, **further)
