"""What changes in the adaptability tasks: when, by how much, and that it must be heeded."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from robodx.experts.skills import Hand, Steps, reach
from robodx.language.meaning import Meaning, pick, release
from robodx.language.phrasing import say
from robodx.language.reference import resolve
from robodx.policies.expert import ExpertPolicy, privileged, to_action
from robodx.policy_contract import Observation, PolicySpec, make_policy
from robodx.records.episode import Episode
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.rollout import rollout
from robodx.running.rounds import is_applicable
from robodx.scoring.conditions import After
from robodx.scoring.events import Event, Move, NewInstruction
from robodx.scoring.from_meaning import looks, stages_for
from robodx.sim.geometry import Pose
from robodx.sim.objects import cube, sphere
from robodx.sim.scene import tabletop
from robodx.tasks.base import TASKS, Situation, Task
from robodx.tasks.perception import VIVID

MOVED, OTHER, RELEASED = (
    f"adaptability/{name}" for name in ("pick_moved_cube", "pick_other_cube", "lift_then_release")
)
SEEDS = range(50)


class Late(ExpertPolicy):
    """The expert, but for so many steps it goes on doing what it was told at first."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self._steps = steps
        self._first: dict[str, Meaning] = {}

    def meaning(self, observation: Observation) -> Meaning:
        update = privileged(observation).meaning
        first = self._first.setdefault(observation.episode_id, update)
        return first if observation.step < self._steps else update


class Listening(ExpertPolicy):
    """The expert, which notes what it is told and when."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[int, str]] = []

    def meaning(self, observation: Observation) -> Meaning:
        self.heard.append((observation.step, observation.instruction))
        return super().meaning(observation)


def episodes(task: str, policy: ExpertPolicy, seeds: int = 2) -> list[Episode]:
    return [
        episode
        for episode, _ in rollout([Trial(task, TASKS[task].version, "expert", seed) for seed in range(seeds)], policy)
    ]


def environment(task: str = MOVED) -> Environment:
    return Environment(Trial(task, TASKS[task].version, "still", 0), PolicySpec(action_space="ee_pose"))


def step(environment: Environment, skill: Callable[[Hand], Steps], steps: int) -> None:
    """Carry a skill out, and then wait, for so many steps in all."""
    world = environment.world
    hand = Hand(world.tool(), world.opening(), 0.05, world.tool(), name=world.hands[0])
    waypoints = skill(hand)
    for _ in range(steps):
        environment.accept(to_action(world.base, next(waypoints, None) or hand.stay())[None], 0.0)
        environment.step()
        hand.tool, hand.opening = world.tool(), world.opening()


def wait(hand: Hand) -> Steps:
    yield hand.stay()


def the_move(seed: int) -> tuple[Event, Move]:
    (event,) = TASKS[MOVED].situation(seed).events
    assert isinstance(event.effect, Move)
    return event, event.effect


def first_and_second(seed: int) -> list[str]:
    """The cubes that the words of `pick_other_cube` name, one after the other."""
    situation = TASKS[OTHER].situation(seed)
    (event,) = situation.events
    assert isinstance(event.effect, NewInstruction)
    seen = looks(situation.scene)
    said = (situation.instruction, event.effect.instruction)
    return [resolve(clause.target, seen) for each in said for clause in each.meaning.decided(seen)]


def test_any_colour_is_asked_for_first_and_any_other_then() -> None:
    firsts, seconds = zip(*(first_and_second(seed) for seed in SEEDS), strict=True)
    assert len(set(firsts)) == len(set(seconds)) == len(VIVID)
    assert all(first != second for first, second in zip(firsts, seconds, strict=True))


def test_the_cube_moves_4_to_8_cm_along_the_table_in_any_direction_at_step_20() -> None:
    moves = [the_move(seed) for seed in SEEDS]
    assert all(event.when == After(1.0) for event, _ in moves)
    distances = [math.hypot(*move.by) for _, move in moves]
    assert 0.04 <= min(distances) < 0.045 and 0.075 < max(distances) <= 0.08
    assert all(move.by[2] == 0.0 for _, move in moves)
    assert len({(move.by[0] > 0, move.by[1] > 0) for _, move in moves}) == 4


def test_it_stays_where_it_was_until_then_and_rests_where_it_moved_to() -> None:
    moved = environment()
    _, move = the_move(0)
    start = moved.world.position("cube")
    step(moved, wait, 19)
    assert math.dist(start, moved.world.position("cube")) < 1e-3
    step(moved, wait, 1)
    goal = [place + by for place, by in zip(start, move.by, strict=True)]
    assert moved.world.position("cube") == pytest.approx(goal, abs=1e-4)
    step(moved, wait, 20)
    assert moved.world.position("cube") == pytest.approx(goal, abs=1e-3)
    assert [entry.step for entry in moved.world.log.entries if entry.kind == "event"] == [20]


def test_a_cube_that_is_held_does_not_move() -> None:
    held = environment()

    def close(hand: Hand) -> Steps:
        hand.grip = 0.0
        for _ in range(10):
            # Into the hand, until the fingers have closed on it.
            if not held.world.is_grasped("cube"):
                held.simulation.set_pose("cube", Pose(held.world.tool().position))
            yield hand.stay()

    step(held, close, 25)
    assert held.world.is_grasped("cube") and held.world.log.count("event") == 0


def test_a_cube_does_not_move_into_the_hand() -> None:
    approached = environment()
    _, move = the_move(0)
    x, y, _ = approached.world.pose("cube").shifted(*move.by).position
    goal = Pose((x, y, 0.06), approached.world.tool().quaternion)
    step(approached, lambda hand: reach(hand, lambda: goal, speed_m_s=1.0), 25)
    assert approached.world.log.count("event") == 0 and approached.world.log.first_touched is None


def test_the_expert_follows_the_cube_and_a_blind_plan_does_not() -> None:
    assert all(episode.success for episode in episodes(MOVED, ExpertPolicy()))
    blind = make_policy("open_loop")
    assert isinstance(blind, ExpertPolicy)
    assert not any(episode.success for episode in episodes(MOVED, blind))


def test_the_update_is_logged_and_reaches_the_policy_at_its_next_query() -> None:
    policy = Listening()
    (episode,) = episodes(OTHER, policy, 1)
    texts = [f"Pick up the {name}." for name in first_and_second(0)]
    assert [(update.step, update.text) for update in episode.instructions] == [(0, texts[0]), (10, texts[1])]
    assert [(entry.step, entry.object) for entry in episode.events if entry.kind == "instruction"] == [(10, texts[1])]
    assert all(text == texts[step >= 10] for step, text in policy.heard) and policy.heard[10][0] == 10


def test_release_is_said_when_the_cube_is_lifted_and_not_before() -> None:
    for episode in episodes(RELEASED, ExpertPolicy()):
        first, second = episode.instructions
        assert (first.text, second.text) == ("Pick up the cube.", "Release the cube.")
        assert second.step == episode.stage_steps[1] < episode.stage_steps[2]
        assert episode.success and episode.drops == 0, "letting go when told is no drop"
    waiting = environment(RELEASED)
    step(waiting, wait, 40)
    assert len(waiting.instruction_updates) == 1


@pytest.mark.parametrize("task", [OTHER, RELEASED])
def test_who_ignores_the_update_fails(task: str) -> None:
    for episode in episodes(task, Late(steps=1000)):
        assert (episode.outcome, episode.success) == ("timeout", False)
        assert len(episode.instructions) == 2, "it was told"


def test_lifting_the_first_cube_before_the_second_is_no_failure() -> None:
    (episode,) = episodes(OTHER, Late(steps=45), 1)
    lifted = [entry.object for entry in episode.events if entry.kind == "grasp"]
    assert lifted == first_and_second(0) and episode.success


@pytest.mark.parametrize(("task", "expected"), [(MOVED, True), (OTHER, False), (RELEASED, False)])
def test_what_only_words_tell_is_not_for_a_policy_without_language(task: str, expected: bool) -> None:
    assert is_applicable(task, PolicySpec(uses_language=False)) is expected
    assert is_applicable(task, PolicySpec())


def test_release_lets_go_only_of_what_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = tabletop(cube("red").at(-0.1, 0.1), sphere("blue").at(-0.1, -0.1))
    held = {}
    for words in ("red cube", "blue sphere"):
        instruction = say(pick("red cube"), release(words))
        situation = Situation(scene, instruction, (stages_for(say(release("red cube")).meaning, scene)))
        task = Task("test/release", lambda streams, it=situation: it, "test", None, (), (), 5.0, 1.0, 1, None, "")  # type: ignore[misc]
        monkeypatch.setitem(TASKS._entries, task.id, task)
        ((episode, _),) = rollout([Trial(task.id, 1, "expert", 0)], ExpertPolicy())
        held[words] = not episode.success
    assert held == {"red cube": False, "blue sphere": True}
