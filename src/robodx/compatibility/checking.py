"""`robodx check`: the conventions of RoboDx and of a policy side by side, and a few steps."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from uuid import uuid4

import numpy as np

from robodx.compatibility.verdict import Verdict
from robodx.output import shortened
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, Policy, replies
from robodx.records.trial import DEFAULT_ROBOT, Trial
from robodx.robots.control import action_width
from robodx.running.environment import Environment, FirstReplyInvalid
from robodx.sim.robot import ROBOTS
from robodx.spaces import InvalidAction
from robodx.tasks.base import TASKS
from robodx.users_code import UsersCodeError, calling
from robodx.wires.base import Names, WireError
from robodx.wires.parts import unit_of
from robodx.wires.pictures import ORIENTATIONS
from robodx.wires.preset import Preset, native
from robodx.wires.remote import RemotePolicy
from robodx.wires.rotations import ROTATIONS

STEPS = 20
Nature = Literal["deterministic", "stateful", "stochastic"]
NATURES: dict[Nature, str] = {
    "deterministic": "deterministic: the same observation gives the same actions",
    "stateful": "deterministic and stateful: a fresh episode with the same seed repeats its answers, which within one "
    "depend on what came before",
    "stochastic": "not deterministic: a fresh episode with the same seed gives other actions, so that no rerun will be "
    "the same bit for bit",
}


@dataclass(frozen=True)
class Check:
    """The findings; nothing in `problems` means that the policy can be run."""

    policy: str
    server_info: Mapping[str, Any]
    preset: Preset
    # (what RoboDx has, what the server gets or gives)
    sides: list[tuple[str, str]]
    # None where the policy gave nothing to tell it by.
    nature: Nature | None
    chunk: tuple[int, ...] | None
    inference_ms: float | None
    slowest_ms: float | None
    steps: int
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """For a person."""
        if self.server_info:
            yield f"The server says: {_short(self.server_info)}"
        yield f"Preset {self.preset.name}: {self.preset.summary}".rstrip(": ")
        width = max(len(ours) for ours, _ in self.sides)
        yield f"  {'RoboDx'.ljust(width)}    the policy"
        yield from (f"  {ours.ljust(width)}    {theirs}" for ours, theirs in self.sides)
        if self.chunk is not None and self.inference_ms is not None:
            actions = "1 action" if self.chunk[0] == 1 else f"{self.chunk[0]} actions"
            took = f"{self.inference_ms:.1f} ms per call (median), {self.slowest_ms:.1f} ms for the slowest call"
            yield f"{self.steps} steps: chunks of {actions}, {took}."
        if self.nature is not None:
            yield f"The policy is {NATURES[self.nature]}."
        yield from (f"note: {note}" for note in self.notes)
        yield from (f"PROBLEM: {problem}" for problem in self.problems)

    def conclusion(self, probed: Verdict | None) -> str:
        """What it comes to, with what the probe found if there was one."""
        if self.problems:
            return "It cannot be run."
        notes = " What the notes say does not stop a run." if self.notes else ""
        if probed is None:
            advice = "add --probe, because no server reports a reversed gripper or a rotated picture"
            return f"It can be run.{notes} To test whether its conventions fit, {advice}."
        if probed.is_wrong:
            return f"It can be run, but its conventions are wrong: {', '.join(probed.aspects)}.{notes}"
        if probed.word == "fits":
            return f"It can be run, and its conventions fit.{notes}"
        if probed.word == "partly":
            count = len(probed.undecided) + len(probed.untested)
            left = "1 other convention is" if count == 1 else f"{count} other conventions are"
            return f"It can be run. The probe found no wrong convention, but {left} still possible: see above.{notes}"
        return f"It can be run, but whether its conventions fit is not known: the probe is inconclusive.{notes}"

    def as_json(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "server_info": json.loads(json.dumps(self.server_info, default=str, skipkeys=True)),
            "preset": self.preset.as_dict(), "sides": self.sides, "nature": self.nature, "chunk": self.chunk,
            "inference_ms": self.inference_ms, "slowest_ms": self.slowest_ms, "steps": self.steps,
            "problems": self.problems, "notes": self.notes,
        }  # fmt: skip


def check(name: str, policy: Policy, *, task: str = "control/stack_cube", robot: str = DEFAULT_ROBOT) -> Check:
    """Run a handful of steps and say what was seen. Raises where the policy does not even fit the scene."""
    preset = policy.preset if isinstance(policy, RemotePolicy) else native(policy.spec, Names())
    server_info = policy.server_info.about if isinstance(policy, RemotePolicy) else {}
    policy = _Told(policy)
    settling = preset.settle_steps
    environment = Environment(Trial(task, TASKS[task].version, name, 0, robot), policy.spec)
    start = environment.start()
    problems: list[str] = []
    asked: list[tuple[Observation, ActionChunk]] = []
    seconds: list[float] = []
    nature: Nature | None = None
    try:
        if policy.spec.is_privileged:
            # What it is shown is the world itself, which moves on: only the beginning can be shown again.
            first = environment.observe()
            nature = _nature(policy, start, [(first, _ask(policy, start, [first])[0])])
        policy.reset([start])
        while environment.simulation.step_count < settling + STEPS and not environment.is_done:
            if environment.needs_chunk:
                seen, asked_s = environment.observe(), time.perf_counter()
                (answer,) = policy.act([seen])
                if seen.step >= settling:
                    seconds.append(time.perf_counter() - asked_s)
                environment.accept(answer, 0.0)
                if seen.step >= settling and environment.invalid_action is None:
                    asked.append((seen, _chunk(answer)))
            environment.step()
        policy.finish([start.episode_id])
        nature = nature or _nature(policy, start, asked)
    except (WireError, InvalidAction, FirstReplyInvalid) as error:
        problems.append(f"its reply cannot be executed: {error}")
    except UsersCodeError as error:
        problems.append(str(error))
    finally:
        environment.close()
    if environment.invalid_action is not None:
        problems.append(environment.invalid_action)
    steps, notes = environment.simulation.step_count, []
    if environment.limit_steps > steps / 2:
        names = sorted({entry.object for entry in environment.world.log.entries if entry.kind == "limit"})
        notes.append(
            f"{environment.limit_steps} of {steps} actions exceeded a limit ({', '.join(names)}): check the scale"
        )
    return Check(
        policy=name,
        server_info=server_info,
        preset=preset,
        sides=both_sides(preset, robot),
        nature=nature,
        chunk=asked[-1][1].shape if asked else None,
        inference_ms=1000 * float(np.median(seconds)) if seconds else None,
        slowest_ms=1000 * max(seconds) if seconds else None,
        steps=steps,
        problems=problems,
        notes=notes,
    )


class _Told:
    """A policy that says whose mistake it is when it raises."""

    def __init__(self, policy: Policy) -> None:
        self._policy, self.spec = policy, policy.spec

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        with calling("its reset", self._policy):
            self._policy.reset(starts)

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        with calling("its act", self._policy):
            given = replies(self._policy, observations)
            for reply in given:
                if isinstance(reply, Exception) and not isinstance(reply, WireError | InvalidAction):
                    raise reply
        return given

    def finish(self, ids: Sequence[str]) -> None:
        with calling("its finish", self._policy):
            self._policy.finish(ids)


def _chunk(answer: ActionChunk | Exception) -> ActionChunk:
    if isinstance(answer, Exception):
        raise answer
    return answer


def _ask(policy: Policy, start: EpisodeStart, seen: Sequence[Observation]) -> list[ActionChunk]:
    """What it answers if it sees these, in a fresh episode."""
    episode = f"{start.episode_id}-check-{uuid4().hex[:8]}"
    policy.reset([replace(start, episode_id=episode)])
    try:
        return [_chunk(policy.act([replace(one, episode_id=episode)])[0]) for one in seen]
    finally:
        policy.finish([episode])


def _nature(policy: Policy, start: EpisodeStart, asked: Sequence[tuple[Observation, ActionChunk]]) -> Nature:
    """By showing it the same again in a fresh episode, and then in the reverse order."""
    seen, answers = [one for one, _ in asked], [answer for _, answer in asked]
    if not _are_same(answers, _ask(policy, start, seen)):
        return "stochastic"
    try:
        backwards = _ask(policy, start, [*seen[::-1], *seen[:1]])
    except (WireError, InvalidAction, RuntimeError, UsersCodeError):
        # It minds the order so much that it refuses.
        return "stateful"
    return "deterministic" if _are_same([*answers[::-1], *answers[:1]], backwards) else "stateful"


def _are_same(some: Sequence[ActionChunk], others: Sequence[ActionChunk]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(some, others, strict=True))


def both_sides(preset: Preset, robot: str) -> list[tuple[str, str]]:
    """What RoboDx has beside what the policy gets or gives, each number with its unit."""
    sides = []
    for key, picture in preset.images.items():
        height, width = picture.content
        kind = "depth of " if picture.is_depth else ""
        form = "in m" if picture.is_depth else picture.layout
        shape = f"{picture.height}×{picture.width} {form}, {ORIENTATIONS[picture.orientation]}"
        sides.append((f"{kind}camera {picture.camera} {height}×{width}", f"{key}: {shape}"))
    for key, parts in preset.state.items():
        sides.append(
            (f"state {', '.join(parts)}", f"{key}: {'; '.join(unit_of(part, preset.state_angles) for part in parts)}")
        )
    sides.append(("the instruction", preset.prompt or "not sent: it uses no language"))
    actions = preset.actions
    angle = f"{actions.scale_rad:g} rad{'/s' * (actions.space == 'joint_velocity')}"
    meaning = [f"1 = {angle}"]
    if actions.space.startswith("ee_"):
        scaled = f", {angle}" if ROTATIONS[actions.rotation_form].is_angles else ""
        meaning = [f"1 = {actions.scale_m:g} m{scaled}", actions.rotation_form]
    if actions.space == "ee_delta":
        meaning.append(f"in the {actions.delta_frame}'s axes from the {actions.delta_from} pose")
    meaning.append(f"gripper {actions.gripper_open:g} open, {actions.gripper_closed:g} closed")
    wide = action_width(actions.space, ROBOTS[robot])
    sides.append((f"action {actions.space}, {wide} numbers", f"{', '.join(actions.keys)}: {'; '.join(meaning)}"))
    sides.append((f"{preset.hz:g} Hz", f"{preset.replan or 'all'} actions per chunk before the next query"))
    return sides


def _short(content: object, most: int = 400) -> str:
    text = json.dumps(content, default=lambda value: f"<{type(value).__name__}>", skipkeys=True)
    return shortened(text, most)
