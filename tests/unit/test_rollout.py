"""The rollout at the trial boundary: malformed actions, errors, instructions, rates, chunks."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from robodx.errors import Stop, UserError
from robodx.language.meaning import Clause, insert, pick, press, put
from robodx.language.phrasing import say
from robodx.policy_contract import ActionChunk, CameraRequest, EpisodeStart, Observation, PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.registry import UnknownName
from robodx.running.environment import Environment
from robodx.running.fit import Unfit
from robodx.running.rollout import rollout
from robodx.scoring.contact import Grasped, Released
from robodx.scoring.events import Appear, Event, Move, NewInstruction, SwapColours, at
from robodx.scoring.relations import Lifted, Near, On
from robodx.sim.geometry import Pose
from robodx.sim.objects import bowl, cube
from robodx.sim.scene import Region, tabletop
from robodx.spaces import InvalidAction
from robodx.streams import Streams
from robodx.tasks.base import TASKS, Situation, Task

HOLD = np.array([[0, 0, 0, 0, 0, 0, 1]], dtype=np.float32)


class Scripted:
    """Replies with what a function of the step says."""

    def __init__(self, reply: Callable[[int], ActionChunk], **spec: object) -> None:
        self.spec = PolicySpec(**spec)  # type: ignore[arg-type]
        self.reply = reply
        self.seen: list[Observation] = []

    def reset(self, starts: Sequence[EpisodeStart]) -> None: ...

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        self.seen += observations
        return [self.reply(observation.step) for observation in observations]

    def finish(self, ids: Sequence[str]) -> None: ...


def trial(task: str = "primitive/pick_cube", seed: int = 0) -> Trial:
    return Trial(task, TASKS[task].version, "scripted", seed)


def bad_at(step: int, bad: ActionChunk) -> Callable[[int], ActionChunk]:
    return lambda now: bad if now == step else HOLD


NAN = np.array([[0, np.nan, 0, 0, 0, 0, 1]], dtype=np.float32)
WIDE = np.zeros((1, 8), dtype=np.float32)


@pytest.mark.parametrize(
    ("bad", "quoted"),
    [
        (NAN, "not finite at index [1]"),
        (np.full_like(HOLD, np.inf), "not finite"),
        (WIDE, "shape (8,), but ee_delta on panda takes (7,)"),
        (HOLD[0], "chunk of shape (7,)"),
        (HOLD[:0], "at least one action"),
        (np.array([["left"] * 7]), "not numbers"),
    ],
)
def test_a_malformed_action_after_a_valid_one_is_a_failure_with_the_numbers(bad: ActionChunk, quoted: str) -> None:
    ((episode, trajectory),) = rollout([trial()], Scripted(bad_at(5, bad)))
    assert (episode.outcome, episode.failure_kind, episode.steps) == ("failure", "invalid_action", 5)
    assert episode.error is not None and quoted in episode.error and "at step 5" in episode.error
    assert trajectory is not None and len(trajectory.actions) == 5


def test_a_malformed_first_reply_is_an_error_and_no_failure() -> None:
    ((episode, _),) = rollout([trial()], Scripted(bad_at(0, NAN)))
    assert episode.outcome == "error"
    assert episode.error is not None and "first reply" in episode.error and "nan" in episode.error


def test_a_bad_action_late_in_a_chunk_executes_nothing_of_it() -> None:
    chunk = np.concatenate([HOLD, HOLD, NAN])
    ((episode, _),) = rollout([trial()], Scripted(lambda step: HOLD if step == 0 else chunk))
    assert (episode.outcome, episode.steps) == ("failure", 1)


def test_a_quaternion_without_direction_is_an_invalid_action() -> None:
    pose = np.array([[0.4, 0, 0.4, 0, 1, 0, 0, 1]], dtype=np.float32)
    nowhere = np.array([[0.4, 0, 0.4, 0, 0, 0, 0, 1]], dtype=np.float32)
    ((episode, _),) = rollout([trial()], Scripted(lambda s: nowhere if s == 3 else pose, action_space="ee_pose"))
    assert (episode.outcome, episode.failure_kind, episode.steps) == ("failure", "invalid_action", 3)
    ((first, _),) = rollout([trial()], Scripted(lambda s: nowhere, action_space="ee_pose"))
    assert first.outcome == "error"


def test_an_exception_in_the_policy_ends_that_trial_only() -> None:
    def reply(step: int) -> ActionChunk:
        raise ConnectionError("the server went away")

    policy = Scripted(reply)
    episodes = [episode for episode, _ in rollout([trial(seed=0), trial(seed=1)], policy)]
    assert [episode.outcome for episode in episodes] == ["error", "error"]
    assert all("the server went away" in (episode.error or "") for episode in episodes)


@pytest.mark.parametrize("method", ["reset", "act", "finish"])
@pytest.mark.parametrize("thrown", [ValueError("boom"), SystemExit(3)])
def test_whatever_a_policy_throws_costs_only_that_trial(method: str, thrown: BaseException) -> None:
    policy = Scripted(lambda step: np.repeat(HOLD, 400, axis=0))
    works = getattr(policy, method)

    def fails_once(arguments: Sequence[object]) -> object:
        setattr(policy, method, works)
        raise thrown

    setattr(policy, method, fails_once)
    outcomes = [episode.outcome for episode, _ in rollout([trial(seed=0), trial(seed=1)], policy)]
    assert outcomes == ["error", "timeout"]


def test_a_policy_that_fails_on_one_observation_costs_the_batch_only_that_episode() -> None:
    bad = trial(seed=1).id

    class Picky(Scripted):
        def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
            if any(observation.episode_id == bad for observation in observations):
                raise ValueError("not this one")
            return super().act(observations)

    trials = [trial(seed=seed) for seed in range(3)]
    outcomes = {
        episode.seed: episode.outcome
        for episode, _ in rollout(trials, Picky(lambda step: np.repeat(HOLD, 400, axis=0)), batch=3)
    }
    assert outcomes == {0: "timeout", 1: "error", 2: "timeout"}


@pytest.mark.parametrize("batch", [1, 2])
def test_an_exception_in_place_of_a_chunk_ends_that_episode_alone(batch: int) -> None:
    class Remote(Scripted):
        def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:  # type: ignore[override]
            self.seen += observations
            broken: dict[str, Exception] = {
                trials[0].id: ConnectionError("gone"), trials[1].id: InvalidAction("numbers that are none")
            }  # fmt: skip
            return [broken.get(one.episode_id, HOLD) if one.step else HOLD for one in observations]

    trials = [trial(seed=seed) for seed in range(4)]
    policy = Remote(lambda step: HOLD)
    ended = {finished.episode.seed: finished.episode for finished in rollout(trials, policy, batch=batch)}
    assert [ended[seed].outcome for seed in range(4)] == ["error", "failure", "timeout", "timeout"]
    assert "ConnectionError: gone" in (ended[0].error or "")
    assert ended[1].failure_kind == "invalid_action" and "numbers that are none" in (ended[1].error or "")
    asked = [(one.episode_id, one.step) for one in policy.seen]
    assert len(set(asked)) == len(asked), "nothing is asked twice"


@pytest.mark.parametrize("batch", [1, 2])
def test_what_ends_the_run_is_no_error_of_an_episode(batch: int) -> None:
    def reply(step: int) -> ActionChunk:
        raise Stop("the server is gone for good")

    with pytest.raises(Stop, match="gone for good"):
        list(rollout([trial()], Scripted(reply), batch=batch))


def test_an_episode_is_freed_when_it_ends() -> None:
    environment = Environment(trial(), PolicySpec(state=("ee_pose",)))
    environment.observe()
    environment.accept(HOLD, 0.0)
    environment.step()
    parts = [weakref.ref(part) for part in (environment, environment.simulation, environment.world)]
    environment.close()
    gc.disable()
    try:
        del environment
        assert [part() for part in parts] == [None] * 3, "a model must not wait for Python to collect circles"
    finally:
        gc.enable()


def test_a_policy_may_write_every_reply_into_the_same_memory() -> None:
    environment = Environment(trial(), PolicySpec())
    chunk = np.zeros((2, 7), dtype=np.float32)
    environment.accept(chunk, 0.0)
    chunk[:] = 0.05
    environment.step()
    assert not environment.trajectory().actions.any()


def test_a_trajectory_taken_on_the_way_stays_as_it_was() -> None:
    environment = Environment(trial(), PolicySpec(state=()))
    environment.accept(HOLD, 0.0)
    environment.step()
    early = environment.trajectory()
    environment.accept(HOLD, 0.0)
    environment.step()
    late = environment.trajectory()
    assert (len(early.qpos), len(late.qpos)) == (2, 3) and (len(early.commands), len(late.commands)) == (1, 2)
    assert np.array_equal(early.qpos, late.qpos[:2]) and np.array_equal(early.tool_in_world, late.tool_in_world[:2])


def test_too_few_chunks_are_an_error() -> None:
    policy = Scripted(lambda step: HOLD)
    policy.act = lambda observations: []  # type: ignore[method-assign]
    ((episode, _),) = rollout([trial()], policy)
    assert episode.outcome == "error" and "act returned a list of 0" in (episode.error or "")


def test_an_unknown_camera_is_refused_before_the_first_step() -> None:
    with pytest.raises(Unfit, match="asks for the camera frnt, but panda in this scene has: front, left"):
        Environment(trial(), PolicySpec(cameras=(CameraRequest("frnt"),)))


def test_a_chunk_is_executed_whole_or_up_to_replan() -> None:
    chunk = np.repeat(HOLD, 10, axis=0)
    for replan, queries in ((None, 40), (4, 100)):
        policy = Scripted(lambda step: chunk, replan=replan)
        list(rollout([trial()], policy))
        assert len(policy.seen) == queries


@pytest.mark.parametrize("hz", [5, 15, 20, 60])
def test_time_is_kept_at_any_rate(hz: float) -> None:
    ((episode, trajectory),) = rollout([trial()], Scripted(lambda step: HOLD, hz=hz))
    assert episode.steps == 20 * hz
    assert trajectory is not None and trajectory.time_s[-1] == pytest.approx(20.0, abs=0.002)


def test_an_observation_holds_only_what_was_asked_for() -> None:
    policy = Scripted(lambda step: NAN, state=("ee_pose",), cameras=(CameraRequest("wrist", 32, 48, depth=True),))
    list(rollout([trial()], policy))
    (seen,) = policy.seen
    assert list(seen.state) == ["ee_pose"] and seen.state["ee_pose"].dtype == np.float32
    assert seen.images["wrist"].shape == (32, 48, 3) and seen.depth["wrist"].shape == (32, 48)
    assert not seen.segmentation and seen.privileged is None


def test_a_new_instruction_reaches_the_policy_and_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def situate(streams: Streams) -> Situation:
        return Situation(
            tabletop(cube("red").at(-0.1, 0.1), cube("blue").at(-0.1, -0.1)),
            say(pick("red cube")),
            (Grasped("blue cube"),),
            events=(at(0.5, NewInstruction(say(pick("blue cube")))),),
        )

    task = Task("test/update", situate, "test", None, (), (), 10.0, 1.0, 1, None, "")
    monkeypatch.setitem(TASKS._entries, task.id, task)
    ((episode, _),) = rollout([Trial(task.id, 1, "expert", 0)], make_policy("expert"))
    assert episode.success, "the expert follows the words it was last given"
    assert [update.text for update in episode.instructions] == ["Pick up the red cube.", "Pick up the blue cube."]
    assert episode.instructions[1].step == 10


def small_task(monkeypatch: pytest.MonkeyPatch, situation: Situation) -> Trial:
    task = Task("test/small", lambda streams: situation, "test", None, (), (), 10.0, 1.0, 1, None, "")
    monkeypatch.setitem(TASKS._entries, task.id, task)
    return Trial(task.id, 1, "expert", 0)


CUBES = (cube("red").at(-0.1, 0.1), cube("blue").at(-0.1, -0.1))


def test_the_expert_means_what_looks_like_it_now(monkeypatch: pytest.MonkeyPatch) -> None:
    swap = at(0.5, SwapColours("red cube", "blue cube"))
    situation = Situation(tabletop(*CUBES), say(pick("red cube")), (Grasped("blue cube"),), events=(swap,))
    ((episode, _),) = rollout([small_task(monkeypatch, situation)], make_policy("expert"))
    assert episode.success


def test_the_expert_waits_for_what_is_not_there_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = tabletop(CUBES[1], cube("red").parked())
    appear = at(1.0, Appear("red cube", Pose((-0.1, 0.1, 0.02))))
    situation = Situation(scene, say(pick("red cube")), (Grasped("red cube"),), events=(appear,))
    ((episode, _),) = rollout([small_task(monkeypatch, situation)], make_policy("expert"))
    assert episode.success


def test_the_expert_does_not_do_what_is_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    forbidden = say(replace(pick("red cube"), is_negated=True))
    situation = Situation(tabletop(*CUBES), forbidden, (Grasped("red cube"),))
    ((episode, _),) = rollout([small_task(monkeypatch, situation)], make_policy("expert"))
    assert (episode.outcome, episode.first_touched) == ("timeout", None)


@pytest.mark.parametrize(
    "clause",
    [press("red cube"), put("red cube", "in", "blue cube"), insert("red cube", "blue cube"), pick("bowl")],
    ids=lambda clause: say(clause).text,
)
def test_the_expert_stands_still_where_a_thing_lacks_what_is_asked_of_it(
    monkeypatch: pytest.MonkeyPatch, clause: Clause
) -> None:
    situation = Situation(tabletop(*CUBES, bowl("white").at(0.05, 0.0)), say(clause), (Grasped("red cube"),))
    ((episode, _),) = rollout([small_task(monkeypatch, situation)], make_policy("expert"))
    assert (episode.outcome, episode.error, episode.first_touched) == ("timeout", None, None)


def test_the_expert_takes_again_what_it_lost_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    stolen = Event(Lifted("red cube", 0.12) & Near("red cube", "blue cube", 0.24), Move("red cube", (0.0, 0.1, -0.12)))
    situation = Situation(
        tabletop(*CUBES),
        say(put("red cube", "on", "blue cube")),
        (Released("red cube") & On("red cube", "blue cube"),),
        events=(stolen,),
    )
    ((episode, _),) = rollout([small_task(monkeypatch, situation)], make_policy("expert"))
    assert [event.kind for event in episode.events].count("event") == 1
    assert episode.success and episode.limit_steps == 0


def test_another_version_of_a_task_is_not_run() -> None:
    trial = Trial("primitive/pick_cube", 99, "still", 0)
    for run in (lambda: Environment(trial, PolicySpec()), lambda: list(rollout([trial], make_policy("still")))):
        with pytest.raises(UserError, match="at version 2, but the trial is of 99"):
            run()


def test_a_trial_refuses_what_it_cannot_mean() -> None:
    with pytest.raises(UserError, match='No clock "banana"'):
        Trial("primitive/pick_cube", 2, "still", 0, clock="banana")
    with pytest.raises(UserError, match="applied twice"):
        Trial("primitive/pick_cube", 2, "still", 0, perturbations=(("frame_drop", 0.1), ("frame_drop", 0.2)))
    one, other = (Trial("primitive/pick_cube", 2, "still", 0, perturbations=(("a", level),)) for level in (1, 1.0))
    assert one.id == other.id
    with pytest.raises(UnknownName, match=r'No action space "ee_dlta"\. Did you mean "ee_delta"'):
        PolicySpec(action_space="ee_dlta")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="asked for twice: front, front"):
        PolicySpec(cameras=(CameraRequest("front"), CameraRequest("front", 64, 64)))
    with pytest.raises(ValueError, match="seed -1"):
        Trial("primitive/pick_cube", 2, "still", -1)
    with pytest.raises(ValueError, match="at least 1 action"):
        PolicySpec(replan=0)
    with pytest.raises(ValueError, match="0×128"):
        CameraRequest("front", height=0)


def test_where_things_lie_is_independent_of_what_a_task_draws_from_the_same_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def situate(streams: Streams) -> Situation:
        drawn.append(streams.rng("layout").uniform(-0.2, 0.0))
        scene = tabletop(cube("red").within(Region(x=(-0.2, 0.0), y=(0.0, 0.1))))
        return Situation(scene, say(pick("red cube")), (Grasped("red cube"),))

    drawn: list[float] = []
    task = Task("test/drawn", situate, "test", None, ("layout",), (), 10.0, 1.0, 1, None, "")
    monkeypatch.setitem(TASKS._entries, task.id, task)
    environment = Environment(Trial(task.id, 1, "still", 0), PolicySpec())
    assert abs(environment.world.position("red cube")[0] - drawn[0]) > 1e-3


def test_commands_beyond_the_limits_are_logged_and_stay_finite() -> None:
    wild = np.array([[1e6, -1e6, 1e6, 50, 50, 50, 9]], dtype=np.float32)
    ((episode, trajectory),) = rollout([trial()], Scripted(lambda step: HOLD if step == 0 else wild))
    assert episode.outcome == "timeout" and episode.limit_steps == episode.steps - 1
    assert {"step length", "step turn", "gripper"} <= {e.object for e in episode.events if e.kind == "limit"}
    assert trajectory is not None and np.isfinite(trajectory.qpos).all()
