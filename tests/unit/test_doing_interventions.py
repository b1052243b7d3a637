"""Interventions of doing and of time: what is asked for, when it begins, and what happens meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from robodx.interventions.base import NotApplicable, intervened
from robodx.policies.expert import ExpertPolicy, privileged
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation
from robodx.records.trial import Trial
from robodx.running.rollout import rollout
from robodx.scoring.conditions import After
from robodx.situations.features import features_of
from robodx.tasks.base import TASKS, Situation

WAIT_S = 6.0


def changed(task: str, name: str, value: str, seed: int = 3) -> tuple[Situation, Situation]:
    before = TASKS[task].placed(seed)
    return before, intervened(before, ((name, value),), seed, task)


@pytest.mark.parametrize(
    ("task", "name", "value", "said"),
    [
        ("control/place_sphere_two_bins", "acts", "1", "Put the sphere in the purple bin."),
        ("primitive/pick_cube", "acts", "2", "Pick up the red cube, then release it."),
        ("control/place_sphere", "acts", "2", "Put the sphere in the bin, then touch it."),
        (
            "language/attribute_pair",
            "acts",
            "2",
            "Please grasp the cube that is both big and plain, then release it.",
        ),
        (
            "control/place_sphere_two_bins",
            "order of steps",
            "reversed",
            "Put the sphere in the blue bin, then put it in the purple bin.",
        ),
        ("control/place_sphere_two_bins", "first act done", "1 left", "Put the sphere in the blue bin."),
        ("control/place_sphere", "act", "pick", "Pick up the sphere."),
        ("primitive/press_switch", "signal", "yes", "Press the switch when its lamp lights up."),
        ("control/place_sphere", "signal", "yes", "Put the sphere in the bin when the lamp lights up."),
        ("dynamic/catch_after_light", "signal", "no", "Pick up the sphere."),
        ("perception/touch_red_sphere", "act", "pick", "Pick up the red sphere."),
    ],
)
def test_the_words_ask_for_what_counts(task: str, name: str, value: str, said: str) -> None:
    _, after = changed(task, name, value)
    assert after.instruction.text == said


@pytest.mark.parametrize("task", ["primitive/press_switch", "control/place_sphere"])
def test_who_does_not_wait_for_the_signal_fails(task: str) -> None:
    untold, after = changed(task, "signal", "yes")
    _, placebo = changed(task, "signal", "placebo")
    assert after.never[-1] not in untold.never and "lit" in str(after.never[-1]).lower()
    assert placebo.scene == after.scene and placebo.events == after.events and placebo.never == untold.never


def test_what_counts_is_that_of_the_acts_that_are_asked_for() -> None:
    two, one = changed("control/place_sphere_two_bins", "acts", "1")
    assert one.stages == two.stages[:2]
    _, reversed_ = changed("control/place_sphere_two_bins", "order of steps", "reversed")
    assert reversed_.stages == two.stages[2:] + two.stages[:2]
    single, further = changed("carrier/pick_up", "acts", "3")
    assert further.stages[: len(single.stages)] == single.stages and len(further.stages) == len(single.stages) + 3
    assert further.time_limit_s == TASKS["carrier/pick_up"].time_limit_s + 20.0


def test_what_is_no_longer_handled_must_stay_where_it_is() -> None:
    tower, first = changed("spatial/build_tower", "acts", "1")
    (added,) = (one for one in first.never if one not in tower.never)
    assert "lifted" in str(added)


def test_another_grasp_and_its_placebo_differ_in_the_grasp_alone() -> None:
    before, grasped = changed("carrier/pick_up", "another grasp first", "2")
    _, touched = changed("carrier/pick_up", "another grasp first", "placebo")
    told = [features_of(one) for one in (before, grasped, touched)]
    assert [one["grasps"] for one in told] == ["1", "2", "1"]
    assert [one["acts"] for one in told] == ["1", "2", "2"]
    # The same thing is taken or touched, and may be: lifting it was wrong before.
    assert told[1]["target_kind"] == told[2]["target_kind"]
    assert len(grasped.never) == len(before.never) - 1


def test_a_thing_that_is_done_first_stands_where_it_was_to_go() -> None:
    _, after = changed("control/place_sphere_two_bins", "first act done", "1 left")
    sphere, bin_ = (after.scene.thing(name).pose.position for name in ("sphere", "purple bin"))
    assert sphere[:2] == pytest.approx(bin_[:2])


def test_a_still_world_means_what_is_there() -> None:
    before, after = changed("dynamic/colour_swap_pick", "motion", "still")
    assert not after.events and "cube 5" in str(before.stages) and "cube 1" in str(after.stages)
    assert "cube 5 lifted" in str([str(one) for one in after.never])


def test_what_happens_waits_for_the_robot() -> None:
    before, after = changed("adaptability/pick_moved_cube", "wait first", "asked")
    times_s = [event.when.seconds for one in (before, after) for event in one.events if isinstance(event.when, After)]
    assert times_s == [1.0, 1.0 + WAIT_S]
    assert features_of(after)["waits"] == "asked"


def test_what_is_asked_in_the_end_is_asked_from_the_beginning() -> None:
    before, after = changed("adaptability/pick_other_cube", "new instruction", "never")
    assert after.instruction.text == "Pick up the green cube." and after.stages == before.stages and not after.events
    with pytest.raises(NotApplicable, match="not all that counts"):
        changed("adaptability/lift_then_release", "new instruction", "never")


class Listener(ExpertPolicy):
    """Notes what it is shown, and tries to leave at once."""

    def __init__(self) -> None:
        super().__init__()
        self.starts = 0
        self.seen: list[tuple[int, float, float]] = []
        self.spec = replace(ExpertPolicy.spec)

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        super().reset(starts)
        self.starts += 1

    def _act(self, observation: Observation) -> ActionChunk:
        world = privileged(observation).world
        self.seen.append((observation.step, observation.time_s, world.tool().position[2]))
        if privileged(observation).is_held:
            waypoint = super()._act(observation)[0]
            # Whatever it sends meanwhile.
            return np.array([[*waypoint[:2], waypoint[2] - 0.2, *waypoint[3:]]], dtype=np.float32)
        return super()._act(observation)


@pytest.mark.parametrize("value", ["asked", "not asked"])
def test_nothing_is_executed_while_the_robot_waits(value: str) -> None:
    policy = Listener()
    trial = replace(Trial("primitive/pick_cube", 2, "me", 3), interventions=(("wait first", value),))
    trial = replace(trial, task_version=TASKS[trial.task].version)
    ((episode, trajectory),) = rollout([trial], policy)
    assert episode.success and episode.duration_s is not None and episode.duration_s > WAIT_S
    assert trajectory is not None
    waited = trajectory.qpos[: round(WAIT_S * policy.spec.hz)]
    assert np.abs(waited - waited[0]).max() < 2e-3
    # A policy that is not asked begins at zero after the wait, anew; one that is asked begins once, and sees time pass.
    step, time_s, _ = policy.seen[0]
    assert step == 0 and time_s == pytest.approx(0.0, abs=1e-6)
    assert policy.starts == (1 if value == "asked" else 2)
    assert len(policy.seen) == episode.steps - (0 if value == "asked" else round(WAIT_S * policy.spec.hz))
