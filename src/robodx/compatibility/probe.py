"""Finds wrong conventions by behaviour: shows a policy what the expert saw, and compares what the two would do.

No server says that its gripper is the other way round or that it wants its pictures upside down. But a policy that can
do something at all agrees with the expert about the next step, if its numbers are read as they are meant. So each
single change of the preset is a hypothesis, and the one under which the policy agrees best is named, if it is good
enough; a policy that agrees under none of them is not competent here, and nothing can be said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from robodx.compatibility.hypotheses import COMPETENT, Change, readings, scales, views_of
from robodx.errors import UserError
from robodx.policy_contract import Policy, PolicySpec
from robodx.robots.control import moved
from robodx.running.demonstrations import Frame, demonstrate
from robodx.sim.geometry import Array, Pose, conjugate, from_rotation_vector, multiply, normalise, to_rotation_vector
from robodx.sim.robot import ROBOTS
from robodx.spaces import InvalidAction
from robodx.wires.actions import Actions
from robodx.wires.base import Reply, WireError
from robodx.wires.local import Local
from robodx.wires.preset import Preset
from robodx.wires.remote import RemotePolicy

# Grasps, turns of the wrist, sideways motion: what tells conventions apart.
TASKS = ("control/stack_cube", "control/insert_peg", "primitive/pick_cube")
EVERY = 2
# A change must halve what is unexplained, on most frames, to be believed.
MUST_HALVE, SIGN_LEVEL = 0.5, 0.01
MAX_CHANGES = 4
Advance = Callable[[int, int], None]


@dataclass(frozen=True)
class Verdict:
    """`changes` lead from the preset that was given to `preset`, which fits best; to nowhere if nothing can be said."""

    is_competent: bool
    changes: tuple[Change, ...]
    preset: Preset
    # Shares of the expert's motion that the policy explains, by component: as declared, and after the changes.
    declared: Mapping[str, float]
    explained: Mapping[str, float]
    # What would make no difference on these frames, and so may yet be wrong.
    undecided: tuple[str, ...]
    frames: int
    errors: int
    first_error: str | None

    @property
    def is_wrong(self) -> bool:
        return self.is_competent and bool(self.changes)

    @property
    def fits(self) -> bool:
        return self.is_competent and not self.changes

    @property
    def aspects(self) -> tuple[str, ...]:
        """What is wrong, in words; empty if nothing is, or if nothing can be said."""
        return tuple(change.aspect for change in self.changes)

    def lines(self) -> Iterator[str]:
        said = ", ".join(f"{name} {share:.0%}" for name, share in self.explained.items())
        if self.errors:
            yield f"{self.errors} of {self.frames} frames ended in an error, for example: {self.first_error}"
        used = self.frames - self.errors
        if not self.is_competent:
            mean = np.mean(list(self.explained.values()))
            yield (
                f"Probe: inconclusive. On {used} frames of the expert's demonstrations the policy moves unlike the "
                f"expert under any convention: it explains {said}, on average {mean:.0%}, and the probe needs "
                f"{COMPETENT:.0%} (below 0 is worse than standing still). The policy is not competent on these frames."
            )
            return
        if not self.changes:
            yield f"Probe: the conventions fit. On {used} frames the policy explains of the expert's motion: {said}."
            yield from self._not_decided()
            return
        before = ", ".join(f"{name} {share:.0%}" for name, share in self.declared.items())
        yield f"Probe: WRONG CONVENTION{'S'[: len(self.changes) > 1]}, on {used} frames of the expert's demonstrations:"
        yield from (f"  {change.aspect}: {change.sentence}" for change in self.changes)
        yield f"  The policy explains of the expert's motion, as declared: {before}; corrected: {said}."
        yield from self._not_decided()

    def _not_decided(self) -> Iterator[str]:
        if self.undecided:
            yield f"Not decided, because it makes no clear difference on these frames: {', '.join(self.undecided)}."

    def as_json(self) -> dict[str, Any]:
        return {
            "verdict": "inconclusive" if not self.is_competent else "wrong" if self.changes else "fits",
            "aspects": list(self.aspects), "sentences": [change.sentence for change in self.changes],
            "undecided": list(self.undecided), "declared": dict(self.declared), "explained": dict(self.explained),
            "frames": self.frames, "errors": self.errors, "preset": self.preset.as_dict(),
        }  # fmt: skip


def probe(
    policy: Policy,
    *,
    tasks: Sequence[str] = TASKS,
    robot: str = "panda",
    every: int = EVERY,
    advance: Advance | None = None,
) -> Verdict:
    """Show a policy the expert's frames, and name the conventions under which it agrees with the expert."""
    refuse_to_probe(policy.spec, robot)
    if not isinstance(policy, RemotePolicy):
        local = Local(policy)
        policy = RemotePolicy(local, local.endpoint.preset)
    # A demonstration's first frames are as good as any: nothing settles here.
    declared = replace(policy.preset, settle_steps=0)
    frames = list(demonstrate(declared.spec, tasks, every=every, robot=robot))
    show = _Show(policy, frames, advance or (lambda done, total: None))
    first = _Fit.of(declared, frames, show(declared))
    views, seen = list[Change](), declared
    best = _settle(declared, frames, show)
    # How the policy sees is tried with what then fits best of how it acts: two mistakes may hide each other.
    for _ in range(MAX_CHANGES):
        known = {change.aspect for change in views}
        tried = [(view, _settle(view.preset, frames, show)) for view in views_of(seen) if view.aspect not in known]
        better = [pair for pair in tried if pair[1].fit.improves_on(best.fit, pair[0].must_explain)]
        if not better:
            break
        view, best = min(better, key=lambda pair: pair[1].fit.unexplained)
        views.append(view)
        seen = view.preset
    changes, fit = (*views, *best.changes), best.fit
    if fit.explains <= COMPETENT or fit.errors > len(frames) / 2:
        return Verdict(
            False, (), policy.preset, first.shares, fit.shares, (), len(frames), fit.errors, show.first_error
        )
    current = best.changes[-1].preset if best.changes else seen
    others = [(other, _Fit.of(other.preset, frames, show(current))) for other in readings(current)]
    undecided = dict.fromkeys(other.aspect for other, one in others if not fit.improves_on(one))
    corrected = replace(current, settle_steps=policy.preset.settle_steps)
    return Verdict(
        True, changes, corrected, first.shares, fit.shares, tuple(undecided), len(frames), fit.errors, show.first_error
    )


def refuse_to_probe(spec: PolicySpec, robot: str) -> None:
    """What can be known beforehand to lead nowhere."""
    if spec.is_privileged:
        raise UserError("the probe is for policies with conventions: this one uses the simulator's state")
    if len(ROBOTS[robot].arms) != 1:
        raise UserError(f"the probe works only with one arm, and {robot} has {len(ROBOTS[robot].arms)}")


class _Settled(NamedTuple):
    changes: tuple[Change, ...]
    fit: _Fit


def _settle(preset: Preset, frames: Sequence[Frame], show: _Show) -> _Settled:
    """The changes of how actions are read that make the policy agree best with the expert, one after the other."""
    replies = show(preset)
    fit, changes = _Fit.of(preset, frames, replies), list[Change]()
    while len(changes) < MAX_CHANGES:
        known = {change.aspect for change in changes}
        possible = [*readings(preset), *scales(preset, fit.pairs)]
        tried = [(change, _Fit.of(change.preset, frames, replies)) for change in possible if change.aspect not in known]
        better = [(change, one) for change, one in tried if one.improves_on(fit, change.must_explain)]
        if not better:
            break
        change, fit = min(better, key=lambda pair: pair[1].unexplained)
        changes.append(change)
        preset = change.preset
    return _Settled(tuple(changes), fit)


class _Show:
    """Asks the policy about all frames, once for each way in which they can be shown."""

    def __init__(self, policy: RemotePolicy, frames: Sequence[Frame], advance: Advance) -> None:
        self._policy, self._frames, self._advance = policy, frames, advance
        self._seen: dict[str, list[Reply | WireError]] = {}
        self._asked = 0
        self._token = uuid4().hex[:8]
        self.first_error: str | None = None

    def __call__(self, preset: Preset) -> list[Reply | WireError]:
        # Changes of how actions are read need no new question.
        key = repr((preset.images, preset.state, preset.state_angles, preset.prompt))
        if key not in self._seen:
            self._seen[key] = [self._ask(frame, preset, len(self._seen)) for frame in self._frames]
        return self._seen[key]

    def _ask(self, frame: Frame, preset: Preset, showing: int) -> Reply | WireError:
        """Each showing of a demonstration is an episode of its own, and its frames come in their order."""
        wire = self._policy.wire
        episode = f"{frame.start.episode_id}-probe-{showing}-{self._token}"
        if frame.observation.step == 0:
            wire.start(episode, frame.observation.instruction)
        request = preset.request(replace(frame.observation, episode_id=episode), frame.start)
        (reply,) = wire.ask([(episode, request)])
        if frame.is_last:
            wire.finish(episode)
        if isinstance(reply, WireError):
            self.first_error = self.first_error or str(reply).strip().splitlines()[-1]
        self._asked += 1
        self._advance(self._asked, len(self._frames) * (len(self._seen) + 1))
        return reply


@dataclass(frozen=True)
class _Fit:
    """How far the policy's next steps are from the expert's, if its replies are read by a preset."""

    # Squared errors and squares of the expert's own motion, by component and frame.
    error: Mapping[str, Array]
    motion: Mapping[str, Array]
    # The policy's motion and the expert's, (frames, numbers), for fitting a scale.
    pairs: Mapping[str, tuple[Array, Array]]
    errors: int

    @classmethod
    def of(cls, preset: Preset, frames: Sequence[Frame], replies: Sequence[Reply | WireError]) -> _Fit:
        """Frames that were answered with an error are left out, as NaN."""
        # Past the middle or not is too coarse to tell one range of a gripper from another.
        preset = replace(preset, actions=replace(preset.actions, gripper_is_binary=False))
        rows: dict[str, list[tuple[Array, Array]]] = {}
        errors = 0
        for frame, reply in zip(frames, replies, strict=True):
            expected = _motion(frame, preset, None)
            try:
                found = None if isinstance(reply, WireError) else _motion(frame, preset, preset.chunk(reply)[0])
            except (InvalidAction, WireError):
                found = None
            errors += found is None
            for name, theirs in expected.items():
                rows.setdefault(name, []).append(
                    (np.full_like(theirs, np.nan) if found is None else found[name], theirs)
                )
        pairs = {name: (np.array([a for a, _ in some]), np.array([b for _, b in some])) for name, some in rows.items()}
        # An opening is no motion: what matters is where it is not as usual.
        usual = {name: b.mean(axis=0) if name == "gripper" else 0.0 for name, (_, b) in pairs.items()}
        return cls(
            error={name: np.square(a - b).sum(axis=1) for name, (a, b) in pairs.items()},
            motion={name: np.square(b - usual[name]).sum(axis=1) for name, (_, b) in pairs.items()},
            pairs=pairs,
            errors=errors,
        )

    @property
    def _ratios(self) -> dict[str, float]:
        ratios = {}
        for name, error in self.error.items():
            used = ~np.isnan(error)
            ratios[name] = float(error[used].sum() / max(self.motion[name][used].sum(), 1e-12))
        return ratios

    @property
    def shares(self) -> dict[str, float]:
        """What is explained of each component; below 0 it is worse than standing still."""
        return {name: max(1.0 - ratio, -9.99) for name, ratio in self._ratios.items()}

    @property
    def explains(self) -> float:
        return float(np.mean(list(self.shares.values())))

    @property
    def unexplained(self) -> float:
        # Bounded, so that a component that is off by a factor of 1000 does not hide the others.
        return sum(min(ratio, 10.0) + 1e-3 * math.log1p(ratio) for ratio in self._ratios.values())

    def improves_on(self, other: _Fit, must_explain: float = COMPETENT) -> bool:
        """Whether some component is explained, and twice as well, on most frames, and no other is explained worse."""
        mine, theirs = self._ratios, other._ratios
        if any(mine[name] > 1.05 * theirs[name] + 1e-9 for name in mine):
            return False
        return any(
            mine[name] <= min(MUST_HALVE * theirs[name], 1 - must_explain)
            and _sign_test(self.error[name], other.error[name]) < SIGN_LEVEL
            for name in mine
        )


def _sign_test(mine: Array, theirs: Array) -> float:
    """How likely so many frames would be better by chance, were both alike."""
    better, worse = int((mine < theirs).sum()), int((mine > theirs).sum())
    n = better + worse
    return sum(math.comb(n, k) for k in range(better, n + 1)) / 2**n if n else 1.0


def _motion(frame: Frame, preset: Preset, action: Array | None) -> dict[str, Array]:
    """The step that an action leads to, or the expert's own, from where the preset lets a step begin."""
    actions = preset.actions
    opening = np.array([frame.opening if action is None else min(max(float(action[-1]), -9.0), 9.0)])
    if not actions.space.startswith("ee_"):
        goal = frame.target_joints
        if action is not None:
            numbers = action[:-1].astype(float)
            is_speed = actions.space == "joint_velocity"
            goal = frame.commanded_joints + frame.period_s * numbers if is_speed else numbers
        return {"joints": _bounded(goal - frame.commanded_joints), "gripper": opening}
    start = frame.achieved if actions.delta_from == "achieved" else frame.commanded
    target = frame.target if action is None else _target(start, actions, action)
    shift = np.subtract(target.position, start.position)
    turn = to_rotation_vector(normalise(multiply(target.quaternion, conjugate(start.quaternion))))
    return {"position": _bounded(shift), "rotation": np.array(turn), "gripper": opening}


def _bounded(numbers: Array) -> Array:
    """Steps of kilometres are as wrong as steps of metres, and must not overflow."""
    return np.clip(numbers, -1e3, 1e3)


def _target(start: Pose, actions: Actions, action: Array) -> Pose:
    if actions.space == "ee_pose":
        return Pose.of(action[:3], normalise(action[3:7]))
    x, y, z = action[:3].tolist()
    return moved(start, (x, y, z), from_rotation_vector(action[3:6]), actions.delta_frame)
