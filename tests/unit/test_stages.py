"""Stages are passed in order and stay passed; progress is earned, bounded and never lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from robodx.scoring.conditions import Condition
from robodx.scoring.contact import Static
from robodx.scoring.from_meaning import stages_for
from robodx.scoring.relations import CentredOn, Near, On
from robodx.scoring.sides import LeftOf
from robodx.scoring.stages import BEST_UNREACHED, Score, Stage
from robodx.sim.geometry import Pose
from robodx.sim.objects import cube
from robodx.sim.simulation import Simulation
from robodx.sim.world import World
from robodx.tasks.base import TASKS

Wait = Callable[[Simulation, float], None]
RED_ON_GREEN = On("red cube", "green cube")
BLUE_ON_GREEN = On("blue cube", "green cube")
AWAY = {"red cube": (-0.2, 0.2, 0.02), "blue cube": (-0.2, -0.2, 0.02)}
ON_TOP = (0.0, 0.0, 0.06)


class Table:
    """A green cube in the middle, a red and a blue one away from it; `put` moves one and lets the score see it."""

    def __init__(self, simulate: Callable[..., Simulation], wait: Wait) -> None:
        self.simulation = simulate(cube("red").at(-0.2, 0.2), cube("green").at(0.0, 0.0), cube("blue").at(-0.2, -0.2))
        self.world, self._wait = World(self.simulation), wait

    def put(self, score: Score, name: str, place: tuple[float, float, float]) -> Score:
        self.simulation.set_pose(name, Pose(place))
        return self.pass_time(score, 0.05)

    def keep(self, score: Score, name: str, place: tuple[float, float, float]) -> Score:
        """Put there again and again, for longer than the score may take to look at progress."""
        for _ in range(4):
            self.put(score, name, place)
        return score

    def pass_time(self, score: Score, seconds: float) -> Score:
        for _ in range(round(seconds / 0.05)):
            self._wait(self.simulation, 0.05)
            score.update(self.world)
        return score


@pytest.fixture
def table(simulate: Callable[..., Simulation], wait: Wait) -> Table:
    return Table(simulate, wait)


def scored(*stages: Stage | Condition, never: tuple[Condition, ...] = ()) -> Score:
    return Score(tuple(Stage.of(stage) for stage in stages), never)


def test_stages_are_passed_in_order_only(table: Table) -> None:
    score = scored(RED_ON_GREEN, BLUE_ON_GREEN)
    assert table.put(score, "blue cube", ON_TOP).reached == 0, "the second stage is not tested before the first"
    table.put(score, "blue cube", AWAY["blue cube"])
    assert table.put(score, "red cube", ON_TOP).reached == 1 and not score.is_complete
    table.put(score, "red cube", AWAY["red cube"])
    assert score.reached == 1, "a passed stage stays passed"
    table.put(score, "blue cube", ON_TOP)
    assert score.is_complete and score.is_success and score.progress == 1.0
    assert score.stage_steps == [3, 5]
    logged = [(entry.step, entry.object, entry.value) for entry in table.world.log.entries if entry.kind == "stage"]
    assert logged == [(3, "red cube on green cube", 1.0), (5, "blue cube on green cube", 2.0)]


def test_stages_that_hold_at_once_pass_in_one_step(table: Table) -> None:
    score = table.put(scored(RED_ON_GREEN, Static("blue cube")), "red cube", ON_TOP)
    assert score.stage_steps == [1, 1] and score.is_success


@pytest.mark.parametrize("name", ["red cube", "blue cube"])
def test_any_alternative_passes_a_stage(table: Table, name: str) -> None:
    score = scored(Stage((RED_ON_GREEN, BLUE_ON_GREEN)))
    assert table.pass_time(score, 0.1).reached == 0
    assert table.put(score, name, ON_TOP).is_success


def test_progress_of_a_stage_is_that_of_its_best_alternative(table: Table) -> None:
    stage = Stage((Near("red cube", "green cube"), Near("blue cube", "green cube")))
    score = table.pass_time(scored(stage), 0.05)
    table.keep(score, "blue cube", (-0.1, 0.0, 0.02))
    near = score.progress
    assert near > 0.3
    table.keep(score, "red cube", (-0.09, 0.0, 0.02))
    assert near < score.progress < 1.0


@pytest.mark.parametrize("holds_when_broken", [False, True])
def test_never_ends_it(table: Table, holds_when_broken: bool) -> None:
    forbidden = BLUE_ON_GREEN if not holds_when_broken else RED_ON_GREEN
    score = scored(RED_ON_GREEN, never=(LeftOf("green cube", "red cube"), forbidden))
    table.pass_time(score, 0.1)
    assert score.broken is None
    table.put(score, "red cube" if holds_when_broken else "blue cube", ON_TOP)
    assert score.broken == forbidden and score.reached == 0
    table.put(score, "blue cube", AWAY["blue cube"])
    table.put(score, "red cube", ON_TOP)
    assert not score.is_success and not score.is_complete and score.broken == forbidden
    assert [entry.object for entry in table.world.log.entries if entry.kind == "broken"] == [str(forbidden)]


def test_doing_nothing_earns_nothing(table: Table) -> None:
    score = scored(Near("red cube", "green cube") & Static("red cube"), BLUE_ON_GREEN)
    assert table.pass_time(score, 2.0).progress < 1e-4


@pytest.mark.parametrize("task", list(TASKS))
def test_doing_nothing_earns_nothing_in_any_task(task: str, wait: Wait, simulate: Callable[..., Simulation]) -> None:
    situation = TASKS[task].situation(3)
    things = [thing.at(-0.1, 0.1) if not isinstance(thing.placement, Pose) else thing for thing in situation.scene]
    simulation = simulate(*things)
    score, world = scored(*situation.stages, never=situation.never), World(simulation)
    for _ in range(20):
        wait(simulation, 0.05)
        score.update(world)
    assert score.reached == 0 and score.progress < 1e-3


def test_progress_counts_from_where_the_stage_began_and_is_never_lost(table: Table) -> None:
    score = table.pass_time(scored(CentredOn("red cube", "green cube", 0.01), BLUE_ON_GREEN), 0.05)
    seen = [score.progress]
    for x in (-0.18, -0.1, -0.15, -0.05, -0.2, -0.02, -0.011):
        seen.append(table.keep(score, "red cube", (x, 0.0, 0.1)).progress)
    assert seen[0] == 0.0 and all(a <= b for a, b in itertools.pairwise(seen))
    assert seen[2] == seen[3] and seen[4] == seen[5], "moving away loses nothing"
    assert 0.4 < seen[-1] <= BEST_UNREACHED / 2, "a stage not reached is never worth a whole one"
    table.put(score, "red cube", (0.0, 0.0, 0.1))
    assert score.reached == 1 and score.progress == 0.5


def test_stages_of_a_meaning_are_those_written_out() -> None:
    for task in ("primitive/pick_cube", "control/stack_cube"):
        situation = TASKS[task].situation(0)
        derived = stages_for(situation.instruction.meaning, situation.scene)
        assert [set(_parts(stage)) for stage in derived] == [set(_parts(stage)) for stage in situation.stages]


def _parts(stage: Stage | Condition) -> tuple[Condition, ...]:
    (condition,) = Stage.of(stage).alternatives
    parts: tuple[Condition, ...] = getattr(condition, "parts", (condition,))
    return parts
