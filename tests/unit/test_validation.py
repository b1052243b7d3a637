"""The validation of the capability suite complains of what it is there to find."""

from __future__ import annotations

from dataclasses import replace

import pytest
from validate_capability import MAY_BE_BLIND, SEEDS, complaints_of

from robodx.tasks.base import TASKS, Task

STACK = replace(TASKS["control/stack_cube"], chance=0.5, varies=("robot", "layout"))
GOOD = {"expert": 25, "still": 0, "guess": 12, "blind_replay": 6, "constant_instruction": 25}
SAME = ["a"] * SEEDS


def complaints(task: Task, changed: dict[str, int], hashes: list[str] = SAME) -> list[str]:
    successes = {name: [seed < count for seed in range(SEEDS)] for name, count in {**GOOD, **changed}.items()}
    return list(complaints_of(task, successes, {"expert": SAME, "constant_instruction": hashes}))


def test_a_sound_task_draws_no_complaint() -> None:
    assert complaints(STACK, {}) == []
    assert complaints(replace(STACK, family="dynamic"), {"open_loop": 5}) == []
    assert complaints(replace(STACK, family="language"), {"constant_instruction": 9}) == []
    assert complaints(replace(STACK, chance=1.0), {"guess": 25, "blind_replay": 2}) == []


@pytest.mark.parametrize(
    ("family", "changed", "text"),
    [
        ("control", {"expert": 23}, "the expert solves fewer than 24"),
        ("control", {"still": 1}, "solves itself"),
        ("control", {"guess": 2}, "chance is not in"),
        ("control", {"guess": 24}, "chance is not in"),
        ("control", {"blind_replay": 7}, "passed blind more often than 25%"),
        ("dynamic", {"open_loop": 6}, "a blind plan solves more than 5"),
        ("language", {"constant_instruction": 10}, "without language"),
    ],
)
def test_an_unsound_task_is_complained_of(family: str, changed: dict[str, int], text: str) -> None:
    task = replace(STACK, family=family)
    changed = {"constant_instruction": 9, **changed} if family == "language" else changed
    assert text in " ".join(complaints(task, changed))


def test_an_instruction_that_moves_control_is_complained_of() -> None:
    assert complaints(STACK, {}, hashes=["b", *SAME[1:]]) == ["the instruction changes what the expert does"]


def test_where_there_is_no_choice_blindness_is_complained_of_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, blind = replace(STACK, chance=1.0), {"guess": 25, "blind_replay": 3}
    assert complaints(plain, blind) == ["passed blind more often than 8%"]
    monkeypatch.setitem(MAY_BE_BLIND, plain.id, "its only factor is when")
    assert complaints(plain, blind) == []
