"""Single rules of attribution on made-up accounts; whole episodes with known causes are in tests/failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from robodx.analysis.attribution.base import FailureCause
from robodx.analysis.attribution.cause import attribute, first_mistake, quality_flags
from robodx.analysis.episode_facts import Entry, EpisodeFacts, Requirement

STEPS = 200
THINGS = {"red cube": (0.2, 0.0, 0.02), "blue cube": (0.0, 0.3, 0.02), "bin": (-0.2, 0.0, 0.02)}
GRASPED = Requirement("red cube grasped", frozenset({"red cube"}), frozenset({"red cube"}), wants_grasp=True)
PLACED = Requirement("red cube in bin", frozenset({"red cube"}), frozenset({"red cube", "bin"}))


def facts(
    entries: Sequence[Entry] = (),
    *,
    stages: tuple[Requirement, ...] = (GRASPED, PLACED),
    stage_steps: tuple[int, ...] = (),
    tool: Sequence[tuple[float, float, float]] | None = None,
    informed_step: int = 0,
) -> EpisodeFacts:
    """A hand that wanders evenly across the table until the time is up."""
    tools = np.zeros((STEPS + 1, 1, 3))
    tools[:, 0, 0] = np.linspace(-0.5, -0.4, STEPS + 1)
    if tool is not None:
        tools[:, 0] = tool[-1]
        tools[: len(tool), 0] = tool
    return EpisodeFacts(
        invalid_action=None,
        period_s=0.05,
        stages=stages,
        stage_steps=stage_steps,
        broken=None,
        broken_step=None,
        excluded=frozenset(),
        informed_step=informed_step,
        entries=tuple(entries),
        positions={name: np.tile(np.array(place), (STEPS + 1, 1)) for name, place in THINGS.items()},
        tilts_rad={name: np.zeros(STEPS + 1) for name in THINGS},
        movable=frozenset({"red cube", "blue cube"}),
        times_s=np.linspace(0.0, 0.05 * STEPS, STEPS + 1),
        tools=tools,
        joints=np.outer(np.arange(STEPS), np.full(7, 0.001)),
        openings=np.ones((STEPS, 1)),
        limit_steps={},
    )


def grasp(name: str, start: int, end: int | None = None, *, how: str = "release") -> list[Entry]:
    touch = [Entry(start, "contact", name, "robot"), Entry(start, "grasp", name)]
    return touch if end is None else [*touch, Entry(end, how, name)]


def labels(found: FailureCause) -> tuple[str, str | None]:
    return (found.kind, found.type)


def test_evidence_names_step_thing_and_condition() -> None:
    found = attribute(facts(grasp("blue cube", 30)))
    assert labels(found) == ("reference", "wrong object")
    assert (found.step, found.object, found.condition) == (30, "blue cube", "red cube grasped")
    assert found.says == "the robot grasped the blue cube instead of the red cube"


def test_of_things_that_look_alike_it_is_told_how_far_the_right_one_is() -> None:
    found = facts(grasp("cube 1", 30))
    places = {**found.positions, "cube 1": found.positions["red cube"] + (0.12, 0.0, 0.0)}
    says = attribute(replace(found, positions=places, tilts_rad=dict.fromkeys(places, np.zeros(STEPS + 1)))).says
    assert says == "the robot grasped cube 1 instead of the red cube, 12 cm away"


def test_a_thing_that_the_words_rule_out_breaks_a_constraint() -> None:
    found = attribute(replace(facts(grasp("blue cube", 30)), excluded=frozenset({"blue cube"})))
    assert labels(found) == ("constraint", "incorrect action sequence")


def test_a_wrong_choice_is_told_though_a_collision_came_before_it() -> None:
    found = facts([Entry(10, "collision", "arena", "robot", 120.0), *grasp("blue cube", 30)])
    mistake = first_mistake(found)
    assert attribute(found).kind == "safety"
    assert mistake is not None and (mistake.kind, mistake.object) == ("reference", "blue cube")
    assert first_mistake(facts(grasp("red cube", 30))) is None


def test_a_thing_of_a_later_stage_is_out_of_order() -> None:
    later = Requirement("blue cube grasped", frozenset({"blue cube"}), frozenset({"blue cube"}), wants_grasp=True)
    found = attribute(facts(grasp("blue cube", 30), stages=(GRASPED, PLACED, later)))
    assert labels(found) == ("constraint", "incorrect action sequence")


def test_a_choice_before_the_new_words_could_be_known_is_none() -> None:
    entries = grasp("blue cube", 30, 40)
    assert attribute(facts(entries, informed_step=50)).kind == "timeout"
    assert attribute(facts(entries, informed_step=20)).kind == "reference"
    # But who keeps it long after has not listened.
    found = attribute(facts(grasp("blue cube", 30), informed_step=50))
    assert found.kind == "reference" and found.step > 50


@pytest.mark.parametrize(("how", "fault"), [("drop", "grasp stability"), ("release", "placement and release")])
def test_what_left_the_hand_was_lost_or_let_go_of(how: str, fault: str) -> None:
    found = attribute(facts(grasp("red cube", 30, 60, how=how), stage_steps=(30,)))
    assert labels(found) == ("motor", fault)
    assert found.step == 60


def test_a_fault_that_was_made_good_is_not_the_cause() -> None:
    entries = [*grasp("red cube", 30, 60, how="drop"), *grasp("red cube", 80, 120)]
    found = attribute(facts(entries, stage_steps=(30,)))
    assert labels(found) == ("motor", "placement and release") and found.step == 120
    assert quality_flags(facts(entries, stage_steps=(30,))) == ("drop_and_regrasp",)


def test_the_first_fault_that_stays_is_the_cause() -> None:
    hard = Entry(100, "collision", "arena", "robot", 120.0)
    assert attribute(facts([*grasp("blue cube", 30), hard])).kind == "reference"
    assert attribute(facts([replace(hard, step=10), *grasp("blue cube", 30)])).kind == "safety"


@pytest.mark.parametrize(("what", "force_n", "kind"), [
    ("arena", 40.0, "timeout"), ("arena", 60.0, "safety"), ("robot", 30.0, "safety"), ("blue cube", 60.0, "safety"),
])  # fmt: skip
def test_force_is_unsafe_beyond_its_limit(what: str, force_n: float, kind: str) -> None:
    found = facts([Entry(10, "collision", what, "robot", force_n)])
    assert attribute(found).kind == kind
    assert "collision" in quality_flags(found)


@pytest.mark.parametrize("stage_steps", [(), (5,)])
def test_what_is_unsafe_does_not_hide_how_little_was_reached(stage_steps: tuple[int, ...]) -> None:
    pressed = facts([Entry(10, "collision", "arena", "robot", 60.0)], stage_steps=stage_steps)
    fast, far = facts(stage_steps=stage_steps), facts([Entry(120, "limit", "reach")], stage_steps=stage_steps)
    fast.tools[100:, 0, 1] += 0.2
    for found in (pressed, fast, replace(far, limit_steps={"reach": 60})):
        cause = attribute(found)
        assert cause.kind == "safety" and cause.says.endswith(f"; it reached {len(stage_steps)} of 2 stages")


def test_fingers_that_close_on_nothing_missed() -> None:
    missed = facts(tool=[(0.2, 0.03, 0.02)])
    missed.openings[50:] = 0.0
    missed.tools[:, 0, 2] += np.linspace(0, 0.1, STEPS + 1)
    found = attribute(missed)
    assert labels(found) == ("motor", "grasp synthesis") and found.object == "red cube"
    assert "grasped nothing" in found.says


def test_fingers_that_close_at_another_thing_were_after_that() -> None:
    missed = facts(tool=[(0.0, 0.28, 0.02)])
    missed.openings[50:] = 0.0
    assert labels(attribute(missed)) == ("reference", "wrong object")


def test_what_was_touched_and_fell_was_knocked_over() -> None:
    knocked = facts([Entry(20, "contact", "blue cube", "robot"), Entry(20, "collision", "blue cube", "robot", 2.0)])
    assert attribute(knocked).kind == "timeout"
    knocked.tilts_rad["blue cube"][25:] = 1.5
    found = attribute(knocked)
    assert labels(found) == ("motor", "collision") and "knocked the blue cube over" in found.says
    assert quality_flags(knocked) == ("collision",)


def test_time_runs_out_on_those_who_stand_wander_or_shake() -> None:
    still = facts(tool=[(0.0, 0.0, 0.3)])
    assert labels(attribute(still)) == ("timeout", "incomplete execution")
    assert labels(attribute(facts())) == ("timeout", "trajectory sub-optimality")
    shaking = facts()
    shaking.joints[:] = np.outer(np.arange(STEPS) % 2, np.full(7, 0.02))
    assert labels(attribute(shaking)) == ("timeout", "control instability")
    assert quality_flags(shaking) == ("instability",)


def test_too_fast_a_hand_is_unsafe() -> None:
    fast = facts()
    fast.tools[100:, 0, 1] += 0.2
    assert labels(attribute(fast)) == ("safety", "control instability")


def test_what_cannot_be_executed_is_told_as_such() -> None:
    found = attribute(replace(facts(), invalid_action="at step 7 the policy sent NaN"))
    assert found.kind == "invalid_action" and "NaN" in found.says


def test_to_reach_too_far_after_a_miss_is_not_the_cause() -> None:
    far = [Entry(120, "limit", "reach")]
    beyond = replace(facts(far), limit_steps={"reach": 60})
    assert labels(attribute(beyond)) == ("safety", "control instability")
    missed = replace(facts(far, tool=[(0.2, 0.03, 0.02)]), limit_steps={"reach": 60})
    missed.openings[50:] = 0.0
    assert labels(attribute(missed)) == ("motor", "grasp synthesis")


def test_where_it_is_not_said_what_to_handle_nothing_is_the_wrong_thing() -> None:
    somehow = Requirement("all is well", frozenset(), frozenset())
    assert attribute(facts(grasp("blue cube", 30, 60), stages=(somehow,))).kind == "timeout"
