"""The one loop that executes trials: a batch of environments in lockstep, one policy, an episode out for each trial."""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from robodx.policies.base import Observation, Policy
from robodx.robots.control import joint_columns
from robodx.running.environment import Environment
from robodx.running.episode import Episode, Happening, Outcome, Trajectory
from robodx.running.trial import Trial
from robodx.sim.geometry import Array
from robodx.tasks.base import TASKS


class Finished(NamedTuple):
    """An executed trial; the trajectory is None where the episode did not get that far."""

    episode: Episode
    trajectory: Trajectory | None


# What a policy or a simulation may throw without ending the run; Ctrl-C is not among it.
FAILURES = (Exception, SystemExit)


@dataclass(eq=False)
class _Live:
    """An episode under way."""

    environment: Environment
    started_s: float
    error: str | None = None


def rollout(
    trials: Iterable[Trial], policy: Policy, *, batch: int = 1, quality: str = "fast", attempt: int = 1
) -> Iterator[Finished]:
    """Execute the trials, at most `batch` at a time, and yield each as it ends.

    An exception inside a trial ends that trial as an `error` with its traceback, and no other.
    """
    waiting = deque(trials)
    live: list[_Live] = []
    while waiting or live:
        while waiting and len(live) < batch:
            trial, started_s = waiting.popleft(), time.perf_counter()
            try:
                environment = Environment(trial, policy.spec, quality=quality)
                policy.reset([environment.start()])
            except FAILURES:
                yield Finished(lost(trial, traceback.format_exc(), attempt, time.perf_counter() - started_s), None)
            else:
                live.append(_Live(environment, started_s))
        _ask(live, policy)
        for one in live:
            _step(one)
        ended = [one for one in live if one.error is not None or one.environment.is_done]
        live = [one for one in live if one not in ended]
        for one in ended:
            yield _end(one, policy, attempt)


def _ask(live: list[_Live], policy: Policy) -> None:
    """Get a chunk for every episode that needs one, in one call."""
    asking: list[_Live] = []
    observations: list[Observation] = []
    for one in live:
        if one.environment.needs_chunk:
            try:
                observations.append(one.environment.observe())
                asking.append(one)
            except FAILURES:
                one.error = traceback.format_exc()
    if not asking:
        return
    asked_s = time.perf_counter()
    try:
        chunks = policy.act(observations)
        if len(chunks) != len(asking):
            raise RuntimeError(f"asked for {len(asking)} chunks, the policy returned {len(chunks)}")
    except FAILURES:
        if len(asking) > 1:
            # One of them is the cause: asked alone, only that one errs, as it would in a batch of one.
            for one in asking:
                _ask([one], policy)
        else:
            asking[0].error = traceback.format_exc()
        return
    inference_s = time.perf_counter() - asked_s
    for one, chunk in zip(asking, chunks, strict=True):
        try:
            one.environment.accept(chunk, inference_s)
        except FAILURES:
            one.error = traceback.format_exc()


def _step(one: _Live) -> None:
    if one.error is None and not one.environment.is_done:
        try:
            one.environment.step()
        except FAILURES:
            one.error = traceback.format_exc()


def _end(one: _Live, policy: Policy, attempt: int) -> Finished:
    environment = one.environment
    wall_s = time.perf_counter() - one.started_s
    try:
        policy.finish([environment.trial.id])
        environment.close()
        if one.error is None:
            return _finished(environment, attempt, wall_s)
    except FAILURES:
        one.error = one.error or traceback.format_exc()
    return Finished(lost(environment.trial, one.error, attempt, wall_s), None)


def _finished(environment: Environment, attempt: int, wall_s: float) -> Finished:
    score, log, trajectory = environment.score, environment.world.log, environment.trajectory()
    outcome: Outcome = "timeout"
    failure_kind = None
    if score.is_success:
        outcome = "success"
    elif environment.invalid_action is not None:
        outcome, failure_kind = "failure", "invalid_action"
    elif score.broken is not None:
        outcome, failure_kind = "failure", "constraint"
    forces = [entry.value for entry in log.entries if entry.kind == "collision"]
    inference_ms = 1000 * trajectory.inference_s
    period_s = 1.0 / environment.spec.hz
    tools = trajectory.tool_in_world[:, :, :3]  # (n + 1, arms, 3)
    joints = trajectory.commands[:, joint_columns(environment.robot)]
    episode = _record(environment.trial, attempt, wall_s)(
        outcome=outcome,
        success=outcome == "success",
        progress=score.progress,
        stages=len(score.stages),
        stages_reached=score.reached,
        stage_steps=tuple(score.stage_steps),
        steps=environment.simulation.step_count,
        instructions=tuple(environment.told),
        events=tuple(Happening(e.step, e.time_s, e.kind, e.object, e.other, e.value) for e in log.entries),
        first_touched=log.first_touched,
        failure_kind=failure_kind,
        error=environment.invalid_action,
        trajectory_hash=trajectory.digest(),
        duration_s=environment.simulation.time_s,
        path_length_m=float(np.linalg.norm(np.diff(tools, axis=0), axis=2).sum()),
        mean_squared_jerk=_mean_squared_jerk(tools, period_s),
        stability=float(np.exp(-np.linalg.norm(np.diff(joints, axis=0), axis=1).mean())) if len(joints) > 1 else None,
        drops=log.count("drop"),
        collisions=len(forces),
        peak_collision_n=max(forces, default=None),
        limit_steps=environment.limit_steps,
        inference_ms_p50=float(np.percentile(inference_ms, 50)) if len(inference_ms) else None,
        inference_ms_p95=float(np.percentile(inference_ms, 95)) if len(inference_ms) else None,
    )
    return Finished(episode, trajectory)


def _mean_squared_jerk(positions: Array, period_s: float) -> float | None:
    """Of the tools (n + 1, arms, 3), in (m/s³)²; None for episodes too short to have one."""
    if len(positions) < 4:
        return None
    return float(np.square(np.diff(positions, n=3, axis=0) / period_s**3).sum(axis=2).mean())


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
        clock=trial.clock,
        attempt=attempt,
        wall_s=wall_s,
    )
