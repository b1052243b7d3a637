"""Laws of what a diagnosis says: no sentence that its own numbers do not support, on tables drawn at random."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robodx.analysis.findings import proposals
from robodx.analysis.findings.base import Diagnosis, Finding, PairEvidence
from robodx.analysis.findings.diagnose import diagnose
from robodx.analysis.findings.failure_modes import MOTOR, SAYS
from robodx.analysis.statistics.sequential_pairs import SMALL
from robodx.records.design import COLUMN, PURPOSE
from robodx.records.schema import SCHEMA

TYPES = ("incomplete execution", "grasp synthesis", "collision", "wrong object")
LEVELS: dict[str, tuple[str | float, ...]] = {
    "act": ("press", "pick", "put on"), "target_colour": ("red", "green", "blue"), "grasps": (0.0, 1.0, 2.0),
    "places": ("yes", "no"), "target_side": ("left", "right"),
}  # fmt: skip
CONDITIONS = ("act=press", "target_colour=green", "grasps=1|2", "places")
COUNTS = re.compile(r"in (\d+) of (\d+) of such trials.*? and in (\d+) of (\d+) of others")


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    """Fewer halves and shuffles of the trials than of a run's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proposals, "HALVES", 4)
        patch.setattr(proposals, "SHUFFLES", 60)
        yield


def row(name: str, values: dict[str, Any], failure: str | None, purposes: list[dict[str, Any]]) -> dict[str, Any]:
    task = f"some/{values['act']}"
    texts = [{"name": key, "value": value} for key, value in values.items() if isinstance(value, str)]
    numbers = [{"name": key, "value": value} for key, value in values.items() if isinstance(value, float)]
    return {
        **dict.fromkeys(SCHEMA), "trial_id": name, "pair_id": name, "suite": "diagnosis", "task": task, "policy": "a",
        "task_version": 1, "family": "some", "tags": [], "robot": "panda", "seed": int(name[1:]), "repeat": 0,
        "perturbations": [], "interventions": [], "clock": "lockstep", "outcome": "failure" if failure else "success",
        "success": failure is None, "failure_type": failure, "failure_kind": failure and "motor", "quality_flags": [],
        "requirements": [], "mistaken": [], "attempt": 1, "instructions": [], "trajectory_hash": name,
        "attributes": {"texts": texts, "numbers": numbers}, COLUMN: purposes,
    }  # fmt: skip


def purpose(condition: str, effect: str, pair: int, arm: str) -> list[dict[str, Any]]:
    texts = {"condition": condition, "effect": effect, "arm": arm, "intervention": "other", "value": "x"}
    numbers = {"pair": float(pair), "tests": 4.0}
    factors = [
        *({"name": name, "number": None, "text": text} for name, text in texts.items()),
        *({"name": name, "number": number, "text": None} for name, number in numbers.items()),
    ]
    return [
        {
            "suite": "diagnosis",
            "variant": "intervened",
            "source_id": f"{effect}{pair}",
            "factors": factors,
            "level": None,
        }
    ]


def diagnosed(seed: int, rate: float, lift: float, pairs: int) -> Diagnosis:
    """A policy that fails at a rate, in random ways, and one of them more often at one level; and random pairs."""
    rng = np.random.default_rng(seed)
    lifted, how = str(rng.choice(LEVELS["act"])), str(rng.choice(TYPES))
    rows = []
    for number in range(int(rng.integers(30, 120))):
        values = {name: levels[rng.integers(len(levels))] for name, levels in LEVELS.items()}
        is_lifted = values["act"] == lifted and rng.random() < lift
        failure = how if is_lifted else str(rng.choice(TYPES)) if rng.random() < rate else None
        rows.append(row(f"s{number}", values, failure, []))
    for condition in CONDITIONS:
        lean = rng.choice((-0.5, -0.2, 0.0, 0.2, 0.5, 1.0))
        for effect in ("undo", "put in"):
            for pair in range(int(rng.integers(0, pairs + 1))):
                chances = {"placebo": 0.5 - lean / 2, "treated": 0.5 + lean / 2}
                for arm, chance in chances.items():
                    values = {name: levels[0] for name, levels in LEVELS.items()}
                    is_solved = rng.random() < (chance if effect == "undo" else 1 - chance)
                    planned = purpose(condition, effect, pair, arm)
                    rows.append(row(f"p{len(rows)}", values, None if is_solved else "collision", planned))
    table = pl.DataFrame(rows, schema={**SCHEMA, COLUMN: pl.List(PURPOSE)})
    (found,) = diagnose(table, {})
    return found


def arms(one: Finding) -> list[float]:
    """What its pairs say that it costs, on average: by taking it away, and by putting it in."""
    both: tuple[tuple[PairEvidence | None, int], ...] = ((one.undo, 1), (one.put_in, -1))
    return [sign * (each.gain.value or 0.0) for each, sign in both if each is not None]


def assert_supported(one: Finding) -> None:
    counts = [[int(text) for text in found] for found in COUNTS.findall(one.statement)]
    if "more often" in one.statement:
        ((k, n, other, m),) = counts
        assert k * m > other * n, one.statement
    if "may fail because" in one.statement:
        assert all(k * m > other * n for k, n, other, m in counts), one.statement
    if one.certainty == "associated":
        assert one.p is not None and one.p <= 0.05
        assert one.effect.low is not None and one.effect.low > 0, (one.statement, one.effect)
    if one.certainty in ("associated", "suspected"):
        assert (one.effect.value or 0.0) > 0 and one.outside.n > 0
    if one.certainty in ("cause", "needed"):
        assert any(each is not None and each.verdict == "effect" for each in (one.undo, one.put_in))
    if one.certainty == "sufficient":
        assert one.put_in is not None and one.put_in.verdict == "effect"
    if one.advice and one.certainty == "undecided":
        assert min(arms(one)) >= SMALL, (one.statement, arms(one))
    if one.advice:
        assert one.undo is None or one.undo.verdict != "none"
    assert one.when in one.statement, "the factor and its level"
    subject = one.name.partition(": ")[2]
    assert subject not in {*SAYS, "yes"} - {*MOTOR}, one.name


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from((0.05, 0.3, 0.6, 0.9)), st.floats(0, 1), st.integers(0, 12))
def test_no_finding_says_what_its_numbers_do_not(seed: int, rate: float, lift: float, pairs: int) -> None:
    found = diagnosed(seed, rate, lift, pairs)
    for one in found.findings:
        assert_supported(one)


def of_counts(inside: tuple[int, int], outside: tuple[int, int], pairs: list[dict[str, Any]]) -> Diagnosis:
    """So many failures of so many trials in which the act is "press", all by missed grasps, and of others, without."""
    failures = [("press", "grasp synthesis", inside), ("pick", "wrong object", outside)]
    rows = [
        row(
            f"s{place}{number}",
            {"act": act, "target_side": "left" if number % 2 else "right"},
            how if number < k else None,
            [],
        )
        for place, (act, how, (k, n)) in enumerate(failures, start=1)
        for number in range(n)
    ]
    (found,) = diagnose(pl.DataFrame([*rows, *pairs], schema={**SCHEMA, COLUMN: pl.List(PURPOSE)}), {})
    return found


def test_what_is_said_to_happen_more_often_is_what_happens_more_often() -> None:
    """Nearly all fails: it fails in another way there, and hardly more often."""
    finding = of_counts((42, 45), (133, 148), []).findings[0]
    assert "it misses the grasp in 42 of 45 of such trials, and in 0 of 148 of others" in finding.statement
    assert "fails more often" not in finding.statement and finding.counted == "it misses the grasp"
    assert (finding.inside.value, finding.outside.value) == (42 / 45, 0.0)


@pytest.mark.parametrize(("solved", "is_told"), [(3, True), (1, False), (0, False)])
def test_what_fails_less_often_may_be_a_cause_only_if_its_pairs_say_so(solved: int, is_told: bool) -> None:
    """Of six pairs, so many succeed without it; with the placebo one does."""
    values = {"act": "press", "target_side": "left"}
    pairs = [
        row(f"p{2 * pair + (arm == 'treated')}", values, None if pair < wins else "collision", planned)
        for pair in range(6)
        for arm, wins in (("treated", solved), ("placebo", 1))
        for planned in [purpose("act=press", "undo", pair, arm)]
    ]
    found = [one for one in of_counts((10, 12), (165, 181), pairs).findings if one.attribute == "act"]
    said = " ".join(one.statement for one in found)
    assert "10 of 12" not in said or "misses the grasp in 10 of 12" in said, "not that it fails more often"
    assert bool([one.advice for one in found if one.advice]) == is_told
