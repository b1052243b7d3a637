"""Substitutions: one component made perfect, and nothing else touched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from robodx.experts.skills import Waypoint
from robodx.language.meaning import Instruction, Meaning, pick
from robodx.language.reference import Reference, candidates, resolve
from robodx.policies.expert import ExpertPolicy, privileged, to_action
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.observers import Finished
from robodx.running.rollout import rollout
from robodx.scoring.contact import Grasped
from robodx.scoring.events import NewInstruction
from robodx.scoring.from_meaning import looks
from robodx.tasks.base import TASKS

SPEC = PolicySpec()


def trial(task: str, seed: int = 0, **applied: float) -> Trial:
    return Trial(task, TASKS[task].version, "me", seed, perturbations=tuple(applied.items()))


def built(task: str, seed: int = 0, **applied: float) -> Environment:
    return Environment(trial(task, seed, **applied), SPEC)


def rolled(policy: ExpertPolicy, task: str, seed: int = 0, **applied: float) -> Finished:
    return next(iter(rollout([trial(task, seed, **applied)], policy)))


def target(environment: Environment) -> str:
    last = environment.score.stages[-1].alternatives[0]
    assert isinstance(last, Grasped)
    return last.thing


@pytest.mark.parametrize(
    "task",
    ["negation", "exclusion", "ordinal", "conditional", "double_negation", "nested_reference", "synonym"],
)
def test_plain_words_say_which_cube_is_meant(task: str) -> None:
    for seed in range(6):
        environment = built(f"language/{task}", seed, plain_words=1)
        assert environment.instruction_updates[0].text == f"Pick up the {target(environment)}."
        (clause,) = environment.meaning.clauses
        assert clause == pick(target(environment))
        # The scene is as it was.
        assert environment.simulation.scene == built(f"language/{task}", seed).simulation.scene


@pytest.mark.parametrize("task", ["control/stack_cube", "perception/touch_bigger_sphere", "dynamic/colour_swap_pick"])
def test_words_that_are_plain_stay_as_they_are(task: str) -> None:
    plain, clean = built(task, 1, plain_words=1), built(task, 1)
    assert plain.instruction_updates == clean.instruction_updates and plain.meanings == clean.meanings


def test_things_that_look_alike_are_told_by_place_and_not_by_the_side_that_was_named() -> None:
    environment = built("spatial/pick_leftmost", 0, plain_words=1)
    (clause,) = environment.meaning.clauses
    rank = clause.target.rank  # type: ignore[union-attr]
    assert rank is None or rank.by == "nearest"
    seen = looks(environment.simulation.scene)
    meant = built("spatial/pick_leftmost", 0).meaning.clauses[0].target  # type: ignore[union-attr]
    assert resolve(clause.target, seen) == resolve(meant, seen)  # type: ignore[union-attr]


def test_an_update_is_made_plain_by_how_things_look_when_it_comes() -> None:
    environment = built("language/direct", 0, plain_words=1)
    simulation = environment.simulation
    simulation.set_colour("red cube", "yellow")
    not_these = tuple(Reference(colour=colour) for colour in ("green", "blue"))
    update = Instruction("The other one!", Meaning((pick(Reference("cube", but=not_these)),)))
    NewInstruction(update).apply(simulation, environment._instruct)
    assert environment.instruction_updates[-1].text == "Pick up the yellow cube."


def test_a_lone_target_has_no_rivals_and_words_that_fit() -> None:
    for task in ("language/ordinal", "language/negation", "language/conditional"):
        for seed in range(6):
            environment = built(task, seed, lone_target=1)
            present = {name for name in environment.world.things if environment.world.is_present(name)}
            assert present == {target(environment)}
            seen = {name: each for name, each in looks(environment.simulation.scene).items() if name in present}
            (clause,) = environment.meaning.decided(seen)
            assert candidates(clause.target, seen) == [target(environment)]
            # What must not be grasped is not there, and is not grasped.
            environment.score.update(environment.world)
            assert environment.score.broken is None


def test_what_the_stages_need_stays() -> None:
    environment = built("robustness/stack_cube_with_distractors", 0, lone_target=1)
    there = {name for name in environment.world.things if environment.world.is_present(name)}
    assert {"red cube", "green cube"} <= there < set(environment.world.things)
    clean = built("control/stack_cube")
    assert built("control/stack_cube", lone_target=1).simulation.scene == clean.simulation.scene


class Watched(ExpertPolicy):
    """The expert, who notes when it is begun with and asked."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[int] = []
        self.asked: list[int] = []

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        super().reset(starts)
        self.begun += [privileged(start).world.step for start in starts]

    def _act(self, observation: Observation) -> ActionChunk:
        self.asked.append(observation.step)
        return super()._act(observation)


class Quits(Watched):
    """Stands still as soon as it holds something."""

    def _act(self, observation: Observation) -> ActionChunk:
        chunk, world = super()._act(observation), privileged(observation).world
        return chunk if world.held() is None else to_action(world.base, Waypoint(world.tool(), 0.0))[None]


class Limp(Watched):
    """Does not close its fingers around what it does not hold yet."""

    def _act(self, observation: Observation) -> ActionChunk:
        chunk = super()._act(observation)
        if privileged(observation).world.held() is None:
            chunk[:, -1] = 1.0
        return chunk


def test_the_expert_starts_and_the_policy_goes_on_from_there() -> None:
    policy = Watched()
    episode, trajectory = rolled(policy, "control/stack_cube", expert_starts=1)
    assert episode.success and trajectory is not None
    stage = episode.stage_steps[0]
    assert policy.asked[0] == stage and policy.begun == [0, stage]
    assert episode.perturbed_steps == stage and np.isnan(trajectory.actions[:stage]).all()
    # It is handed over where the arm is: no command jumps.
    jumps = np.abs(np.diff(trajectory.commands[:, :7], axis=0)).max(axis=1)
    assert jumps[stage - 1] < 0.05


def test_the_expert_ends_what_the_policy_began() -> None:
    assert not rolled(Quits(), "control/stack_cube").episode.success
    policy = Quits()
    episode = rolled(policy, "control/stack_cube", expert_ends=1).episode
    assert episode.success and policy.asked[-1] == episode.stage_steps[0] - 1
    # It never comes to a stage that it does not reach.
    assert rolled(Quits(), "control/stack_cube", expert_ends=2).episode.stages_reached == 1


def test_the_expert_grasps_what_the_policy_went_for_and_gives_back() -> None:
    assert rolled(Limp(), "control/stack_cube").episode.stages_reached == 0
    policy = Limp()
    episode = rolled(policy, "control/stack_cube", expert_grasps=1).episode
    assert episode.success and len(policy.begun) == 2
    assert 0 < policy.begun[1] - episode.stage_steps[0] < 10


def test_the_expert_does_not_grasp_what_the_policy_did_not_go_for() -> None:
    deaf = make_policy("fault:ignores_negation")
    for applied in ({}, {"expert_grasps": 1.0}):
        (finished,) = rollout([trial("language/negation", 0, **applied)], deaf)
        assert not finished.episode.success and finished.episode.failure_kind in ("reference", "constraint")


def test_a_batch_hands_over_alike() -> None:
    trials = [trial("control/stack_cube", seed, expert_starts=1) for seed in range(2)]
    one, other = (
        {each.episode.trial_id: each.episode.trajectory_hash for each in rollout(trials, Watched(), batch=batch)}
        for batch in (1, 2)
    )
    assert one == other


def test_what_was_said_is_meant_of_things_as_they_were_then() -> None:
    """The leftmost cube is carried to the right before the expert is called: it is still the one."""
    environment = built("spatial/pick_leftmost", 0, expert_ends=0.5)
    seen = looks(environment.simulation.scene)
    meant = resolve(environment.meaning.clauses[0].target, seen)  # type: ignore[union-attr]
    pose = environment.world.pose(meant)
    environment.simulation.set_pose(meant, pose.shifted(dy=-0.5))
    assert environment._takeover_expert is not None
    environment._takeover_expert.take_over()
    for _ in range(3):
        environment._takeover_expert.command(environment.meaning, environment.simulation.command)
    assert meant in (environment._takeover_expert._executor._meant or {}).values()
