"""What fits and what does not between RoboDx and a policy: both sides beside each other, and a few steps."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from robodx.policies.base import ActionChunk, Policy
from robodx.policies.remote import RemotePolicy
from robodx.robots.control import action_width
from robodx.running.environment import Environment, FirstReplyInvalid, Unfit
from robodx.running.trial import Trial
from robodx.sim.robot import ROBOTS
from robodx.spaces import InvalidAction
from robodx.tasks.base import TASKS
from robodx.wires.base import Names, WireError
from robodx.wires.preset import Preset, native

STEPS = 20
Nature = Literal["deterministic", "stateful", "stochastic"]
NATURES: dict[Nature, str] = {
    "deterministic": "the same observation gives the same actions",
    "stateful": "it remembers: asked twice in an episode it answers differently, but a fresh episode repeats the first",
    "stochastic": "a fresh episode with the same seed gives other actions: no rerun will be the same bit for bit",
}


@dataclass(frozen=True)
class Check:
    """The findings; nothing in `problems` means that the policy can be run."""

    policy: str
    told: Mapping[str, Any]
    preset: Preset
    # (what RoboDx has, what the server gets or gives)
    sides: list[tuple[str, str]]
    nature: Nature
    chunk: tuple[int, ...]
    inference_ms: float
    steps: int
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """For a person."""
        if self.told:
            yield f"The server says: {_short(self.told)}"
        yield f"Preset {self.preset.name}: {self.preset.summary}".rstrip(": ")
        width = max(len(ours) for ours, _ in self.sides)
        yield f"  {'RoboDx'.ljust(width)}    the policy"
        yield from (f"  {ours.ljust(width)}    {theirs}" for ours, theirs in self.sides)
        yield f"{self.steps} steps: chunks of {self.chunk[0]} actions, {self.inference_ms:.1f} ms a call (median)."
        yield f"The policy is {self.nature}: {NATURES[self.nature]}."
        yield from (f"note: {note}" for note in self.notes)
        yield from (f"PROBLEM: {problem}" for problem in self.problems)
        if not self.problems:
            yield "It fits. Whether a gripper or a picture is upside down no server says: --probe finds out."

    def as_json(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "told": json.loads(json.dumps(self.told, default=str)),
            "preset": self.preset.as_dict(), "sides": self.sides, "nature": self.nature, "chunk": list(self.chunk),
            "inference_ms": self.inference_ms, "steps": self.steps, "problems": self.problems, "notes": self.notes,
        }  # fmt: skip


def check(name: str, policy: Policy, *, task: str = "control/stack_cube", robot: str = "panda") -> Check:
    """Run a handful of steps and say what was seen. Raises where the policy does not even fit the scene."""
    preset = policy.preset if isinstance(policy, RemotePolicy) else native(policy.spec, Names())
    environment = Environment(Trial(task, TASKS[task].version, name, 0, robot), policy.spec)
    start = environment.start()
    try:
        nature = _nature(policy, environment)
        policy.reset([start])
        chunks: list[ActionChunk] = []
        seconds: list[float] = []
        while environment.simulation.step_count < STEPS and not environment.is_done:
            if environment.needs_chunk:
                seen, asked_s = environment.observe(), time.perf_counter()
                (answer,) = policy.act([seen])
                seconds.append(time.perf_counter() - asked_s)
                environment.accept(answer, seconds[-1])
                chunks.append(_chunk(answer))
            environment.step()
        policy.finish([start.episode_id])
    except (WireError, InvalidAction, FirstReplyInvalid) as error:
        raise Unfit(f"{name} gives no action that could be executed: {error}") from error
    finally:
        environment.close()
    problems, notes = [], []
    if environment.invalid_action is not None:
        problems.append(environment.invalid_action)
    steps = environment.simulation.step_count
    if environment.limit_steps > steps / 2:
        names = sorted({entry.object for entry in environment.world.log.entries if entry.kind == "limit"})
        notes.append(
            f"{environment.limit_steps} of {steps} actions were beyond a limit ({', '.join(names)}): "
            "is the scale right?"
        )
    return Check(
        policy=name,
        told=policy.told.about if isinstance(policy, RemotePolicy) else {},
        preset=preset,
        sides=_sides(preset, robot),
        nature=nature,
        chunk=chunks[-1].shape,
        inference_ms=1000 * float(np.median(seconds)),
        steps=steps,
        problems=problems,
        notes=notes,
    )


def _chunk(answer: ActionChunk | Exception) -> ActionChunk:
    if isinstance(answer, Exception):
        raise answer
    return answer


def _nature(policy: Policy, environment: Environment) -> Nature:
    """By one observation: asked twice in an episode, and once more in a fresh one."""
    start = environment.start()
    step = policy.preset.settle_steps if isinstance(policy, RemotePolicy) else 0
    seen = replace(environment.observe(), step=step)

    def ask(episode: str) -> ActionChunk:
        (answer,) = policy.act([replace(seen, episode_id=episode)])
        return _chunk(answer)

    first, fresh = f"{start.episode_id}-check-1", f"{start.episode_id}-check-2"
    policy.reset([replace(start, episode_id=first)])
    once, again = ask(first), ask(first)
    policy.finish([first])
    policy.reset([replace(start, episode_id=fresh)])
    anew = ask(fresh)
    policy.finish([fresh])
    if not np.array_equal(once, anew):
        return "stochastic"
    return "deterministic" if np.array_equal(once, again) else "stateful"


def _sides(preset: Preset, robot: str) -> list[tuple[str, str]]:
    sides = []
    for key, picture in preset.images.items():
        height, width = picture.content
        kind = "depth of " if picture.is_depth else ""
        shape = f"{picture.height}×{picture.width} {picture.layout}, {picture.orientation.replace('_', ' ')}"
        sides.append((f"{kind}camera {picture.camera} {height}×{width}", f"{key}: {shape}"))
    for key, parts in preset.state.items():
        sides.append((f"state {', '.join(parts)}", f"{key}: {preset.state_angles}"))
    sides.append(("the instruction", preset.prompt or "not told: it uses no language"))
    actions = preset.actions
    meaning = [f"1 = {actions.scale_rad:g} rad"]
    if actions.space.startswith("ee_"):
        meaning = [f"1 = {actions.scale_m:g} m, {actions.scale_rad:g} rad", actions.rotation_form]
    if actions.space == "ee_delta":
        meaning.append(f"in the {actions.delta_frame}'s axes from the {actions.delta_from} pose")
    meaning.append(f"gripper {actions.gripper_open:g} open, {actions.gripper_closed:g} closed")
    wide = action_width(actions.space, ROBOTS[robot])
    sides.append((f"action {actions.space}, {wide} numbers", f"{', '.join(actions.keys)}: {'; '.join(meaning)}"))
    sides.append((f"{preset.hz:g} Hz", f"{preset.replan or 'all'} actions of a chunk before the next query"))
    return sides


def _short(content: object, most: int = 400) -> str:
    text = json.dumps(content, default=lambda value: f"<{type(value).__name__}>")
    return text if len(text) <= most else f"{text[: most - 1]}…"
