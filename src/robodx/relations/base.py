"""What a metamorphic relation is: a change of a source trial, and what it should do to the path of the hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from robodx.errors import UserError
from robodx.interventions.base import NotApplicable, intervened
from robodx.interventions.changing import target_of
from robodx.policy_contract import PolicySpec
from robodx.records.trial import Trial
from robodx.records.values import Applied, Factor
from robodx.registry import Registry, require
from robodx.relations.differences import Part, differences
from robodx.sim.scene import CAMERAS
from robodx.streams import Streams
from robodx.tasks.base import TASKS, Situation

# What the two paths should be: as near as the policy's own noise; apart; or apart by about as much as the target moved.
Pattern = Literal["consistency", "variation", "relocation"]
# Which path is expected of the follow-up: the source's, as it is, in a mirror or moved along; or none at all.
Frame = Literal["same", "mirrored", "moved", "at rest"]
AND = re.compile(r"\s*[&+]\s*")


@dataclass(frozen=True)
class Source:
    """A trial, what it looks like, and where the hand went in it, if that is known: positions (n, 3)."""

    trial: Trial
    situation: Situation
    path: npt.NDArray[np.float64] | None = None

    @classmethod
    def of(cls, trial: Trial, path: npt.NDArray[np.float64] | None = None) -> Source:
        placed = TASKS[trial.task].placed(trial.seed)
        # As an intervention would leave it, so that the two may be compared.
        timed = replace(placed, time_limit_s=placed.time_limit_s or TASKS[trial.task].time_limit_s)
        return cls(trial, intervened(timed, trial.interventions, trial.seed, trial.task), path)


class FollowUp(NamedTuple):
    """A source's trial with a change, and by how much that moved the target."""

    trial: Trial
    moved: tuple[float, float]


# Of a source, the interventions that would do, the first that applies being taken; `NotApplicable` is for these to say.
Ways = Callable[[Source, np.random.Generator], Iterable[tuple[Applied, ...]]]
# Whether a changed situation will do, given where the hand went in the source.
Accepts = Callable[[Source, Situation], bool]


@dataclass(frozen=True)
class Relation:
    """A change by interventions, and what is expected of the path."""

    name: str
    # In a word or two: "distractor".
    title: str
    summary: str
    pattern: Pattern
    ways: Ways
    # In what a follow-up may differ from its source, and in nothing else.
    changes: frozenset[Part]
    frame: Frame = "same"
    accepts: Accepts | None = None
    # Of sources of its own, where those of all others say nothing of it: tried first.
    prepares: Ways | None = None

    def reaches(self, spec: PolicySpec) -> bool:
        """Whether a policy is given any of what it changes: without a camera it is no matter how bright it is."""
        standing = {camera.name for camera in CAMERAS} & {request.name for request in spec.cameras}
        is_given = {"words": spec.uses_language, "what counts": False, "cameras": bool(standing)}
        is_given |= dict.fromkeys(("light", "room"), bool(spec.cameras))
        return any(is_given.get(part, True) for part in self.changes)

    def prepared(self, trial: Trial) -> Trial:
        """The source that it is asked of."""
        if self.prepares is None:
            return trial
        source = Source.of(trial)
        changed = self._first(source, self.prepares, "source")
        return trial if changed is None else changed[0]

    def follow_up(self, source: Source) -> FollowUp:
        """The source's trial with the change; its draws are from a stream of its own."""
        changed = self._first(source, self.ways, "follow-up", self._is_as_declared)
        if changed is None:
            raise NotApplicable(f"{self.name} cannot be asked of {source.trial.task} at seed {source.trial.seed}")
        trial, situation = changed
        return FollowUp(trial, _moved(source.situation, situation))

    def _is_as_declared(self, source: Source, situation: Situation) -> bool:
        is_accepted = self.accepts is None or self.accepts(source, situation)
        changed = differences(source.situation, situation)
        return is_accepted and bool(changed) and changed <= self.changes

    def _first(
        self, source: Source, ways: Ways, stream: str, accepts: Accepts = lambda source, situation: True
    ) -> tuple[Trial, Situation] | None:
        trial = source.trial
        rng = Streams(trial.seed).rng(f"metamorphic/{self.name}/{stream}", trial.task)
        for applied in ways(source, rng):
            if {name for name, _ in applied} & {name for name, _ in trial.interventions}:
                # An intervention is made once.
                continue
            try:
                situation = intervened(source.situation, applied, trial.seed, trial.task)
            except NotApplicable:
                continue
            if accepts(source, situation):
                return replace(trial, interventions=(*trial.interventions, *applied)), situation
        return None

    def factors(self, moved: tuple[float, float] = (0.0, 0.0)) -> tuple[Factor, ...]:
        """As the design table has it: all that is needed to judge a pair by its paths."""
        said: tuple[Factor, ...] = (("relation", self.name), ("pattern", self.pattern), ("frame", self.frame))
        is_moved = self.pattern == "relocation" or self.frame == "moved"
        return (*said, ("moved_x", moved[0]), ("moved_y", moved[1])) if is_moved else said

    def __and__(self, other: Relation) -> Relation:
        """Both changes at once, and what is expected of both."""
        if twice := set(AND.split(self.name)) & set(AND.split(other.name)):
            raise UserError(f"the relation {min(twice)} is named twice in {self.name} & {other.name}")
        patterns = {self.pattern, other.pattern} - {"consistency"}
        frames = {self.frame, other.frame} - {"same"}
        if len(patterns) > 1 or len(frames) > 1 or (patterns and frames):
            raise UserError(f"nobody knows what path to expect of {self.name} & {other.name}")
        ways = _both(self.ways, other.ways)
        accepting = [each.accepts for each in (self, other) if each.accepts is not None]

        def accepts(source: Source, situation: Situation) -> bool:
            return all(each(source, situation) for each in accepting)

        return Relation(
            f"{self.name} & {other.name}",
            f"{self.title} and {other.title}",
            f"{self.summary} {other.summary}",
            pattern=next(iter(patterns), "consistency"),
            ways=ways,
            changes=self.changes | other.changes,
            frame=next(iter(frames), "same"),
            accepts=accepts if accepting else None,
            prepares=self.prepares or other.prepares,
        )


def _both(one: Ways, other: Ways) -> Ways:
    def ways(source: Source, rng: np.random.Generator) -> Iterator[tuple[Applied, ...]]:
        first, second = rng.spawn(2)
        for a, b in product(list(one(source, first)), list(other(source, second))):
            yield (*a, *b)

    return ways


def _moved(before: Situation, after: Situation) -> tuple[float, float]:
    """By how much the target lies elsewhere; it may be called otherwise, and is told by its place in the list."""
    target = target_of(before)
    now = after.scene.things[[thing.name for thing in before.scene].index(target.name)]
    (x, y, _), (to_x, to_y, _) = target.pose.position, now.pose.position
    return (to_x - x, to_y - y)


RELATIONS: Registry[Relation] = Registry("relation", "relations")


def relation(
    name: str,
    title: str,
    *,
    pattern: Pattern,
    changes: Iterable[Part],
    frame: Frame = "same",
    accepts: Accepts | None = None,
    prepares: Ways | None = None,
) -> Callable[[Ways], Ways]:
    """Register the decorated function, which says by which interventions; its docstring is the summary."""
    require("pattern", pattern, get_args(Pattern))
    require("frame", frame, get_args(Frame))
    declared = frozenset(changes)
    for part in declared:
        require("part of a situation", part, get_args(Part))
    if AND.search(name) or "/" in name:
        raise UserError(f'the name of a relation has no "&", "+" or "/" in it, unlike "{name}"')

    def register(ways: Ways) -> Ways:
        summary = " ".join((ways.__doc__ or "").split())
        RELATIONS.add(name, Relation(name, title, summary, pattern, ways, declared, frame, accepts, prepares))
        return ways

    return register


def every_relation() -> list[Relation]:
    """In the order of their numbers: MR2 before MR10."""
    return sorted(RELATIONS.entries(), key=lambda each: (re.sub(r"\d+$", "", each.name), len(each.name), each.name))


def find_relation(text: str) -> Relation:
    """By its name, or several joined by "&": "MR1 & MR3"."""
    first, *others = (RELATIONS[name] for name in AND.split(text.strip()))
    for other in others:
        first = first & other
    return first


def in_any_order(values: Iterable[Applied], rng: np.random.Generator) -> Iterator[tuple[Applied, ...]]:
    """One intervention each, drawn without preference."""
    every = list(values)
    yield from ((every[place],) for place in rng.permutation(len(every)))
