"""Perception is isolated: a first contact decides, and nothing but the asked look tells the right thing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from robodx.experts import skills
from robodx.experts.grasps import from_above
from robodx.experts.skills import Hand, Steps
from robodx.language.meaning import If
from robodx.language.reference import Rank, Reference, Unresolved, candidates, is_related, resolve, the
from robodx.records.design import trials_of
from robodx.registry import UnknownName
from robodx.robots.panda import PANDA
from robodx.scoring.from_meaning import looks
from robodx.scoring.stages import Score, Stage
from robodx.sim.objects import sphere
from robodx.sim.scene import Thing, tabletop
from robodx.sim.simulation import Simulation
from robodx.sim.world import World
from robodx.suites.base import SuiteRequest, ask
from robodx.tasks import perception
from robodx.tasks.base import TASKS, Situation, Task
from robodx.tasks.isolation import FACTORS, GLIDE_M, PLAIN

SEEDS = range(60)
PERCEPTION = [task.id for task in TASKS.entries() if task.family == "perception"]
ISOLATION = [task.id for task in TASKS.entries() if task.family == "isolation"]
# Where things lie anywhere; in the others each lies around a slot of its own.
CLUTTERED = "perception/touch_red_t_in_clutter"
EVERY = pytest.mark.parametrize("task", PERCEPTION)
Perform = Callable[[Simulation, Callable[[Hand], Steps]], None]


def right(situation: Situation) -> str:
    (clause,) = situation.instruction.meaning.decided(looks(situation.scene))
    return resolve(clause.target, looks(situation.scene))


def loose(situation: Situation) -> list[Thing]:
    return [thing for thing in situation.scene if not thing.is_fixed]


def partner(task: str) -> str:
    return f"perception/{task.partition('/')[2].partition('_with_')[0]}"


def touched(situation: Situation, name: str, perform: Perform) -> Score:
    """How an episode stands after a closed hand came down on this thing; nothing was ever held."""
    simulation = Simulation(situation.scene, PANDA, np.array(PANDA.arm.home))
    world = World(simulation)
    x, y, z = world.position(name)
    top = from_above(x, y, z + world.reach(name)[2], 0.0)
    perform(simulation, lambda hand: skills.touch(hand, lambda: top, depth_m=0.004))
    assert simulation.log.first_touched == name and simulation.log.count("grasp") == 0
    score = Score(tuple(Stage.of(stage) for stage in situation.stages), situation.never)
    score.update(world)
    return score


@EVERY
def test_touching_the_right_thing_first_is_all_there_is_to_it(task: str, perform: Perform) -> None:
    situation = TASKS[task].situation(3)
    assert touched(situation, right(situation), perform).is_success


@EVERY
def test_touching_a_wrong_thing_first_ends_the_episode_as_a_failure(task: str, perform: Perform) -> None:
    situation = TASKS[task].situation(3)
    wrong = next(thing.name for thing in loose(situation) if thing.name != right(situation))
    score = touched(situation, wrong, perform)
    assert score.is_over and not score.is_success and score.progress == 0.0


@EVERY
def test_chance_is_one_among_the_things_that_can_be_touched(task: str) -> None:
    for seed in range(5):
        assert TASKS[task].chance == pytest.approx(1 / len(loose(TASKS[task].situation(seed))))


@EVERY
def test_the_right_thing_takes_every_place_and_every_turn_in_the_scene(task: str) -> None:
    places: Counter[tuple[float, float]] = Counter()
    turns: Counter[int] = Counter()
    for seed in SEEDS:
        situation = TASKS[task].situation(seed)
        names = [thing.name for thing in loose(situation)]
        position = situation.scene.thing(right(situation)).pose.position
        places[min(perception.SLOTS, key=lambda slot: math.dist(slot, position[:2]))] += 1
        turns[names.index(right(situation))] += 1
    assert set(places) == set(perception.SLOTS)
    if task != CLUTTERED:
        assert set(places.values()) == {len(SEEDS) // len(perception.SLOTS)}
    assert set(turns) == set(range(len(names)))


@EVERY
def test_things_lie_far_enough_apart_for_a_finger(task: str) -> None:
    for seed in SEEDS:
        things = list(TASKS[task].situation(seed).scene)
        for index, one in enumerate(things):
            for other in things[:index]:
                gap = math.dist(one.pose.position[:2], other.pose.position[:2]) - one.radius_m - other.radius_m
                assert gap > 0.015, (seed, one.name, other.name)


@EVERY
def test_a_place_is_seldom_met_blindly(task: str) -> None:
    """The right thing of another seed is seldom where this one's is: a finger's breadth off, and it is missed."""
    places = [right_place(task, seed) for seed in range(125)]
    met = [math.dist(one, other) < 0.03 for one in places[100:] for other in places[:25]]
    assert sum(met) / len(met) < TASKS[task].chance / 2


def right_place(task: str, seed: int) -> tuple[float, float]:
    situation = TASKS[task].situation(seed)
    return situation.scene.thing(right(situation)).pose.position[:2]


@pytest.mark.parametrize(
    ("task", "colours"),
    [
        ("touch_sphere", perception.VIVID),
        ("touch_cube_that_fits", perception.VIVID),
        ("touch_banded_peg", ("white", "grey", "dark grey", "black")),
    ],
)
def test_colour_says_nothing_where_it_is_not_asked_for(task: str, colours: tuple[str, ...]) -> None:
    rights: Counter[str] = Counter()
    wrongs: Counter[str] = Counter()
    for seed in range(240):
        situation = TASKS[f"perception/{task}"].situation(seed)
        name = right(situation)
        for thing in loose(situation):
            (rights if thing.name == name else wrongs)[thing.colour] += 1
    for colour in colours:
        # One of three is right, whatever it wears.
        assert rights[colour] / (rights[colour] + wrongs[colour]) == pytest.approx(1 / 3, abs=0.12), colour


@pytest.mark.parametrize("task", ["touch_bigger_sphere", "touch_odd_cube"])
def test_things_told_by_their_size_share_their_colour(task: str) -> None:
    worn = [{thing.colour for thing in TASKS[f"perception/{task}"].situation(seed).scene} for seed in SEEDS]
    assert all(len(colours) == 1 for colours in worn)
    assert set().union(*worn) == set(perception.VIVID)


def test_spheres_have_the_declared_radii() -> None:
    situation = TASKS["perception/touch_bigger_sphere"].situation(0)
    assert sorted(thing.half_extents[0] for thing in situation.scene) == [0.012, 0.020]


def test_the_odd_cube_is_bigger_or_smaller_by_the_declared_share() -> None:
    shares = []
    for seed in SEEDS:
        situation = TASKS["perception/touch_odd_cube"].situation(seed)
        name = right(situation)
        odd = situation.scene.thing(name).half_extents[0]
        (others,) = {thing.half_extents[0] for thing in situation.scene if thing.name != name}
        shares.append(odd / others - 1)
    assert {round(share, 6) for share in shares} == {-perception.ODD_SHARE, perception.ODD_SHARE}
    assert 0.3 < sum(share > 0 for share in shares) / len(shares) < 0.7


def test_exactly_one_cube_fits_the_slot_be_it_small_or_big() -> None:
    ranks: Counter[int] = Counter()
    for seed in SEEDS:
        situation = TASKS["perception/touch_cube_that_fits"].situation(seed)
        (board,) = (thing for thing in situation.scene if thing.is_fixed)
        assert board.cavity_half is not None
        room = {thing.name: board.cavity_half[0] - thing.half_extents[0] for thing in loose(situation)}
        assert [name for name, left in room.items() if 0 < left < 0.0015] == [right(situation)]
        assert all(abs(left) > 0.0015 for name, left in room.items() if name != right(situation))
        ranks[sorted(room, key=lambda name: room[name]).index(right(situation))] += 1
    assert min(ranks[rank] for rank in range(3)) > len(SEEDS) / 6


def test_band_orders_differ_even_when_read_backwards() -> None:
    written = set()
    for seed in SEEDS:
        situation = TASKS["perception/touch_banded_peg"].situation(seed)
        orders = [thing.bands for thing in situation.scene]
        assert all(sorted(order) == sorted(perception.BANDS) for order in orders)
        assert len({min(order, order[::-1]) for order in orders}) == len(orders)
        written.add(situation.scene.thing(right(situation)).bands)
    assert written == {perception.BANDS, perception.BANDS[::-1]}


def test_the_red_t_block_is_neither_the_only_red_thing_nor_the_only_t_block() -> None:
    for task in ("touch_red_t", "touch_red_t_in_clutter"):
        for seed in SEEDS:
            seen = looks(TASKS[f"perception/{task}"].situation(seed).scene)
            assert len(candidates(Reference(colour="red"), seen)) == 2
            assert len(candidates(the("T-block"), seen)) >= 2


@pytest.mark.parametrize("task", ISOLATION)
def test_entangled_task_shows_the_same_things_as_its_partner_and_in_the_same_order(task: str) -> None:
    for seed in range(12):
        plain, mixed = TASKS[partner(task)].situation(seed), TASKS[task].situation(seed)
        assert right(mixed) == right(plain)
        shifts = set()
        for thing in plain.scene:
            same = mixed.scene.thing(thing.name)
            assert replace(same, placement=thing.placement) == thing
            assert same.pose.quaternion == thing.pose.quaternion
            (x, y, _), (px, py, _) = same.pose.position, thing.pose.position
            shifts.add((round(x - px, 6), round(y - py, 6)))
        # All of them together, and only where the layout is to be an unseen one.
        assert len(shifts) == 1 and (shifts == {(0.0, 0.0)}) == (not task.endswith("_with_novel"))


@pytest.mark.parametrize("plain_task", PLAIN, ids=lambda task: task.id)
def test_in_an_unseen_layout_everything_lies_far_from_where_it_lies_otherwise(plain_task: Task) -> None:
    for seed in SEEDS:
        for thing in TASKS[f"isolation/{plain_task.id.partition('/')[2]}_with_novel"].situation(seed).scene:
            x, y, _ = thing.pose.position
            # Outside of the squares around all slots.
            assert min(max(abs(x - sx), abs(y - sy)) for sx, sy in perception.SLOTS) > perception.JITTER_M
            assert -0.25 < x < 0.13 and abs(y) < 0.28


@pytest.mark.parametrize("plain_task", PLAIN, ids=lambda task: task.id)
def test_of_two_things_told_the_first_is_meant_as_often_as_the_last(plain_task: Task) -> None:
    firsts, meant = 0, 0
    for seed in range(25):
        situation = TASKS[f"isolation/{plain_task.id.partition('/')[2]}_with_language"].situation(seed)
        (part,) = situation.instruction.meaning.clauses
        if isinstance(part, If):
            meant += 1
            firsts += resolve(part.then.target, looks(situation.scene)) == right(situation)
    assert meant == 20 and firsts == 10


@pytest.mark.parametrize("factor", FACTORS)
def test_only_the_named_factor_is_added(factor: str) -> None:
    for plain_task in PLAIN:
        name = plain_task.id.partition("/")[2]
        plain, mixed = plain_task.situation(1), TASKS[f"isolation/{name}_with_{factor}"].situation(1)
        changed = {
            "control": mixed.stages != plain.stages,
            "language": mixed.instruction != plain.instruction and factor != "control",
            "spatial": any(thing.kind == "bowl" for thing in mixed.scene),
            "dynamic": mixed.events != plain.events,
            "novel": mixed.scene.arena != plain.scene.arena,
        }
        assert [word for word, is_so in changed.items() if is_so] == [factor]
        assert mixed.never == plain.never


@pytest.mark.parametrize("plain_task", PLAIN, ids=lambda task: task.id)
def test_each_thing_lies_in_a_bowl_of_its_own(plain_task: Task) -> None:
    name = plain_task.id.partition("/")[2]
    seen = looks(TASKS[f"isolation/{name}_with_spatial"].situation(0).scene)
    things, bowls = ([look for look in seen.values() if (look.kind == "bowl") == is_bowl] for is_bowl in (False, True))
    assert len(things) == len(bowls)
    for thing in things:
        assert sum(is_related(thing, "inside", holder) for holder in bowls) == 1


def test_gliding_things_keep_their_distances_and_stay_in_reach() -> None:
    for seed in range(12):
        situation = TASKS["isolation/touch_red_sphere_with_dynamic"].situation(seed)
        shifts = {thing.name: 0.0 for thing in situation.scene}
        for event in situation.events:
            shifts[event.effect.thing] += event.effect.by[1]  # type: ignore[attr-defined]
        assert {round(abs(shift), 6) for shift in shifts.values()} == {GLIDE_M} and len(set(shifts.values())) == 1
        assert all(abs(thing.pose.position[1] + shifts[thing.name]) < 0.28 for thing in situation.scene)


@pytest.mark.parametrize(
    ("within", "count"),
    [((), 18), (("control",), 6), (("touch_red_sphere",), 6), (("touch_sphere_with_novel",), 2)],
)
def test_isolation_suite_is_narrowed_by_factor_and_task(within: tuple[str, ...], count: int) -> None:
    trials = trials_of(ask("isolation", pl.DataFrame(), SuiteRequest("still", 1, within=within)))
    assert len({trial.task for trial in trials}) == count


def test_isolation_suite_names_what_there_is() -> None:
    with pytest.raises(UnknownName, match=r'"contrl". Did you mean "control"'):
        ask("isolation", pl.DataFrame(), SuiteRequest("still", 1, within=("contrl",)))


def test_entangled_tasks_are_no_part_of_the_capability_suite() -> None:
    assert len(PERCEPTION) == 9 and len(ISOLATION) == 15
    for task in ISOLATION:
        assert "isolation" in TASKS[task].tags and "capability" not in TASKS[task].tags


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (the("bigger sphere"), "bigger sphere"),
        (the("odd cube"), "cube that differs in size"),
        (Reference("cube", rank=Rank("that fits", of=the("slot"))), "cube that exactly fits the slot"),
        (Reference("peg", bands=("red", "yellow", "blue")), "peg with red, yellow and blue bands in that order"),
        (Reference(but=(Reference("cube"),)), "object that is not a cube"),
        (Reference("sphere", but=(the("smaller sphere"),)), "sphere other than the smaller sphere"),
    ],
)
def test_words_for_what_is_to_be_told_apart(reference: Reference, words: str) -> None:
    assert reference.words == words


def test_bigger_is_said_of_two() -> None:
    small, middling, big = (sphere("red", radius).named(f"{radius}") for radius in (0.012, 0.016, 0.020))
    assert resolve(the("bigger sphere"), looks(tabletop(small, big))) == big.name
    assert resolve(the("smaller sphere"), looks(tabletop(small, big))) == small.name
    with pytest.raises(Unresolved, match=r'"bigger" is said of two'):
        resolve(the("bigger sphere"), looks(tabletop(small, middling, big)))
