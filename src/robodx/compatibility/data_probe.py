"""The probe on a user's own demonstrations: does a policy answer what its data set does, or that with a mistake in it?

A policy that learned from a data set agrees with it about the next actions, if it is shown what it saw in training and
its numbers are read as they are meant. Each single mistake in between is a hypothesis; the one under which the policy
agrees far better than as declared is named. No scene of RoboDx is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import numpy as np

from robodx.compatibility.data_fit import COMPARED, FEWEST_FRAMES, Answered, DataFit, Reading
from robodx.compatibility.data_frames import (
    FRAMES,
    DataFrame,
    Incomparable,
    declared_space,
    match,
    read_frames,
    refuse_other_space,
    split_state,
)
from robodx.compatibility.data_readings import FITTED, READINGS, readings
from robodx.compatibility.data_truth import Truth, truth_of
from robodx.compatibility.data_views import Showing, View, views_of
from robodx.compatibility.hypotheses import COMPETENT
from robodx.datasets.schema import DataSet, Features
from robodx.errors import UserError
from robodx.policy_contract import EpisodeStart, Observation, Policy
from robodx.sim.geometry import Array
from robodx.spaces import InvalidAction
from robodx.wires.actions import Actions
from robodx.wires.base import Reply, WireError
from robodx.wires.local import Local
from robodx.wires.preset import Preset
from robodx.wires.remote import RemotePolicy

MAX_CHANGES = 3
# Hypotheses whose errors differ by less than this cannot be told apart: relative, and of the whole.
ALIKE, ALIKE_OF_ALL = 1.25, 0.02
Advance = Callable[[int, int], None]
Change = View | Reading
T = TypeVar("T")


@dataclass(frozen=True)
class DataVerdict:
    """What explains the answers: nothing but what is declared, or `changes`; nothing can be said if it is neither."""

    policy_explains: bool
    changes: tuple[Change, ...]
    # What would explain them as well as the changes.
    alike: tuple[str, ...]
    # Shares of the data set's actions that the policy explains beyond a trivial guess, by component.
    declared: Mapping[str, float]
    explained: Mapping[str, float]
    # What would make no clear difference on these frames, and so may yet be wrong.
    undecided: tuple[str, ...]
    # What was compared with what.
    compared: str
    notes: tuple[str, ...]
    frames: int
    episodes: int
    errors: int
    first_error: str | None
    # Why nothing can be said.
    reason: str = ""

    @property
    def verdict(self) -> str:
        return "inconclusive" if not self.policy_explains else "wrong" if self.changes else "fits"

    @property
    def is_wrong(self) -> bool:
        return self.verdict == "wrong"

    @property
    def aspects(self) -> tuple[str, ...]:
        return tuple(change.aspect for change in self.changes) if self.policy_explains else ()

    def lines(self) -> Iterator[str]:
        yield from self.notes
        yield self.compared
        if self.errors:
            yield f"{self.errors} of {self.frames} frames ended in an error, for example: {self.first_error}"
        before, after = _told(self.declared), _told(self.explained)
        if self.verdict == "inconclusive":
            yield f"Probe: inconclusive. {self.reason}"
        elif self.verdict == "fits":
            yield f"Probe: the policy answers as the data set does, as declared. It explains: {after}."
        else:
            yield f"Probe: WRONG CONVENTION{'S'[: len(self.changes) > 1]}:"
            yield from (f"  {change.aspect}: {change.sentence}" for change in self.changes)
            yield from (f"  or, which fits as well on these frames: {other}" for other in self.alike)
            yield f"  The policy explains, as declared: {before}; corrected: {after}."
        if self.undecided:
            yield f"Not decided, because it makes no clear difference on these frames: {', '.join(self.undecided)}."

    def as_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict, "aspects": list(self.aspects),
            "sentences": [change.sentence for change in self.changes] if self.policy_explains else [],
            "alike": list(self.alike), "undecided": list(self.undecided), "declared": dict(self.declared),
            "explained": dict(self.explained), "compared": self.compared, "notes": list(self.notes),
            "frames": self.frames, "episodes": self.episodes, "errors": self.errors, "reason": self.reason,
        }  # fmt: skip


def probe_on_data(
    policy: Policy,
    data: DataSet,
    *,
    mapping: Mapping[str, str] | None = None,
    most_frames: int = FRAMES,
    advance: Advance | None = None,
) -> DataVerdict:
    """Show a policy frames of a data set, and name the mistake under which it answers the data set's actions."""
    if policy.spec.is_privileged:
        raise UserError("the probe is for policies with conventions: this one uses the simulator's state")
    if not isinstance(policy, RemotePolicy):
        local = Local(policy)
        policy = RemotePolicy(local, local.endpoint.preset)
    preset = replace(policy.preset, settle_steps=0)
    refuse_other_space(preset, data.features)
    matched = match(preset, data.features, mapping or {})
    frames = read_frames(data, matched, most_frames=most_frames)
    if len(frames) < FEWEST_FRAMES:
        raise UserError(f"the probe needs {FEWEST_FRAMES} steps with one before them: the data set has {len(frames)}")
    truth = truth_of(preset, data.features, frames)
    show = _Show(policy, truth, _reader(preset, data.features), advance or (lambda done, total: None))
    most = min(preset.replan or COMPARED, COMPARED)
    found = _search(truth, show, Showing(preset), most)
    return _verdict(found, truth, show, data, (*matched.notes, *_rates(preset, data.features)), most, preset)


class _Found(NamedTuple):
    """The best explanation, the answers as they were declared, and what was tried last, each by itself."""

    changes: tuple[Change, ...]
    alike: tuple[str, ...]
    answered: Answered
    first: DataFit
    fit: DataFit
    tried: list[tuple[Change, DataFit]]


class _Settled(NamedTuple):
    readings: tuple[Reading, ...]
    alike: tuple[str, ...]
    answered: Answered
    fit: DataFit


def _search(truth: Truth, show: _Show, showing: Showing, most: int) -> _Found:
    """Views with what then fits best of how answers are read, because two mistakes may hide each other."""
    first = DataFit.of(truth, show(showing), most)
    best = _settle(truth, show(showing), most)
    views, alike = list[View](), best.alike
    tried: list[tuple[Change, DataFit]] = []
    for _ in range(MAX_CHANGES):
        known = {view.aspect for view in views}
        possible = [view for view in views_of(showing, truth.frames[0]) if view.aspect not in known]
        settled = [(view, _settle(truth, show(view.showing), most)) for view in possible]
        tried = [(view, one.fit) for view, one in settled]
        # Both are read alike: what a reading gains is not the view's.
        plain = show(showing)
        settled = [
            (view, one)
            for view, one in settled
            if one.fit.improves_on(DataFit.of(truth, _read_as(truth, plain, one.readings), most))
        ]
        better = [(view, one) for view, one in settled if one.fit.improves_on(best.fit)]
        rivals = _rivals(truth, best, settled)
        if not better and not (rivals and min(one.fit.total for _, one in rivals) < best.fit.total):
            alike = (*alike, *(view.sentence for view, _ in rivals))
            break
        (view, chosen), others = _chosen(better or rivals, lambda pair: pair[1].fit.total, truth)
        alike = tuple(other.sentence for other, _ in others)
        if not better:
            alike = (*alike, *(reading.sentence for reading in best.readings))
        views.append(view)
        best, showing = chosen, view.showing
    fitted = _settle(truth, best.answered, most, is_fitted=True)
    if fitted.readings:
        best = fitted._replace(readings=(*best.readings, *fitted.readings))
    tried += [(one, DataFit.of(truth, one.answered, most)) for one in readings(truth, best.answered)]
    return _Found((*views, *best.readings), alike, best.answered, first, best.fit, tried)


def _read_as(truth: Truth, answered: Answered, chosen: Sequence[Reading]) -> Answered:
    """Answers under the same readings, as far as these are possible for them."""
    for one in chosen:
        same = [r for r in readings(truth, answered) if (r.aspect, r.sentence) == (one.aspect, one.sentence)]
        answered = same[0].answered if same else answered
    return answered


def _rivals(truth: Truth, best: _Settled, settled: Sequence[tuple[View, _Settled]]) -> list[tuple[View, _Settled]]:
    """Views that make changed readings unnecessary, and explain the answers as well as these."""
    most = ALIKE * best.fit.total + ALIKE_OF_ALL * len(truth.components)
    return [(view, one) for view, one in settled if len(one.readings) < len(best.readings) and one.fit.total <= most]


def _settle(truth: Truth, answered: Answered, most: int, *, is_fitted: bool = False) -> _Settled:
    """The readings of the answers under which the policy agrees best with the data set, one after the other."""
    fit, chosen, alike = DataFit.of(truth, answered, most), list[Reading](), tuple[str, ...]()
    while len(chosen) < MAX_CHANGES and not fit.is_all_explained:
        known = {reading.aspect for reading in chosen}
        ideas = FITTED if is_fitted else READINGS
        possible = [reading for reading in readings(truth, answered, ideas) if reading.aspect not in known]
        tried = [(reading, DataFit.of(truth, reading.answered, most)) for reading in possible]
        better = [(r, one) for r, one in tried if one.improves_on(fit, r.must_explain, r.must_leave, r.must_gain)]
        if not better:
            break
        (reading, fit), others = _chosen(better, lambda pair: pair[1].total, truth)
        alike = tuple(other.sentence for other, _ in others)
        chosen.append(reading)
        answered = reading.answered
    return _Settled(tuple(chosen), alike, answered, fit)


def _chosen(better: Sequence[T], total: Callable[[T], float], truth: Truth) -> tuple[T, list[T]]:
    """The best, and those that cannot be told apart from it."""
    best = min(better, key=total)
    most = ALIKE * total(best) + ALIKE_OF_ALL * len(truth.components)
    return best, [one for one in better if one is not best and total(one) <= most]


def _verdict(
    found: _Found, truth: Truth, show: _Show, data: DataSet, notes: tuple[str, ...], most: int, preset: Preset
) -> DataVerdict:
    fit, shares = found.fit, found.fit.shares
    errors = found.answered.errors
    rows = min(most, found.answered.numbers.shape[1])
    read = len(np.unique(truth.episodes))
    kind = truth.space or "the data set's own numbers"
    guess = "the action before, held" if truth.is_absolute else "the mean action"
    compared = (
        f"Compared: {_count(rows, 'action')} of each answer with the data set's next, in {kind} "
        f"({len(truth.names)} numbers: {', '.join(truth.names[:4])}{', …' if len(truth.names) > 4 else ''}), on "
        f"{len(truth.frames)} frames of {read} of {_count(len(data), 'episode')}. Explained is what is nearer than "
        f"{guess}; for a gripper, than its mean."
    )
    poor = [name for name, share in shares.items() if share <= COMPETENT]
    reason = ""
    if len(truth.frames) - errors < max(FEWEST_FRAMES, len(truth.frames) / 2):
        reason = f"Only {len(truth.frames) - errors} of {len(truth.frames)} frames were answered."
    elif not shares:
        reason = "On these frames the data set's actions do not change."
    elif poor and (not found.changes or float(np.mean(list(shares.values()))) <= COMPETENT):
        reason = (
            f"The policy's answers are not the data set's actions under any hypothesis: it explains {_told(shares)}, "
            f"and the probe needs {COMPETENT:.0%} of each. It did not learn from these data, or several things are off."
        )
    undecided: dict[str, None] = {}
    if not reason:
        undecided = dict.fromkeys(other.aspect for other, one in found.tried if not fit.improves_on(one))
        undecided = {name: None for name in undecided if name not in {change.aspect for change in found.changes}}
    return DataVerdict(
        policy_explains=not reason, changes=found.changes if not reason else (),
        alike=found.alike if not reason else (), declared=found.first.shares, explained=shares,
        undecided=tuple(undecided), compared=compared,
        notes=(*notes, *(_horizon(fit, preset) if not reason else ())), frames=len(truth.frames), episodes=read,
        errors=errors, first_error=show.first_error, reason=reason,
    )  # fmt: skip


def _horizon(fit: DataFit, preset: Preset) -> Iterator[str]:
    """How much of a chunk can be executed before the policy is asked again."""
    by_step = fit.explained_by_step
    good = next((k for k, share in enumerate(by_step) if share <= COMPETENT), len(by_step))
    if 0 < good < len(by_step):
        executed = f"{preset.replan}" if preset.replan else "all"
        yield (
            f"Replanning: the first {_count(good, 'action')} of a chunk explain more than {COMPETENT:.0%}, action "
            f"{good + 1} explains {by_step[good]:.0%}; the preset executes {executed} before the next query."
        )


def _rates(preset: Preset, features: Features) -> Iterator[str]:
    if features.hz is not None and abs(features.hz - preset.hz) > 1e-3:
        yield (
            f"The preset {preset.name} says {preset.hz:g} Hz and the data set {features.hz:g} Hz: answers are compared "
            "step by step of the data set."
        )


def _reader(preset: Preset, features: Features) -> Preset:
    """Reads answers as RoboDx's actions if the data set has those, and otherwise leaves their numbers as they are."""
    if declared_space(features) is not None:
        # Past the middle or not is too coarse to tell one range of a gripper from another.
        return replace(preset, actions=replace(preset.actions, gripper_is_binary=False))
    return replace(preset, arms=1, actions=Actions(space="joint", keys=preset.actions.keys))


class _Show:
    """Asks the policy about all frames, once for each way in which they can be shown."""

    def __init__(self, policy: RemotePolicy, truth: Truth, reader: Preset, advance: Advance) -> None:
        self._policy, self._truth, self._reader, self._advance = policy, truth, reader, advance
        self._seen: dict[str, Answered] = {}
        self._asked = 0
        self._token = uuid4().hex[:8]
        self.first_error: str | None = None

    def __call__(self, showing: Showing) -> Answered:
        key = repr((showing.pictures, showing.swapped, showing.state))
        if key not in self._seen:
            # The state is not as RoboDx has it, and is sent beside what the preset makes of the rest.
            rest = replace(showing.preset, state={})
            chunks = [self._ask(frame, showing, rest) for frame in self._truth.frames]
            width = len(self._truth.names)
            known = [chunk for chunk in chunks if chunk is not None]
            widths = {chunk.shape[1] for chunk in known}
            if widths - {width}:
                found = " or ".join(map(str, sorted(widths)))
                raise Incomparable(
                    f"cannot be compared: the policy answers {found} numbers ({self._policy.preset.actions.space}, "
                    f"preset {self._policy.preset.name}), and the data set's actions have {width} "
                    f"({', '.join(self._truth.names)})"
                )
            longest = max((len(chunk) for chunk in known), default=1)
            numbers = np.full((len(chunks), longest, width), np.nan)
            for row, chunk in enumerate(chunks):
                if chunk is not None:
                    numbers[row, : len(chunk)] = chunk
            self._seen[key] = Answered(numbers)
        return self._seen[key]

    def _ask(self, frame: DataFrame, showing: Showing, rest: Preset) -> Array | None:
        """Each showing of an episode is an episode of its own, and its frames come in their order."""
        wire, preset = self._policy.wire, showing.preset
        episode = f"data-{frame.episode}-probe-{len(self._seen)}-{self._token}"
        if frame.is_first:
            wire.start(episode, frame.instruction)
        start = EpisodeStart(episode, 0, frame.task, "", frame.episode, 0, frame.instruction)
        seen = Observation(
            episode, frame.step, frame.step / preset.hz, frame.instruction, {}, images=showing.images(frame)
        )
        request = {
            **rest.request(seen, start),
            **split_state(preset, showing.vectors(frame)),
        }
        (reply,) = wire.ask([(episode, request)])
        if frame.is_last:
            wire.finish(episode)
        self._asked += 1
        self._advance(self._asked, len(self._truth.frames) * (len(self._seen) + 1))
        return self._read(reply)

    def _read(self, reply: Reply | WireError) -> Array | None:
        try:
            if isinstance(reply, WireError):
                raise reply
            return self._reader.chunk(reply).astype(float)
        except (InvalidAction, WireError) as error:
            self.first_error = self.first_error or str(error).strip().splitlines()[-1]
            return None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _told(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items()) or "nothing"
