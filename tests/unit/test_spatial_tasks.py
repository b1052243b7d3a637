"""In the spatial tasks only places tell things apart, and every question has one clear answer."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from robodx.experts.base import PlanContext, take
from robodx.experts.skills import Hand, Steps
from robodx.language.meaning import DIRECTIONS, Clause, If, Meaning
from robodx.language.plain_wording import understood
from robodx.language.reference import Looks, is_related, resolve, the
from robodx.policies.expert import ExpertPolicy
from robodx.policy_contract import Observation
from robodx.records.trial import Trial
from robodx.robots.panda import PANDA
from robodx.running.rollout import rollout
from robodx.scoring.conditions import All
from robodx.scoring.contact import Released
from robodx.scoring.from_meaning import looks
from robodx.scoring.sides import Displaced
from robodx.sim.objects import bowl, cube, sphere
from robodx.sim.scene import Scene
from robodx.sim.simulation import Simulation
from robodx.sim.world import World
from robodx.tasks.base import TASKS, Situation
from robodx.tasks.perception import VIVID
from robodx.tasks.spatial import DISTANCES_M, ENDS, ROW, SIDES
from robodx.verbs.put import free_side

SPATIAL = [task for task in TASKS if task.startswith("spatial/")]
PLACING = ["assemble_set", "build_tower", "move_cube_direction", "place_between", "place_in_or_beside_bowl"]
SEEDS = 50
RUN = 25
CLEAR_M = 0.03
EVERY = pytest.mark.parametrize("task", SPATIAL)


def situations(task: str, count: int = SEEDS) -> list[Situation]:
    return [TASKS[task].situation(seed) for seed in range(count)]


def test_there_are_three_tasks_a_tier() -> None:
    tiers = [TASKS[task].tier for task in SPATIAL]
    assert {tier: tiers.count(tier) for tier in tiers} == {"easy": 3, "medium": 3, "hard": 3}


@EVERY
def test_what_can_be_moved_looks_alike(task: str) -> None:
    for situation in situations(task):
        loose = {(t.kind, t.colour, t.shapes, t.mass_kg, t.friction) for t in situation.scene if not t.is_fixed}
        assert len(loose) == 1


@EVERY
def test_any_colour_is_worn_and_no_container_looks_like_the_cubes(task: str) -> None:
    worn: set[str] = set()
    for situation in situations(task):
        cubes, containers = ({t.colour for t in situation.scene if t.is_fixed is fixed} for fixed in (False, True))
        assert not cubes & containers
        worn |= cubes
    assert worn == set(VIVID)


@EVERY
def test_every_description_picks_out_one_thing(task: str) -> None:
    for situation in situations(task):
        seen = looks(situation.scene)
        for clause in situation.instruction.meaning.decided(seen):
            assert len({resolve(reference, seen) for reference in clause.references}) == len(clause.references)


# Per task what is asked for, and in how many ways together.
ASKED: dict[str, tuple[int, tuple[str, ...]]] = {
    "assemble_set": (24, SIDES),
    "build_tower": (6, ROW),
    "move_cube_direction": (8, DIRECTIONS),
    "pick_closest": (3, ("closest to", "farthest from")),
    "pick_inside_or_beside": (6, ("inside", "outside", "on", "beside")),
    "pick_leftmost": (4, ENDS),
    "place_between": (3, ROW),
    "place_in_or_beside_bowl": (4, ("in", "beside")),
    "retrieve_stacked": (5, ("under", *SIDES)),
}


@EVERY
def test_everything_that_may_be_asked_is_asked_within_a_run(task: str) -> None:
    count, expected = ASKED[task.partition("/")[2]]
    meanings = {situation.instruction.meaning for situation in situations(task, RUN)}
    assert len(meanings) == count
    assert {word for meaning in meanings for clause in meaning.clauses for word in relations(clause)} >= set(expected)


def relations(clause: Clause | If) -> list[str]:
    """The words by which a clause says which thing, and where it is to go."""
    assert isinstance(clause, Clause)
    ranks = [clause.target.rank.by] if clause.target.rank else []
    places = [clause.place.relation] if clause.place else []
    return [*ranks, *places, *(where.relation for where in clause.target.where)]


def done(meaning: Meaning, scene: Scene) -> list[tuple[object, ...]]:
    """What one does who follows this meaning: with which thing, where it goes, and how far; else nothing."""
    what = understood(meaning, looks(scene))
    if what is None:
        return []
    clauses, names = what
    acts: list[tuple[object, ...]] = []
    for clause in clauses:
        place = clause.place
        goal = (place.relation, {names[other] for other in place.of}, place.distance_m) if place else ()
        acts.append((names[clause.target], *goal))
    return acts


@EVERY
def test_no_constant_answer_is_right_more_often_than_chance(task: str) -> None:
    run = situations(task, RUN)
    for answer in {situation.instruction.meaning for situation in run}:
        right = sum(done(answer, each.scene) == done(each.instruction.meaning, each.scene) for each in run)
        assert right <= math.ceil(RUN * TASKS[task].chance), answer


class Answering(ExpertPolicy):
    """Does these things one after the other, whatever it is told."""

    def __init__(self, *clauses: Clause | If) -> None:
        super().__init__()
        self._answers = Meaning(clauses)

    def meaning(self, observation: Observation) -> Meaning:
        return self._answers


@EVERY
@pytest.mark.parametrize("seed", [1, 5])
def test_who_tries_one_answer_after_the_other_fails_at_the_first_wrong_one(task: str, seed: int) -> None:
    """Wrong answers are right ones of other seeds; the right one follows, and comes too late."""
    run = [situation.instruction.meaning for situation in situations(task, RUN)]
    scene, meant = TASKS[task].situation(seed).scene, run[seed]
    wrong = [other for other in dict.fromkeys(run) if done(other, scene) not in ([], done(meant, scene))]
    for other in wrong[:8]:
        trial = Trial(task, TASKS[task].version, "expert", seed)
        ((episode, _),) = rollout([trial], Answering(*other.clauses, *meant.clauses))
        assert episode.outcome == "failure" and episode.failure_kind in ("constraint", "reference"), other


@pytest.mark.parametrize("task", PLACING)
def test_nothing_that_is_asked_for_holds_at_the_start(task: str) -> None:
    for situation in situations(f"spatial/{task}", 12):
        world = World(Simulation(situation.scene, PANDA, np.array(PANDA.arm.home)))
        for stage in (*situation.stages[1::2], *situation.never):
            assert not stage.holds(world), stage


def test_distances_are_so_far_apart_that_none_is_both() -> None:
    shorter, longer = DISTANCES_M
    assert longer - shorter > 2 * Displaced("cube", (0.0, 0.0), "left", shorter).tolerance_m


@pytest.mark.parametrize(
    ("task", "measures"),
    [
        ("pick_leftmost", (lambda x, y: x, lambda x, y: y, lambda x, y: math.hypot(x + 0.615, y))),
        ("place_between", (lambda x, y: y,)),
        ("build_tower", (lambda x, y: y,)),
        ("assemble_set", (lambda x, y: y,)),
    ],
)
def test_the_ends_of_a_row_stand_out(task: str, measures: tuple[Callable[[float, float], float], ...]) -> None:
    for situation in situations(f"spatial/{task}"):
        cubes = [thing.pose.position[:2] for thing in situation.scene if thing.kind == "cube"]
        for measure in measures:
            values = sorted(measure(*place) for place in cubes)
            assert min(values[1] - values[0], values[-1] - values[-2]) >= CLEAR_M


def test_the_closest_and_the_farthest_stand_out() -> None:
    for situation in situations("spatial/pick_closest"):
        centre = situation.scene.thing("bowl").pose.position[:2]
        distances = sorted(math.dist(t.pose.position[:2], centre) for t in situation.scene if t.kind == "cube")
        assert min(distances[1] - distances[0], distances[2] - distances[1]) >= CLEAR_M


@pytest.mark.parametrize("task", PLACING)
def test_a_placed_thing_must_be_released(task: str) -> None:
    for situation in situations(f"spatial/{task}", 6):
        last = situation.stages[-1]
        assert isinstance(last, All) and any(isinstance(part, Released) for part in last.parts)


def test_a_moved_cube_stays_within_reach() -> None:
    for situation in situations("spatial/move_cube_direction"):
        last = situation.stages[-1]
        assert isinstance(last, All)
        (moved,) = (part for part in last.parts if isinstance(part, Displaced))
        (x, y), step = moved.start, moved.distance_m
        assert x - step >= -0.25 and x + step <= 0.13 and abs(y) + step <= 0.28


def test_one_in_a_stack_is_under_another_and_neither_behind_nor_in_front_of_it() -> None:
    low, high = Looks("cube", position=(0.0, 0.0, 0.02)), Looks("cube", position=(0.001, 0.0, 0.06))
    assert is_related(low, "under", high) and is_related(high, "on", low)
    assert not any(is_related(low, side, high) for side in ("behind", "in front of", "left of", "right of"))
    assert resolve(the("highest cube"), {"low": low, "high": high}) == "high"


def test_taking_a_thing_first_puts_aside_what_lies_on_it(
    simulate: Callable[..., Simulation], perform: Callable[[Simulation, Callable[[Hand], Steps]], None]
) -> None:
    low, middle, high = (cube("blue").named(name).at(-0.05, 0.0, z=0.02 + 0.04 * i) for i, name in enumerate("abc"))
    simulation = simulate(low, middle, high)
    world = World(simulation)
    perform(simulation, lambda hand: take(PlanContext(world, hand, {}), "a"))
    assert world.is_grasped("a")
    for name in "bc":
        assert world.position(name)[2] == pytest.approx(0.02, abs=1e-3)


def test_what_is_not_there_is_not_in_the_way(simulate: Callable[..., Simulation]) -> None:
    # What is parked lies under the middle of the table, just in front of green.
    simulation = simulate(cube("red").at(-0.2, 0.2), cube("green").at(0.042, 0.0), sphere("blue").parked())
    names = {the("red cube"): "red cube"}
    hand = Hand(World(simulation).tool(), 1.0, 0.05, World(simulation).tool())
    assert free_side(PlanContext(World(simulation), hand, names), "red cube", "green cube") == -1


def test_an_open_hand_fits_into_a_bowl(
    simulate: Callable[..., Simulation], perform: Callable[[Simulation, Callable[[Hand], Steps]], None]
) -> None:
    simulation = simulate(bowl("white").at(-0.05, 0.05), cube("blue").at(-0.05, 0.05, z=0.024))
    world = World(simulation)
    perform(simulation, lambda hand: take(PlanContext(world, hand, {}), "blue cube"))
    assert world.is_grasped("blue cube") and world.position("blue cube")[2] > 0.1
    assert "white bowl" not in world.log.objects("contact") + world.log.objects("collision")
