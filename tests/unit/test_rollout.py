"""The rollout at the trial boundary: malformed actions, errors, instructions, rates, chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from robodx.language.meaning import pick
from robodx.language.phrasing import say
from robodx.policies.base import ActionChunk, CameraRequest, EpisodeStart, Observation, PolicySpec, make_policy
from robodx.running.environment import Environment, Unfit
from robodx.running.rollout import rollout
from robodx.running.trial import Trial
from robodx.scoring.contact import Grasped
from robodx.scoring.events import NewInstruction, at
from robodx.sim.objects import cube
from robodx.sim.scene import tabletop
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
    return Trial(task, 1, "scripted", seed)


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


def test_too_few_chunks_are_an_error() -> None:
    policy = Scripted(lambda step: HOLD)
    policy.act = lambda observations: []  # type: ignore[method-assign]
    ((episode, _),) = rollout([trial()], policy)
    assert episode.outcome == "error" and "returned 0" in (episode.error or "")


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
    assert [told.text for told in episode.instructions] == ["Pick up the red cube.", "Pick up the blue cube."]
    assert episode.instructions[1].step == 10


def test_commands_beyond_the_limits_are_logged_and_stay_finite() -> None:
    wild = np.array([[1e6, -1e6, 1e6, 50, 50, 50, 9]], dtype=np.float32)
    ((episode, trajectory),) = rollout([trial()], Scripted(lambda step: HOLD if step == 0 else wild))
    assert episode.outcome == "timeout" and episode.limit_steps == episode.steps - 1
    assert {"step length", "step turn", "gripper"} <= {e.object for e in episode.events if e.kind == "limit"}
    assert trajectory is not None and np.isfinite(trajectory.qpos).all()
