"""Every registered task keeps what the design promises of tasks; a new task is covered without writing a test."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cache

import mujoco
import numpy as np
import pytest
from validate_capability import MAY_BE_BLIND, most_blind

from robodx.analysis.statistics.estimates import wilson
from robodx.language.meaning import resolve_all
from robodx.policies.guess import Guessing
from robodx.policy_contract import PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.observers import Finished
from robodx.running.rollout import rollout
from robodx.scoring.events import NewInstruction
from robodx.scoring.from_meaning import looks
from robodx.sim.scene import Scene, Thing
from robodx.streams import VARIATIONS
from robodx.tasks.base import TASKS, Situation

# A few of each task's situations: `make test-thorough` takes more, and `make validate-capability` all 25.
EXPERT_SEEDS, THOROUGH_EXPERT_SEEDS = 2, 5
THOROUGH_GUESS_SEEDS = 3
STILL_SEEDS, THOROUGH_STILL_SEEDS = 1, 2  # each is as long as the time that a task allows
# Without physics, for the expert does what it means to.
GUESSES = 200
# What the expert commanded at seed 0 is replayed at these, and the last command held for a second.
BLIND_SEEDS, THOROUGH_BLIND_SEEDS = (1, 2, 3), range(1, 11)
HOLD_STEPS = 20
ALL_TASKS = list(TASKS)
FAMILIES = sorted({task.family for task in TASKS.entries()})

OBJECT_TYPES = {
    mujoco.mjtObj.mjOBJ_BODY: "nbody",
    mujoco.mjtObj.mjOBJ_JOINT: "njnt",
    mujoco.mjtObj.mjOBJ_GEOM: "ngeom",
    mujoco.mjtObj.mjOBJ_SITE: "nsite",
    mujoco.mjtObj.mjOBJ_CAMERA: "ncam",
    mujoco.mjtObj.mjOBJ_LIGHT: "nlight",
    mujoco.mjtObj.mjOBJ_ACTUATOR: "nu",
    mujoco.mjtObj.mjOBJ_MESH: "nmesh",
    mujoco.mjtObj.mjOBJ_TENDON: "ntendon",
    mujoco.mjtObj.mjOBJ_EQUALITY: "neq",
}


def trial(task: str, seed: int, policy: str) -> Trial:
    return Trial(task, TASKS[task].version, policy, seed)


def run(task: str, policy: str, seeds: Iterable[int]) -> list[Finished]:
    return list(rollout([trial(task, seed, policy) for seed in seeds], make_policy(policy)))


@cache
def expert(task: str, seed: int) -> Finished:
    """Its episode, which several tests look at."""
    (finished,) = run(task, "expert", [seed])
    return finished


@pytest.mark.parametrize("task", ALL_TASKS)
def test_every_element_of_the_model_is_named(task: str) -> None:
    model = Environment(trial(task, 0, "still"), PolicySpec()).simulation.model
    for kind, count in OBJECT_TYPES.items():
        unnamed = [index for index in range(getattr(model, count)) if not mujoco.mj_id2name(model, kind, index)]
        assert not unnamed, f"{kind.name} without a name: {unnamed}"


# Where nothing happens by itself, what is not so at the beginning (tests/unit/test_stages.py) will not come about: of
# those one a family is run to its end.
FIRST_OF_FAMILY = {task.family: task.id for task in reversed(TASKS.entries())}
HAPPENING = {task.id for task in TASKS.entries() if task.situation(0).events} | set(FIRST_OF_FAMILY.values())


@pytest.mark.parametrize(
    "task", [pytest.param(one, marks=() if one in HAPPENING else pytest.mark.thorough) for one in ALL_TASKS]
)
def test_a_policy_that_does_nothing_reaches_no_stage(task: str, is_thorough: bool) -> None:
    for episode, _ in run(task, "still", range(THOROUGH_STILL_SEEDS if is_thorough else STILL_SEEDS)):
        assert (episode.outcome, episode.stages_reached, episode.progress) == ("timeout", 0, 0.0), episode.error
        assert episode.first_touched is None


@pytest.mark.parametrize("task", ALL_TASKS)
def test_the_expert_passes_all_stages_and_does_so_again(task: str, is_thorough: bool) -> None:
    seeds = range(THOROUGH_EXPERT_SEEDS if is_thorough else EXPERT_SEEDS)
    episodes = [expert(task, seed).episode for seed in seeds]
    assert all(episode.success for episode in episodes), [e.error or e.events for e in episodes]
    for episode in episodes:
        assert episode.collisions == 0, [event for event in episode.events if event.kind == "collision"]
    (again,) = run(task, "expert", [0])
    assert again.episode.trajectory_hash == episodes[0].trajectory_hash
    assert again.episode.events == episodes[0].events


def is_passed_blind(task: str, seed: int) -> bool:
    """By what the expert commanded at seed 0."""
    trajectory = expert(task, 0).trajectory
    assert trajectory is not None
    commands = trajectory.commands
    environment = Environment(trial(task, seed, "blind"), PolicySpec(action_space="joint", state=()))
    environment.accept(np.concatenate([commands, np.repeat(commands[-1:], HOLD_STEPS, axis=0)]), 0.0)
    while not (environment.is_done or environment.needs_chunk):
        environment.step()
    return environment.score.is_success


@pytest.mark.parametrize("family", FAMILIES)
def test_no_task_is_passed_with_closed_eyes(family: str, is_thorough: bool) -> None:
    seeds = THOROUGH_BLIND_SEEDS if is_thorough else BLIND_SEEDS
    tasks = [task for task in TASKS.entries() if task.family == family and task.id not in MAY_BE_BLIND]
    passed = {task.id: sum(is_passed_blind(task.id, seed) for seed in seeds) for task in tasks}
    assert not [task for task, count in passed.items() if count == len(seeds)], passed
    # Of one task a few seeds say little: `make validate-capability` takes 125.
    allowed = np.mean([most_blind(task) for task in tasks])
    estimate = wilson(sum(passed.values()), len(seeds) * len(tasks), confidence=0.99)
    assert estimate.low is not None and estimate.low <= allowed, passed


@pytest.mark.parametrize("task", ALL_TASKS)
def test_what_varies_is_exactly_what_is_declared(task: str) -> None:
    situations = [TASKS[task].placed(seed) for seed in range(12)]
    varying = {name for name, fingerprint in FINGERPRINTS.items() if len(set(map(fingerprint, situations))) > 1}
    # The arm's start is the environment's: where it varies at all, two starts differ.
    starts = (Environment(trial(task, seed, "still"), PolicySpec()).simulation.command for seed in (0, 1))
    if len({tuple(start.joints.tolist()) for start in starts}) > 1:
        varying.add("robot")
    assert varying == set(TASKS[task].varies)


class AsPlaced:
    """What a guess needs to see of a scene that is not simulated."""

    def __init__(self, scene: Scene) -> None:
        self.things = {thing.name: thing for thing in scene}

    def thing(self, name: str) -> Thing:
        return self.things[name]

    def is_present(self, name: str) -> bool:
        return not self.things[name].is_parked


def is_guessed_right(task: str, seed: int) -> bool:
    """Whether the things and the place that `guess` takes to be meant are those that are."""
    situation = TASKS[task].situation(seed)
    guessing = Guessing(np.random.Generator(np.random.PCG64(trial(task, seed, "guess").policy_seed)))
    seen = looks(situation.scene)
    meant_clauses = situation.instruction.meaning.decided(seen)
    clauses = guessing.clauses(meant_clauses)
    meant = resolve_all(clauses, seen)
    guessed = guessing.names(meant, clauses, AsPlaced(situation.scene))  # type: ignore[arg-type]
    return clauses == meant_clauses and all(
        guessed[clause.target] == meant[clause.target]
        # In no order: what lies on two things, or between them, may be told either way round.
        and (clause.place is None or {guessed[r] for r in clause.place.of} == {meant[r] for r in clause.place.of})
        for clause in clauses
    )


@pytest.mark.parametrize("task", ALL_TASKS)
def test_the_declared_chance_is_that_of_a_right_guess(task: str) -> None:
    right = sum(is_guessed_right(task, seed) for seed in range(GUESSES))
    estimate = wilson(right, GUESSES, confidence=0.999)
    assert estimate.low is not None and estimate.high is not None
    assert estimate.low <= TASKS[task].chance <= estimate.high, f"{right} of {GUESSES}"


@pytest.mark.parametrize("task", ALL_TASKS)
def test_a_guess_succeeds_only_if_it_is_right(task: str, is_thorough: bool) -> None:
    if TASKS[task].chance == 1 and not is_thorough:
        return
    # A right guess does what the expert does: one that is wrong says most.
    wrong = next((seed for seed in range(GUESSES) if not is_guessed_right(task, seed)), 0)
    for episode, _ in run(task, "guess", range(THOROUGH_GUESS_SEEDS) if is_thorough else [wrong]):
        # What happens on the way may change what is meant, and then it is guessed again.
        if not any(event.kind == "event" for event in episode.events):
            assert episode.success == is_guessed_right(task, episode.seed), (episode.seed, episode.error)


@pytest.mark.parametrize("task", ALL_TASKS)
def test_a_primitive_that_is_named_exists(task: str) -> None:
    primitive = TASKS[task].primitive
    assert primitive is None or primitive in TASKS


@pytest.mark.parametrize("task", ALL_TASKS)
def test_things_rest_where_they_were_put(task: str) -> None:
    environment = Environment(trial(task, 0, "still"), PolicySpec())
    for thing in environment.simulation.scene:
        if not thing.is_parked:
            x, y, z = environment.world.position(thing.name)
            px, py, pz = thing.pose.position
            assert abs(x - px) < 1e-3 and abs(y - py) < 1e-3 and -5e-4 < z - pz < 1e-3, thing.name


def _layout(situation: Situation) -> Hashable:
    # How high a thing's centre is follows from its size: where it stands is told by its lower face.
    return tuple(
        (thing.pose.shifted(dz=-thing.half_extents[2]).position, thing.pose.quaternion) for thing in situation.scene
    )


def _attributes(situation: Situation) -> Hashable:
    return tuple(
        (
            thing.name,
            thing.kind,
            thing.colour,
            thing.half_extents,
            thing.bands,
            thing.is_striped,
            thing.shapes,
            thing.parts,
            thing.mass_kg,
            thing.friction,
        )
        for thing in situation.scene
    )


def _arena(situation: Situation) -> Hashable:
    scene = situation.scene
    return (scene.arena, scene.lights, scene.cameras)


def _timing(situation: Situation) -> Hashable:
    # What is said later is a matter of the instruction.
    return tuple(
        (event.when, event.unless) if isinstance(event.effect, NewInstruction) else event for event in situation.events
    )


FINGERPRINTS: dict[str, Callable[[Situation], Hashable]] = {
    "layout": _layout,
    "attributes": _attributes,
    "instruction": lambda situation: situation.instruction.text,
    "timing": _timing,
    "arena": _arena,
}
assert {*FINGERPRINTS, "robot"} == set(VARIATIONS)
