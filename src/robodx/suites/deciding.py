"""Which pairs to run next: those of the conditions by which the most failures might still be explained."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from typing import get_args

import numpy as np
import polars as pl

from robodx.analysis.findings.base import REFUTED
from robodx.analysis.findings.conditions import LEAST_INSIDE, Condition, Features, Mask
from robodx.analysis.findings.decisions import PairSeen
from robodx.analysis.findings.factors import factors_of
from robodx.analysis.findings.proposals import ALIKE, Screened, phi, suspects
from robodx.records.design import Planned
from robodx.records.features import NO, features_of_row
from robodx.records.trial import Trial
from robodx.suites.base import SuiteRequest
from robodx.suites.costs import costly_variants
from robodx.suites.hypotheses import BATCH, PATIENCE, Hypothesis
from robodx.suites.narrowing import narrow, starts
from robodx.suites.pairs import (
    GENERATED,
    MOST_GENERATED,
    SUITE,
    Effect,
    Fresh,
    Pair,
    can_change,
    can_undo,
    expert_needs,
    fresh_situations,
    pairs,
    variant_pairs,
)
from robodx.tasks.base import TASKS

EFFECTS: tuple[Effect, ...] = get_args(Effect)
# Episodes of pairs, at most, for each situation a task in the screening; of how many conditions some are run at a time.
MOST_EPISODES = 260
AT_A_TIME = 3
# Conditions that are tested at most after a screening, the best first.
MOST_TESTED = 12
# Fewer failures than this that nothing explains yet are not worth a test.
LEAST_UNEXPLAINED = 2
# Where fewer of the factorial's situations succeed, it can show nothing, and other tasks take its place.
FLOOR = 0.2
# Failures that the first conditions do not explain are screened again; what does not suffice by itself is crossed with
# what may be needed beside it: what each of the three may spend of the error.
SHARES = (0.55, 0.35, 0.1)
# Where a failure was narrowed down to what matters, that is decided first.
NARROWED_SHARES = (0.3, 0.35, 0.25, 0.1)
# What fails less often than this where it is put in may need something beside it.
PARTLY = 0.75
# Tasks of which so many situations are solved are mostly solved.
MOSTLY = 0.5
# Differences that narrowing may leave, at most.
MOST_LEFT = 2


class Deciding:
    """The pairs of one diagnosis. Given the same episodes it plans the same, so that a killed run goes on."""

    def __init__(
        self, screened: pl.DataFrame, request: SuiteRequest, tasks: Sequence[str], first_seed: int,
        costly: Sequence[Condition] = (),
    ) -> None:  # fmt: skip
        """`costly` are changes of the surroundings that cost a success in the screening."""
        self._request, self._first_seed, self._costly = request, first_seed, costly
        self._first_fresh = first_seed
        self._most_episodes = MOST_EPISODES * request.seeds
        self._has_words = request.spec is None or request.spec.uses_language
        self._screened = screened
        self._base = screened.filter(pl.col("is_base") & (pl.col("outcome") != "error"))
        self._trials = [features_of_row(row) for row in self._base.iter_rows(named=True)]
        self._failed: Mask = ~self._base["success"].to_numpy()
        # Of a condition, which of the screened trials it holds in.
        self._among: Callable[[Condition], Mask] = cache(partial(Condition.among, trials=self._trials))
        self._known: list[Hypothesis] = []
        of_factorial = self._base.filter(pl.col("task") == GENERATED)["success"].mean()
        # Where nearly all fails anyway, it is as good as the others.
        self._is_telling = isinstance(of_factorial, float) and (
            of_factorial >= FLOOR or self._failed.mean() > 1 - FLOOR
        )
        self._tasks = tasks
        rates = self._base.group_by("task").agg(pl.col("success").mean())
        self._solved = set(rates.filter(pl.col("success") >= MOSTLY)["task"])
        self._needs = expert_needs(self._base["task"].to_list(), self._trials)

    def plan(self, done: pl.DataFrame) -> list[Planned]:
        """Pairs, a batch at a time, as the outcomes so far call for them; what is not run yet ends the plan."""
        outcomes: dict[str, bool] = dict(
            done.filter(pl.col("outcome") != "error").select("trial_id", "success").iter_rows()
        )
        erred = set(done.filter(pl.col("outcome") == "error")["trial_id"])
        planned, self._known, is_pending = self._narrowed({**dict.fromkeys(erred, False), **outcomes})
        if is_pending:
            return planned
        *shares, for_crossing = NARROWED_SHARES[1:] if self._known else SHARES
        for turn, share in enumerate(shares):
            # Situations whose outcomes told what is left to explain are not fresh any more.
            self._first_fresh = self._first_seed + turn * MOST_GENERATED
            again = self._hypotheses(turn, share)
            asked = {one.condition for one in again}
            self._known = [*(one for one in self._known if one.condition not in asked), *again]
            if not self._is_done(self._known, planned, outcomes, erred):
                return planned
            if not self._is_persevered(planned, outcomes, erred):
                return planned
        self._first_fresh = self._first_seed + len(shares) * MOST_GENERATED
        for one in self._crossed(done, for_crossing):
            if not self._is_done([one], planned, outcomes, erred):
                return planned
            if one.tally.certainty not in REFUTED:
                break
        self._is_done(self._known, planned, outcomes, erred, excluding=True)
        return planned

    def _is_done(
        self,
        hypotheses: Sequence[Hypothesis],
        planned: list[Planned],
        outcomes: Mapping[str, bool],
        erred: Collection[str],
        *,
        excluding: bool = False,
    ) -> bool:
        """Plans pairs and notes what came of them; False where some have to be run yet."""
        while batch := self._batch(hypotheses, (self._most_episodes - len(planned)) // 2, excluding):
            planned += [one for each, pair in batch for one in pair.planned(each.tests, each.turn, self._first_seed)]
            trials = [trial.id for _, pair in batch for trial in (pair.treated, pair.placebo)]
            if any(trial not in outcomes and trial not in erred for trial in trials):
                return False
            for each, pair in batch:
                if pair.treated.id in outcomes and pair.placebo.id in outcomes:
                    seen = PairSeen(
                        pair.intervention, pair.value, pair.treated.id, pair.placebo.id,
                        outcomes[pair.treated.id], outcomes[pair.placebo.id],
                    )  # fmt: skip
                    (each.undo if pair.effect == "undo" else each.put_in).append(seen)
        return True

    def _is_persevered(self, planned: list[Planned], outcomes: Mapping[str, bool], erred: Collection[str]) -> bool:
        """More pairs of what gained something where it was undone, if all that are left may decide on it.

        One at a time, the soonest first; False where some have to be run yet.
        """
        while True:
            most = (self._most_episodes - len(planned)) // 2
            unexplained = self._unexplained(self._known)
            hopeful = [
                (one.tally.undone.pairs_more or 0, place, one)
                for place, one in enumerate(self._known)
                if one.is_hopeful(most) and one.tally.undone and not self._is_moot(one, unexplained)
            ]
            if not hopeful:
                return True
            _, _, best = min(hopeful)
            best.patience = len(best.undo) + 1
            if not self._is_done(self._known, planned, outcomes, erred):
                return False

    def _crossed(self, done: pl.DataFrame, share: float) -> list[Hypothesis]:
        """Of what explains some of the failures that have it, that with the most of them: with another beside it.

        First where the other does not hold: taking it away must gain nothing there.
        """
        shown = [one for one in self._known if one.tally.certainty in ("cause", "needed")]
        left = self._failed & ~np.any([np.zeros_like(self._failed), *(one.inside for one in shown)], axis=0)
        partly = [(int((one.inside & self._failed).sum()), one) for one in shown if one.tally.put_share < PARTLY]
        hinted = [(int((one.inside & left).sum()), one) for one in self._known if one.is_hinted]
        most, one = max(partly or hinted, key=lambda each: each[0], default=(0, None))
        other = None if one is None or most < LEAST_UNEXPLAINED else self._beside(one, done)
        if one is None or other is None:
            return []
        levels = {features.get(other.attribute, NO) for features in self._trials} - {*other.levels}
        return [
            Hypothesis(
                one.condition,
                one.inside & self._among(given),
                2 / share,
                {effect: self._pairs(one.condition, effect, given=given) for effect in effects},
                given=given,
                patience=patience,
            )
            for given, effects, patience in (
                (Condition(other.attribute, tuple(sorted(levels))), EFFECTS[:1], BATCH), (other, EFFECTS, PATIENCE),
            )
        ]  # fmt: skip

    def _beside(self, one: Hypothesis, done: pl.DataFrame) -> Condition | None:
        """Of all trials that have it, as they are or because of a pair: what tells best which of them fail."""
        ids = [*(pair.placebo for pair in one.undo), *(pair.treated for pair in one.put_in)]
        paired = done.filter(pl.col("trial_id").is_in(ids) & (pl.col("outcome") != "error")).sort("trial_id")
        trials = [self._trials[place] for place in np.flatnonzero(one.inside)]
        trials += [features_of_row(row) for row in paired.iter_rows(named=True)]
        failed = np.concatenate([self._failed[one.inside], ~paired["success"].to_numpy()])
        # What the expert needs is known when it has run, and where the condition itself changes nothing can be tested.
        told = [
            {name: level for name, level in each.items() if not name.startswith("expert_") and not one.is_about(name)}
            for each in trials
        ]
        return next((each.condition for each in suspects(Screened.of(told, failed))), None)

    def _narrowed(self, outcomes: Mapping[str, bool]) -> tuple[list[Planned], list[Hypothesis], bool]:
        """Where nearly all fails, the differences between a failure and the nearest success that matter."""
        if not self._failed.any() or self._failed.mean() <= 1 - FLOOR or self._failed.all():
            return [], [], False
        trials = [
            (Trial.of_row(row), features, not failed)
            for row, features, failed in zip(self._base.iter_rows(named=True), self._trials, self._failed, strict=True)
        ]
        planned: list[Planned] = []
        found: dict[Condition, Features] = {}
        for start in starts(trials):
            steps, least = narrow(start, outcomes)
            planned += steps
            if least is None and steps[-1].trial.id not in outcomes:
                return planned, [], True
            # Where two are left, each of them suffices to fail: it is tested where the other is as in the success.
            for own in least if least is not None and len(least) <= MOST_LEFT else ():
                others = {one.attribute for change, one in start.conditions.items() if change != own}
                found.setdefault(start.conditions[own], {name: start.like.get(name, "no") for name in others})
        tests = 2 * len(found) / NARROWED_SHARES[0]
        return planned, [self._near(one, like, tests) for one, like in found.items()], False

    def _near(self, condition: Condition, like: Features, tests: float) -> Hypothesis:
        """To be decided in situations that are like the success in all else, for nothing else succeeds."""

        def within(features: Features) -> bool:
            return all(features.get(name, "no") == level for name, level in like.items())

        streams: dict[Effect, Iterator[Pair]] = {effect: self._pairs(condition, effect, within) for effect in EFFECTS}
        return Hypothesis(condition, self._among(condition), tests, streams)

    def _hypotheses(self, turn: int, share: float) -> list[Hypothesis]:
        """What the failures suggest that nothing known explains; also again what a cause may have hidden so far."""
        shown = [one.inside for one in self._known if one.is_shown]
        left = np.flatnonzero(~np.any([np.zeros_like(self._failed), *shown], axis=0))
        trials = [self._trials[place] for place in left]
        types = self._base["failure_type"].to_numpy()[left]
        modes = [types == name for name in sorted({str(name) for name in types if name is not None})]
        found = suspects(Screened.of(trials, self._failed[left]), modes)
        tested = {one.condition for one in self._known if not self._was_hidden(one)}
        costly = () if turn else self._costly
        wanted = dict.fromkeys([*costly, *(each for one in found for each in (one.condition, *one.rivals))])
        chosen = self._different([one for one in wanted if one not in tested and can_change(one)])[:MOST_TESTED]
        done_to_it = [] if turn else list(self._variants())
        tests = (2 * len(chosen) + len(done_to_it)) / share
        nowhere = np.zeros_like(self._failed)
        return [
            *(self._hypothesis(one, chosen, tests, turn) for one in chosen),
            *(Hypothesis(one, nowhere, tests, {"put in": stream}, lost) for one, lost, stream in done_to_it),
        ]

    def _hypothesis(self, one: Condition, chosen: Sequence[Condition], tests: float, turn: int) -> Hypothesis:
        is_costly = one in self._costly and not turn
        # Where it is solved otherwise there is something to lose.
        streams = self._streams(one, chosen, self._solved if is_costly else ())
        return Hypothesis(one, self._among(one), tests, streams, is_costly=is_costly, turn=turn)

    def _was_hidden(self, one: Hypothesis) -> bool:
        """Whether it was tested, in vain, before all causes were known without which it is to be tested."""
        return not one.is_shown and bool({*self._without(one.condition)} - {*(one.first_without or ())})

    def _streams(
        self, condition: Condition, chosen: Sequence[Condition], first: Collection[str] = ()
    ) -> dict[Effect, Iterator[Pair]]:
        """Pairs that tell it from the other conditions, as far as that can be; it is put first into these tasks."""
        others = [one for one in chosen if one != condition]
        pairs_of = partial(self._pairs, condition, apart_from=others, without=partial(self._without, condition))
        return {"undo": pairs_of("undo"), "put in": pairs_of("put in", first=first)}

    def _without(self, condition: Condition) -> tuple[Condition, ...]:
        """Causes that are known by now and are kept out of its pairs.

        What fails for another reason fails with and without it. But where the two mostly hold together, or hardly ever
        apart, nothing would be left to test it in.
        """
        inside = self._among(condition)
        return tuple(
            one.condition
            for one in self._known
            if one.is_shown
            and one.condition != condition
            and one.inside.any()
            and phi(one.inside, inside) < ALIKE
            and (inside & ~one.inside).sum() >= LEAST_INSIDE
        )

    def _different(self, conditions: Sequence[Condition]) -> list[Condition]:
        """Of those whose pairs are mostly the same, the first that can be undone."""
        kept: list[Condition] = []
        for one in conditions:
            same = next((place for place, other in enumerate(kept) if self._are_alike(one, other)), None)
            if same is None:
                kept.append(one)
            elif can_undo(one) and not can_undo(kept[same]):
                kept[same] = one
        return kept

    def _are_alike(self, one: Condition, other: Condition) -> bool:
        """Whether they hold in the very same trials, or are about the same."""
        # Two levels of one attribute are two conditions, though of one factor.
        is_of_one = one.attribute != other.attribute and factors_of(one.attribute, one.levels) == factors_of(
            other.attribute, other.levels
        )
        inside = self._among(one)
        return is_of_one or bool(inside.any() and np.array_equal(inside, self._among(other)))

    def _pairs(
        self,
        condition: Condition,
        effect: Effect,
        within: Callable[[Features], bool] = lambda features: True,
        apart_from: Sequence[Condition] = (),
        given: Condition | None = None,
        without: Callable[[], tuple[Condition, ...]] = tuple,
        first: Collection[str] = (),
    ) -> Iterator[Pair]:
        # Situations of this turn, whenever they are drawn.
        fresh = partial(fresh_situations, self._tasks, self._first_fresh)
        # Without what is known to fail, the factorial shows something again.
        situations = (
            each
            for is_first in ((True, False) if first else (False,))
            for each in fresh()
            if (self._is_telling or each.task != GENERATED or without()) and (each.task in first) == is_first
        )
        return pairs(
            condition,
            effect,
            situations,
            self._trial,
            self._with_needs,
            within=within,
            apart_from=apart_from,
            given=given,
            without=without,
            has_words=self._has_words,
        )

    def _trial(self, task: str, seed: int) -> Trial:
        (trial,) = replace(self._request, first_seed=seed, seeds=1).trials([TASKS[task]], SUITE)
        return trial

    def _with_needs(self, fresh: Fresh) -> Features:
        return self._needs.get((fresh.task, fresh.features.get("acts", "")), {})

    def _variants(self) -> Iterator[tuple[Condition, int, Iterator[Pair]]]:
        """What was done to the policy in the screening, and cost it a success."""
        for one in costly_variants(self._screened, self._tasks, self._request.perturbations):
            yield one.condition, one.lost, variant_pairs(one.condition, self._again(one.tasks), one.change)

    def _again(self, tasks: Sequence[str]) -> Iterator[Trial]:
        turns = range(self._most_episodes)
        return (self._trial(task, self._first_seed + turn) for turn in turns for task in tasks)

    def _batch(self, hypotheses: Sequence[Hypothesis], most: int, excluding: bool) -> list[tuple[Hypothesis, Pair]]:
        """A few pairs of those conditions by which the most failures might still be explained.

        Or, while there are failures that nothing explains, of those that are to be excluded.
        """
        unexplained = self._unexplained(hypotheses)
        if excluding and unexplained.sum() < LEAST_UNEXPLAINED:
            return []
        batch: list[tuple[Hypothesis, Pair]] = []
        asked = 0
        for one in sorted(hypotheses, key=lambda one: -one.promise(unexplained)):
            effect = one.wants_excluding if excluding else one.wants
            is_moot = effect == "undo" and self._is_moot(one, unexplained)
            size = min(BATCH, most - len(batch))
            if effect is None or is_moot or asked == AT_A_TIME or size <= 0:
                continue
            drawn = list(islice(one.stream[effect], size))
            if drawn and one.first_without is None:
                one.first_without = drawn[0].without
            if len(drawn) < size:
                one.exhausted.add(effect)
            batch += [(one, pair) for pair in drawn]
            asked += bool(drawn)
        return batch

    def _unexplained(self, hypotheses: Sequence[Hypothesis]) -> Mask:
        shown = [one.inside for one in hypotheses if one.tally.certainty in ("cause", "needed")]
        explained: Mask = np.any([np.zeros_like(self._failed), *shown], axis=0)
        return self._failed & ~explained

    def _is_moot(self, one: Hypothesis, unexplained: Mask) -> bool:
        """Whether it would explain nothing; where a thing that it may need does not hold, it is to."""
        return one.given is None and bool((one.inside & unexplained).sum() < LEAST_UNEXPLAINED)
