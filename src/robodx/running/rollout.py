"""The rollout: a batch of environments and one policy, with one episode out for each trial.

While the policy infers for one half of the batch, in a thread of its own, the other half is stepped.
"""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from robodx.analysis import motion
from robodx.analysis.attribution.cause import attribute, first_mistake, quality_flags, slips
from robodx.analysis.episode_facts import EpisodeFacts
from robodx.analysis.metrics.quantities import measured
from robodx.policy_contract import MinimalPolicy, Observation, Policy, completed, refined_instruction, replies
from robodx.records.episode import Episode, Evidence, Happening, Outcome
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.episode_facts import facts_of, hand_axes
from robodx.running.observers import EpisodeObserver, Finished
from robodx.running.policy_channel import Answer, PolicyChannel, ThreadedPolicyChannel
from robodx.sim.geometry import Array
from robodx.situations import requirements
from robodx.situations.attributes import attributes
from robodx.tasks.base import TASKS
from robodx.users_code import contained, users_place

# What a policy or a simulation may throw without ending the run; Ctrl-C is not among it.
FAILURES = (Exception, SystemExit)


def rollout(
    trials: Iterable[Trial],
    policy: MinimalPolicy,
    *,
    batch: int = 1,
    quality: str = "fast",
    attempt: int = 1,
    observers: Sequence[EpisodeObserver] = (),
) -> Iterator[Finished]:
    """Execute the trials, at most `batch` at a time, and yield each as it ends.

    An exception inside a trial ends that trial as an `error` with its traceback, and no other. From a batch of 2 on,
    all calls of the policy come from one thread, one after the other; the simulator stays in the caller's.
    """
    waiting = deque(trials)
    for trial in waiting:
        TASKS[trial.task].check_version(trial.task_version)
    channel = ThreadedPolicyChannel() if batch > 1 else PolicyChannel()
    live = _Batch(completed(policy), channel, quality, attempt, observers)
    try:
        while waiting or live.is_busy or live.suspects:
            if live.suspects and not (waiting or live.is_busy):
                # One at a time: this one is then asked alone.
                waiting.append(live.suspects.popleft())
            can_open = waiting and len(live.episodes) < batch
            finished = None
            if channel.has_answer or not (can_open or live.ready):
                finished = live.take_answer()
            elif can_open:
                finished = live.open(waiting.popleft())
            else:
                live.advance()
            live.ask(min(batch, len(live.episodes) + len(waiting)))
            if finished is not None:
                yield finished
    finally:
        channel.close()
        for one in live.episodes:
            one.environment.close()


@dataclass(eq=False)
class _Live:
    """An episode under way."""

    environment: Environment
    started_s: float
    # What it asks with, as long as it has no answer.
    observation: Observation | None = None
    wall_s: float = 0.0
    error: str | None = None


class _Batch:
    """The live episodes. Each is either ready to be stepped, or asking, or in a call of the policy: never two of it."""

    def __init__(
        self, policy: Policy, channel: PolicyChannel, quality: str, attempt: int, observers: Sequence[EpisodeObserver]
    ) -> None:
        self._policy, self._channel, self._quality, self._attempt = policy, channel, quality, attempt
        self._observers = observers
        # Most watch no steps, of which there are many.
        unwatched = EpisodeObserver.after_step
        self._after_step = [one.after_step for one in observers if type(one).after_step is not unwatched]
        self.episodes: list[_Live] = []
        # Those with actions to execute.
        self.ready: deque[_Live] = deque()
        self._asking: deque[_Live] = deque()
        # Trials of calls that failed for several: they are run anew when all others are done.
        self.suspects: deque[Trial] = deque()
        # What is to be done with the answers still to come, in their order.
        self._awaited: deque[Callable[[Answer], Finished | None]] = deque()

    @property
    def is_busy(self) -> bool:
        return bool(self.episodes or self._awaited)

    def open(self, trial: Trial) -> Finished | None:
        started_s = time.perf_counter()
        try:
            with _contained(trial):
                environment = Environment(trial, self._policy.spec, quality=self._quality)
                for observer in self._observers:
                    observer.before_episode(environment)
                start = environment.start()
        except FAILURES as error:
            wall_s = time.perf_counter() - started_s
            return self._shown(trial, Finished(lost(trial, _text(error), self._attempt, wall_s), None))
        one = _Live(environment, started_s)
        self.episodes.append(one)
        self._call(self._policy.reset, [start], partial(self._opened, one))
        return None

    def advance(self) -> None:
        """Step one episode as far as its actions go. One after the other, so that half of them soon ask again."""
        one = self.ready.popleft()
        environment = one.environment
        try:
            with _contained(environment.trial):
                while not (environment.needs_chunk or environment.is_done):
                    environment.step()
                    for after_step in self._after_step:
                        after_step(environment)
        except FAILURES as error:
            one.error = _text(error)
        self._go_on(one)

    def ask(self, slots: int) -> None:
        """Ask for half of the slots as soon as so many want a chunk, whichever they are: calls do not fall to pieces.

        A call may stand in line behind that for the other half, so that the policy goes from one to the next without a
        pause. Nobody waits in vain: when none is ready and none is in a call, all are asking.
        """
        half = (slots + 1) // 2
        while self._asking and len(self._asking) >= half:
            self._ask([self._asking.popleft() for _ in range(half)])

    def take_answer(self) -> Finished | None:
        """Wait for the next answer of the policy, and go on with those it was for."""
        answer = self._channel.answer()
        if answer.error is not None and not isinstance(answer.error, FAILURES):
            raise answer.error
        return self._awaited.popleft()(answer)

    def _call(
        self,
        method: Callable[[Any], object],
        argument: Sequence[object],
        then: Callable[[Answer], Finished | None],
    ) -> None:
        self._awaited.append(then)
        self._channel.call(method, argument)

    def _ask(self, group: list[_Live]) -> None:
        self._call(partial(replies, self._policy), [one.observation for one in group], partial(self._answered, group))

    def _opened(self, one: _Live, answer: Answer) -> Finished | None:
        if answer.error is None:
            self._go_on(one)
            return None
        one.error = _text(answer.error)
        self._leave(one)
        return self._record(one)

    def _answered(self, group: list[_Live], answer: Answer) -> None:
        if answer.error is not None and len(group) > 1:
            # One of them is the cause. But the policy may have moved on with some of the others, which cannot be asked
            # again: all begin anew, each by itself, and only the one that is the cause errs again.
            for one in group:
                self._leave(one)
                self.suspects.append(one.environment.trial)
                self._call(self._policy.finish, [one.environment.trial.id], lambda _: None)
            return
        declared_s = self._policy.spec.latency_s
        for index, one in enumerate(group):
            one.observation = None
            if answer.error is not None:
                one.error = _text(answer.error)
            else:
                try:
                    seconds = answer.seconds if declared_s is None else declared_s
                    with _contained(one.environment.trial):
                        one.environment.world.note_refined(refined_instruction(self._policy, one.environment.trial.id))
                        one.environment.accept(answer.value[index], seconds)
                except FAILURES as error:
                    one.error = _text(error)
            self._go_on(one)

    def _go_on(self, one: _Live) -> None:
        """Where an episode stands after something happened to it."""
        environment = one.environment
        if one.error is None and environment.needs_chunk and environment.is_handed_over:
            # To the policy an episode begins here: it has not seen what led to this, nor done it.
            self._call(self._policy.finish, [environment.trial.id], lambda _: None)
            self._call(self._policy.reset, [environment.start()], partial(self._opened, one))
            return
        if one.error is None and environment.needs_chunk:
            try:
                with _contained(environment.trial):
                    one.observation = environment.observe()
                    for observer in self._observers:
                        observer.before_query(environment, one.observation)
            except FAILURES as error:
                one.error = _text(error)
        if one.error is not None or environment.is_done:
            self._leave(one)
            self._call(self._policy.finish, [environment.trial.id], partial(self._ended, one))
        elif one.observation is not None:
            self._asking.append(one)
        else:
            self.ready.append(one)

    def _leave(self, one: _Live) -> None:
        """Free its slot."""
        self.episodes.remove(one)
        one.wall_s = time.perf_counter() - one.started_s
        try:
            one.environment.close()
        except FAILURES as error:
            one.error = one.error or _text(error)

    def _ended(self, one: _Live, answer: Answer) -> Finished:
        if answer.error is not None:
            one.error = one.error or _text(answer.error)
        return self._record(one)

    def _record(self, one: _Live) -> Finished:
        trial = one.environment.trial
        finished = None
        if one.error is None:
            try:
                with _contained(trial):
                    finished = _finished(one.environment, self._attempt, one.wall_s)
            except FAILURES as error:
                one.error = _text(error)
        if finished is None:
            finished = Finished(lost(trial, one.error or "", self._attempt, one.wall_s), None)
        return self._shown(trial, finished)

    def _shown(self, trial: Trial, finished: Finished) -> Finished:
        for observer in self._observers:
            finished = observer.after_episode(trial, finished)
        return finished


def _contained(trial: Trial) -> contained:
    """What runs beside the policy may be a user's too: tasks, perturbations, conditions, recorded quantities."""
    return contained(f"code of the task {trial.task}, of its perturbations or of a recorded quantity")


def _text(error: BaseException) -> str:
    """With its traceback; the last line is what is counted and shown."""
    lines = traceback.format_exception(error)
    if type(error).__module__.startswith("robodx."):
        # Our own say it all; where in RoboDx they are declared tells nobody anything.
        return "".join([*lines[:-1], str(error)])
    if isinstance(error, BaseExceptionGroup):
        # Of a group Python prints those in it last.
        lines.append(f"{type(error).__name__}: {error}\n")
    place = users_place(error)
    return "".join(lines).rstrip("\n") + (f" ({place})" if place else "") + "\n"


def _finished(environment: Environment, attempt: int, wall_s: float) -> Finished:
    score, log, trajectory = environment.score, environment.world.log, environment.trajectory()
    facts = facts_of(environment, trajectory)
    outcome: Outcome = "timeout"
    if score.is_success:
        outcome = "success"
    elif environment.invalid_action is not None or score.broken is not None:
        outcome = "failure"
    cause, mistake = (None, None) if outcome == "success" else (attribute(facts), first_mistake(facts))
    forces = [entry.value for entry in log.entries if entry.kind == "collision"]
    posed, period_s = environment.robot.posed, facts.period_s
    percentiles = _percentiles_ms(trajectory.inference_s)
    scene, colours, meanings = environment.simulation.scene, environment.simulation.colours, environment.meanings
    cameras = environment.spec.cameras
    episode = _record(environment.trial, attempt, wall_s)(
        outcome=outcome,
        success=outcome == "success",
        progress=score.progress,
        stages=len(score.stages),
        stages_reached=score.reached,
        stage_steps=tuple(score.stage_steps),
        steps=environment.simulation.step_count,
        instructions=tuple(environment.instruction_updates),
        events=tuple(Happening(e.step, e.time_s, e.kind, e.object, e.other, e.value) for e in log.entries),
        first_touched=log.first_touched,
        requirements=requirements.requirements(meanings, scene, environment.events, environment.task.varies),
        target=requirements.target(meanings[-1], scene),
        attributes=attributes(
            replace(environment.first_instruction, meaning=meanings[0]),
            scene,
            cameras,
            environment.events,
            environment.waits,
        ),
        mistaken=(
            requirements.mistaken(
                meanings[-1], requirements.as_coloured(scene, colours), mistake.object, _asked_for(facts)
            )
            if mistake is not None
            else ()
        ),
        failure_kind=cause and cause.kind,
        failure_type=cause and cause.type,
        failure_evidence=cause and Evidence(cause.step, cause.object, cause.condition, cause.says),
        quality_flags=quality_flags(facts),
        error=environment.invalid_action,
        trajectory_hash=trajectory.digest(),
        duration_s=environment.simulation.time_s,
        path_length_m=motion.path_length_m(facts.tools),
        mean_squared_jerk=motion.mean_squared_jerk(facts.tools, facts.times_s),
        sparc=motion.sparc(facts.tools, period_s),
        stability=motion.stability(environment.issued_joints, period_s),
        slips=slips(facts, hand_axes(trajectory)),
        drops=log.count("drop"),
        collisions=len(forces),
        peak_collision_n=max(forces, default=None),
        limit_steps=environment.limit_steps,
        joint_limit_s=motion.joint_limit_s(
            environment.simulation.joint_paths(trajectory.qpos),
            [limit for group in posed for limit in group.lower],
            [limit for group in posed for limit in group.upper],
            period_s,
        ),
        queries=len(trajectory.query_steps),
        perturbed_queries=int(trajectory.is_query_perturbed.sum()),
        perturbed_steps=int(trajectory.is_command_perturbed.sum()),
        calls_per_s=environment.calls_per_s,
        actions_per_s=environment.actions_per_s,
        inference_ms_p50=percentiles[0],
        inference_ms_p95=percentiles[1],
        inference_ms_p99=percentiles[2],
        quantities=measured(facts),
    )
    return Finished(episode, trajectory)


def _asked_for(facts: EpisodeFacts) -> frozenset[str]:
    """All that the stages that were not reached speak of."""
    return frozenset().union(*(stage.mentioned for stage in facts.stages[len(facts.stage_steps) :]))


def _percentiles_ms(inference_s: Array) -> list[float | None]:
    """The 50th, 95th and 99th of how long answers took."""
    if not len(inference_s):
        return [None] * 3
    return [float(value) for value in 1000 * np.percentile(inference_s, [50, 95, 99])]


def lost(trial: Trial, error: str, attempt: int, wall_s: float) -> Episode:
    """The record of a trial lost to an infrastructure error: counted and shown, but no behaviour of the policy."""
    return _record(trial, attempt, wall_s)(outcome="error", error=error)


def _record(trial: Trial, attempt: int, wall_s: float) -> Callable[..., Episode]:
    """An episode that still wants its outcome."""
    task = TASKS[trial.task]
    return partial(
        Episode,
        trial_id=trial.id,
        pair_id=trial.pair_id,
        suite=trial.suite,
        task=trial.task,
        task_version=trial.task_version,
        family=task.family,
        tier=task.tier,
        tags=task.tags,
        robot=trial.robot,
        policy=trial.policy,
        seed=trial.seed,
        repeat=trial.repeat,
        perturbations=trial.perturbations,
        interventions=trial.interventions,
        clock=trial.clock,
        chance=task.chance,
        primitive=task.primitive,
        attempt=attempt,
        wall_s=wall_s,
    )
