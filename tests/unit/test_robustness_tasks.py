"""Robustness tasks keep their partner's words and goal, show what no other family shows, and are never demonstrated."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from robodx.errors import UserError
from robodx.experts.grasps import WIDEST_M
from robodx.policy_contract import PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.running.demonstrations import demonstrate
from robodx.running.environment import Environment
from robodx.scoring.conditions import All, Condition
from robodx.scoring.contact import Grasped, Released, Static
from robodx.scoring.orientation import Inserted, Standing
from robodx.scoring.stages import Stage
from robodx.sight.segment import colour_word
from robodx.sim import objects
from robodx.sim.colours import SHADES
from robodx.sim.geometry import Pose, about, difference
from robodx.sim.rooms import UNSEEN_ROOMS
from robodx.sim.scene import Thing
from robodx.sim.simulation import Simulation
from robodx.sim.world import World
from robodx.tasks.base import EVALUATION_ONLY, TASKS, Task
from robodx.tasks.robustness import TRAY_COLOUR, UNSEEN_COLOURS, UNSEEN_KINDS

SEEDS = 12
ROBUSTNESS = [task for task in TASKS.entries() if task.family == "robustness"]
OTHERS = [task for task in TASKS.entries() if EVALUATION_ONLY not in task.tags]
# All but the one that names its unseen parts.
SHIFTED = [task for task in ROBUSTNESS if task.id != "robustness/kit_assembly"]
UNSEEN_SHADES = {shade for shades in SHADES.values() for shade in shades}
WITH_DISTRACTORS = [task for task in ROBUSTNESS if task.tier == "easy"]


def every(tasks: list[Task]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("task", tasks, ids=lambda task: task.id)


def worn(thing: Thing) -> set[str | None]:
    return {thing.colour, *(shape.colour for shape in thing.shapes), *thing.bands}


def partner(task: Task) -> Task:
    assert task.primitive is not None
    return TASKS[task.primitive]


def test_three_tasks_a_tier_that_are_all_for_evaluation_only() -> None:
    tiers = [task.tier for task in ROBUSTNESS]
    assert [tiers.count(tier) for tier in ("easy", "medium", "hard")] == [3, 3, 3]
    assert all(EVALUATION_ONLY in task.tags for task in ROBUSTNESS)


@every(OTHERS)
def test_what_is_unseen_is_seen_in_no_other_family(task: Task) -> None:
    rooms = [room for room, _ in UNSEEN_ROOMS]
    lights = [light for _, light in UNSEEN_ROOMS]
    for seed in range(SEEDS):
        scene = task.situation(seed).scene
        for thing in scene:
            assert worn(thing).isdisjoint({*UNSEEN_COLOURS, TRAY_COLOUR, *UNSEEN_SHADES}), thing.name
            assert thing.kind not in UNSEEN_KINDS
        assert scene.arena not in rooms and not set(scene.lights) & set(lights)


@every(ROBUSTNESS)
def test_something_unseen_is_shown_at_every_seed(task: Task) -> None:
    for seed in range(SEEDS):
        scene = task.situation(seed).scene
        assert any(worn(thing) & {*UNSEEN_COLOURS, *UNSEEN_SHADES} for thing in scene)
        is_unseen_room = (scene.arena, *scene.lights) in UNSEEN_ROOMS
        assert is_unseen_room == (task.tier == "hard")


@every(SHIFTED)
def test_words_and_goal_are_the_partner_s_and_places_those_of_its_seed(task: Task) -> None:
    for seed in range(SEEDS):
        shifted, original = task.situation(seed), partner(task).situation(seed)
        assert shifted.instruction == original.instruction
        assert [Stage.of(stage) for stage in shifted.stages] == [Stage.of(stage) for stage in original.stages]
        if task.tier == "easy":
            assert shifted.scene.things[: len(original.scene.things)] == original.scene.things


def test_an_unseen_shade_is_nearest_to_the_colour_that_it_is_called_by() -> None:
    for colour, shades in SHADES.items():
        assert [colour_word(np.array([paint])) for paint in shades.values()] == [colour] * len(shades)


def test_kit_parts_are_inserted_to_the_tolerances_of_the_peg() -> None:
    peg = TASKS["control/insert_peg"].situation(0).stages[-1]
    (original,) = (part for part in _parts(peg) if isinstance(part, Inserted))
    for grasped, stage in zip(*[iter(TASKS["robustness/kit_assembly"].situation(0).stages)] * 2, strict=True):
        assert isinstance(grasped, Grasped)
        assert {type(part) for part in _parts(stage)} == {Released, Static, Inserted}
        (inserted,) = (part for part in _parts(stage) if isinstance(part, Inserted))
        assert (inserted.lateral_m, inserted.angle_rad) == (original.lateral_m, original.angle_rad)


def test_the_peg_stands_within_8_hundredths_of_a_radian_and_5_mm() -> None:
    stage = TASKS["robustness/lift_peg_upright"].situation(0).stages[-1]
    (standing,) = (part for part in _parts(stage) if isinstance(part, Standing))
    assert (standing.max_angle_rad, standing.height_tolerance_m) == (0.08, 0.005)
    assert {type(part) for part in _parts(stage)} == {Released, Static, Standing}


def _parts(stage: Stage | Condition) -> tuple[Condition, ...]:
    (condition,) = Stage.of(stage).alternatives
    return condition.parts if isinstance(condition, All) else (condition,)


@every(ROBUSTNESS)
def test_the_words_stay_the_same_whatever_is_shown(task: Task) -> None:
    assert len({task.situation(seed).instruction.text for seed in range(SEEDS)}) == 1


@every(ROBUSTNESS)
def test_loose_things_fit_the_gripper_and_differ_from_seed_to_seed(task: Task) -> None:
    scenes = [task.situation(seed).scene for seed in range(SEEDS)]
    for scene in scenes:
        for thing in scene:
            assert thing.is_fixed or 2 * thing.half_extents[1] <= WIDEST_M, thing.name
    looks = {tuple((thing.kind, thing.colour, thing.half_extents) for thing in scene) for scene in scenes}
    assert len(looks) > SEEDS / 4


@pytest.mark.parametrize("name", ["place_unseen_sphere", "push_unseen_cube", "stack_unseen_cube"])
def test_unseen_sizes_are_smaller_and_bigger_than_control_s(name: str) -> None:
    usual = objects.cube("red").half_extents[0]
    scenes = [TASKS[f"robustness/{name}"].situation(seed).scene for seed in range(SEEDS)]
    sizes = [next(thing.half_extents[0] for thing in scene if not thing.is_fixed) for scene in scenes]
    assert min(sizes) < 0.95 * usual and max(sizes) > 1.04 * usual
    assert all(abs(size - usual) > 0.0009 for size in sizes)


@every(WITH_DISTRACTORS)
def test_the_expert_leaves_distractors_where_they_are(task: Task) -> None:
    expert = make_policy("expert")
    for seed in range(3):
        environment = Environment(Trial(task.id, task.version, "expert", seed), expert.spec)
        distractors = [thing for thing in environment.simulation.scene if thing.kind in UNSEEN_KINDS]
        assert 1 <= len(distractors) <= 2
        start = environment.start()
        expert.reset([start])
        while not environment.is_done:
            (chunk,) = expert.act([environment.observe()])
            environment.accept(chunk, 0.0)
            environment.step()
        expert.finish([start.episode_id])
        for thing in distractors:
            moved = difference(thing.pose, environment.world.pose(thing.name))
            assert moved.distance_m < 1e-3 and moved.angle_rad < 0.01
        environment.close()


@every(ROBUSTNESS)
def test_demonstrations_are_refused(task: Task) -> None:
    with pytest.raises(UserError, match=rf"No demonstrations of {task.id}: .* for evaluation only"):
        demonstrate(PolicySpec(), task.id)


@pytest.mark.parametrize(
    ("turn_rad", "height_m", "is_standing"),
    [(0.0, 0.06, True), (math.pi, 0.06, True), (0.07, 0.06, True), (0.1, 0.06, False), (0.0, 0.067, False)],
)
def test_standing_is_upright_on_either_end_at_half_its_length(
    simulate: Callable[..., Simulation], turn_rad: float, height_m: float, is_standing: bool
) -> None:
    peg = objects.octagonal_peg("mint", length_m=0.12)
    simulation = simulate(peg.at(0.0, 0.1))
    world, standing = World(simulation), Standing(peg.name)
    assert not standing.holds(world)
    lying = standing.progress(world)
    simulation.set_pose(peg.name, Pose((0.0, 0.1, height_m), about("y", math.pi / 2 + turn_rad)))
    assert standing.holds(world) == is_standing
    assert standing.progress(world) > lying and (standing.progress(world) == 1.0) == is_standing


@pytest.mark.parametrize("builder", [objects.hexagonal_block, objects.cross, objects.half_moon])
def test_a_block_fits_its_own_recess_of_the_tray_and_no_other(
    builder: Callable[[str], Thing],
    simulate: Callable[..., Simulation],
    wait: Callable[[Simulation, float], None],
) -> None:
    block, tray = builder("mint"), objects.kit_tray("ivory").at(0.0, 0.0)
    for frame, hole in tray.frames:
        x, y, z = tray.pose.apply(hole.position)
        simulation = simulate(tray, block.at(x, y, z=z + block.half_extents[2] + 0.001))
        wait(simulation, 1.0)
        is_in = Inserted(block.name, tray.name, 0.008, hole=frame).holds(World(simulation))
        assert is_in == (frame == f"{block.kind} hole")
