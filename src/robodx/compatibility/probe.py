"""Finds wrong conventions by behaviour: shows a policy what the expert saw, and compares what the two would do.

No server says that its gripper is the other way round or that it wants its pictures upside down. But a policy that can
do something at all agrees with the expert about the next motion, if its numbers are read as they are meant. So each
change of the preset is a hypothesis. What is better than what was declared, by a margin and beyond chance, is named;
what cannot be told apart from it is listed; and nothing is said of a policy that agrees under no hypothesis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from robodx.compatibility.fit import Fit, Motions
from robodx.compatibility.hypotheses import Change, between, grippers, motions, scales, views_of
from robodx.compatibility.showing import Advance, Demonstrations, Showing
from robodx.compatibility.verdict import Verdict
from robodx.errors import UserError
from robodx.policy_contract import Policy, PolicySpec
from robodx.records.trial import DEFAULT_ROBOT
from robodx.sim.robot import ROBOTS
from robodx.streams import FIRST_TRAINING_SEED
from robodx.wires.local import Local
from robodx.wires.preset import Preset
from robodx.wires.remote import RemotePolicy

# Grasps, turns of the wrist, sideways motion, colours, sides and words: what tells conventions apart.
TASKS = (
    "control/stack_cube", "spatial/place_between", "language/direct", "control/insert_peg", "spatial/pick_leftmost",
    "perception/touch_red_sphere", "primitive/pick_cube",
)  # fmt: skip
# Situations of each task. Hypotheses that are told apart early are not shown the later ones.
SEEDS = 8
# Demonstrations after which hypotheses are compared for the first time.
FIRST_ROUND = 3
MAX_CHANGES = 4
# Pairs of mistakes that hide each other are tried if less than this is explained: so many of the best single changes of
# what is seen, each with all others.
SURE, PAIRED = 0.9, 3
# As long as no hypothesis makes the policy competent, so many of the best are shown more.
MOST_OPEN = 6


def probe(
    policy: Policy,
    *,
    tasks: Sequence[str] = TASKS,
    seeds: int = SEEDS,
    robot: str = DEFAULT_ROBOT,
    every: int = 1,
    advance: Advance | None = None,
) -> Verdict:
    """Show a policy the expert's demonstrations, and name the conventions under which it agrees with the expert.

    The policy is asked again when its actions would have been executed, but not before `every` steps of the expert.
    """
    refuse_to_probe(policy.spec, robot)
    if not isinstance(policy, RemotePolicy):
        local = Local(policy)
        policy = RemotePolicy(local, local.endpoint.preset)
    episodes = [(task, FIRST_TRAINING_SEED + seed) for seed in range(seeds) for task in tasks]
    showing = Showing(
        policy, Demonstrations(episodes, robot, policy.preset.spec), every, advance or (lambda done, total: None)
    )
    # A demonstration's first frames are as good as any: nothing settles here.
    return _Search(showing, replace(policy.preset, settle_steps=0), len(tasks), len(episodes)).verdict(policy.preset)


def refuse_to_probe(spec: PolicySpec, robot: str) -> None:
    """What can be known beforehand to lead nowhere."""
    if spec.is_privileged:
        raise UserError("the probe is for policies with conventions: this one uses the simulator's state")
    if len(ROBOTS[robot].groups) != 1:
        raise UserError(f"the probe works only with a robot of one arm, and {robot} has {ROBOTS[robot].said}")


@dataclass(frozen=True)
class _Idea:
    """A hypothesis: the preset as it should be, and the changes of how actions are read that lead there."""

    preset: Preset
    readings: Mapping[str, Change] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Tried:
    """A hypothesis with what was measured of it."""

    idea: _Idea
    motions: Motions
    fit: Fit


@dataclass(frozen=True)
class _Contest:
    """What came of comparing hypotheses: the best, and those that cannot be told apart from it."""

    best: _Tried
    is_better: bool
    undecided: list[_Tried]
    without_effect: list[_Tried]
    # All that were compared, the best first.
    order: list[_Tried]


class _Search:
    """Goes from what was declared to what is better, one or two changes at a time, as long as there is something."""

    def __init__(self, showing: Showing, declared: Preset, tasks: int, episodes: int) -> None:
        self._showing, self._declared, self._tasks = showing, declared, tasks
        ends = [min(FIRST_ROUND, tasks), *range(tasks, episodes + 1, tasks)]
        # Demonstrations that hypotheses have been shown when they are compared.
        self._rounds = [range(end) for end in dict.fromkeys(ends)]
        self._sizes = self._motions(declared, range(tasks)).sizes

    def verdict(self, given: Preset) -> Verdict:
        current, alike = _Idea(self._declared), list[_Tried]()
        first = self._tried(current, range(self._tasks))
        for _ in range(MAX_CHANGES):
            singles = self._contest(current, [change.preset for change in views_of(current.preset)])
            contest = singles
            if not singles.is_better and singles.best.fit.explains < SURE:
                pairs = [
                    change.preset
                    for one in [one for one in singles.order if one.idea.preset != current.preset][:PAIRED]
                    for change in views_of(replace(one.idea.preset, actions=current.preset.actions))
                ]
                contest = self._contest(current, pairs)
            if not contest.is_better:
                break
            current = contest.best.idea
            alike += contest.undecided
        # A part of what was adopted later is no other way.
        adopted, others = set(self._changes(current)), [self._changes(one.idea) for one in alike]
        said = [" and ".join(changes) for changes in others if not adopted.issuperset(changes)]
        return self._said(contest if contest.is_better else singles, said, first, given)

    def _changes(self, idea: _Idea) -> list[str]:
        changes = (*between(self._declared, idea.preset), *idea.readings.values())
        return [change.sentence for change in changes] or ["all is as declared"]

    def _contest(self, current: _Idea, views: Sequence[Preset]) -> _Contest:
        """Compare ways of showing with the current one, on ever more demonstrations, until all are told apart."""
        different = {_shown(view): view for view in views}
        different.pop(_shown(current.preset), None)
        ideas = [_Idea(view, current.readings) for view in different.values()]
        out, without_effect = list[_Tried](), list[_Tried]()
        for indices in self._rounds:
            self._showing.plan([current.preset, *(idea.preset for idea in ideas)], indices)
            base = self._settled(current, indices, is_current=True)
            tried = sorted((self._beside(base, idea, indices) for idea in ideas), key=lambda one: one.fit.loss)
            best = min([base, *tried], key=lambda one: one.fit.loss)
            if len(indices) >= self._tasks:
                same = [one for one in tried if one.motions.same_as(base.motions, self._sizes)]
                without_effect += same
                tried = [one for one in tried if one not in same]
            worse = [one for one in tried if best.fit.is_better_than(one.fit)]
            tried = [one for one in tried if one not in worse]
            is_better = len(indices) >= self._tasks and best.fit.is_better_than(base.fit)
            if is_better and tried == [best]:
                break
            if not best.fit.is_competent:
                # Nothing is to be told apart here: what helps stands out.
                worse, tried = [*worse, *tried[MOST_OPEN:]], tried[:MOST_OPEN]
            out += worse
            # As they were before they were settled: more demonstrations may settle them otherwise.
            open_views = {_shown(one.idea.preset) for one in tried}
            ideas = [idea for idea in ideas if _shown(idea.preset) in open_views]
            if not ideas or (not best.fit.is_competent and len(indices) >= 2 * self._tasks):
                break
        if is_better:
            # Others may be as much better: more than one mistake explains what is seen.
            return _Contest(best, True, [one for one in tried if one is not best], [], [])
        order = sorted([*tried, *out], key=lambda one: one.fit.loss)
        is_read_otherwise = base.idea.preset != current.preset
        return _Contest(base, is_read_otherwise, [] if is_read_otherwise else tried, without_effect, order)

    def _beside(self, base: _Tried, idea: _Idea, indices: Sequence[int]) -> _Tried:
        """Another way of showing. Where the current one explains too little, two mistakes may hide each other."""
        if not base.fit.is_competent:
            return self._settled(idea, indices)
        preset = replace(idea.preset, actions=base.idea.preset.actions)
        return self._tried(_Idea(preset, base.idea.readings), indices)

    def _settled(self, idea: _Idea, indices: Sequence[int], *, is_current: bool = False) -> _Tried:
        """The changes of how actions are read that make the policy agree better with the expert, one after another."""
        best = self._tried(idea, indices)
        for _ in range(MAX_CHANGES):
            better = [
                one for change, one in self._readings(best, indices, is_current)
                if one.fit.is_better_than(best.fit)
                and (change.component is None or one.fit.shares[change.component] >= change.must_explain)
            ]  # fmt: skip
            if not better:
                break
            # Two changes at once only where neither is better by itself.
            fewest = min(len(one.idea.readings) for one in better)
            best = min((one for one in better if len(one.idea.readings) == fewest), key=lambda one: one.fit.loss)
        return best

    def _readings(self, one: _Tried, indices: Sequence[int], is_current: bool) -> Iterator[tuple[Change, _Tried]]:
        """Every other reading of the same answers; where the meaning of a motion changes, its scale may too."""
        plain = one.idea.preset
        for change in grippers(plain):
            found = one.motions.regripped(plain.actions, change.preset.actions)
            idea = _Idea(change.preset, {**one.idea.readings, change.about: change})
            yield change, _Tried(idea, found, Fit.of(found, self._sizes))
        for change in scales(plain, one.motions.pairs):
            yield change, self._read(one.idea, indices, change)
        for change in motions(plain):
            other = self._read(one.idea, indices, change)
            yield change, other
            for scale in scales(change.preset, other.motions.pairs) if is_current else ():
                yield scale, self._read(other.idea, indices, scale)

    def _read(self, idea: _Idea, indices: Sequence[int], change: Change) -> _Tried:
        return self._tried(_Idea(change.preset, {**idea.readings, change.about: change}), indices)

    def _tried(self, idea: _Idea, indices: Sequence[int]) -> _Tried:
        found = self._motions(idea.preset, indices)
        return _Tried(idea, found, Fit.of(found, self._sizes))

    def _motions(self, preset: Preset, indices: Sequence[int], words: str | None = None) -> Motions:
        return Motions.of(preset, [self._showing(preset, index, words) for index in indices])

    def _said(self, contest: _Contest, alike: Sequence[str], first: _Tried, given: Preset) -> Verdict:
        best = contest.best
        is_competent = best.fit.is_competent and best.fit.errors <= len(best.motions.units) / 2
        changes = (*between(self._declared, best.idea.preset), *best.idea.readings.values())
        indices = range(1 + int(best.motions.units[:, 0].max()))
        undecided, untested = list(alike), list[str]()
        if is_competent:
            for one in contest.undecided:
                undecided += [change.sentence for change in between(best.idea.preset, one.idea.preset)]
            for one in contest.without_effect:
                untested += [change.sentence for change in between(best.idea.preset, one.idea.preset)]
            for change, one in self._readings(best, indices, False):
                if change.component is None and not best.fit.is_better_than(one.fit):
                    is_same = one.motions.same_as(best.motions, self._sizes)
                    (untested if is_same else undecided).append(change.sentence)
            if best.idea.preset.prompt:
                self._test_words(best, undecided, untested)
        return Verdict(
            is_competent=is_competent,
            changes=changes if is_competent else (),
            preset=replace(best.idea.preset, settle_steps=given.settle_steps) if is_competent else given,
            declared=first.fit.shares,
            explained=best.fit.shares,
            undecided=tuple(dict.fromkeys(undecided)),
            untested=tuple(dict.fromkeys(untested)),
            frames=len(best.motions.units),
            demonstrations=len(indices),
            errors=best.fit.errors,
            first_error=self._showing.first_error,
        )

    def _test_words(self, best: _Tried, undecided: list[str], untested: list[str]) -> None:
        """A policy that acts alike without its instruction shows nothing of how it takes it."""
        indices = range(2 * self._tasks)[: len(self._rounds[-1])]
        silent = self._motions(best.idea.preset, indices, words="")
        spoken = self._tried(best.idea, indices)
        if silent.same_as(spoken.motions, self._sizes):
            untested.append("it uses the instruction")
        elif not spoken.fit.is_better_than(Fit.of(silent, self._sizes)):
            undecided.append("it does as well without the instruction")


def _shown(preset: Preset) -> str:
    """What is seen through a preset, whatever its actions mean."""
    return repr((preset.images, preset.state, preset.state_angles))
