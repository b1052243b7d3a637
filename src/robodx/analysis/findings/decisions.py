"""What pairs say of a condition: whether undoing it recovers failures, and whether putting it in causes them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from robodx.analysis.findings.base import REFUTED, Certainty
from robodx.analysis.findings.conditions import Condition, Features
from robodx.analysis.statistics.sequential_pairs import Decision, decide
from robodx.analysis.statistics.sign_flips import skill_test
from robodx.records.design import COLUMN
from robodx.records.features import features_of_row

# The chance that a policy without any cause is given one, over all that is tested after one screening.
ALPHA = 0.05
# A feature that changes in so many of the pairs changes along with the condition.
ALONG = 0.8
# Pairs in which only one of two conditions changed, from which on they tell the two apart; and the gain in success by
# which it is clear that it matters, or that it does not.
LEAST_ALONE = 4
CLEAR, UNCLEAR = 0.5, 0.2


@dataclass(frozen=True)
class PairSeen:
    """One pair that was run: which of its two trials succeeded, and what else of the situation was changed."""

    intervention: str
    value: str
    treated: str
    placebo: str
    treated_success: bool
    placebo_success: bool
    # What the record tells of the one and not of the other, as (attribute, treated, placebo).
    changed: frozenset[tuple[str, str, str]] = frozenset()
    # The task with its act and the kind of thing: a claim about a skill is tested over these.
    context: str = ""

    def change_of(self, condition: Condition) -> int:
        """1 if the change took the condition away, -1 if it brought it about, 0 if it left it as it is."""
        for name, treated, placebo in self.changed:
            if name == condition.attribute:
                return int(placebo in condition.levels) - int(treated in condition.levels)
        return 0


@dataclass(frozen=True)
class Tally:
    """The pairs of one condition, in the order in which they were planned."""

    condition: Condition
    # Among how many it was tested: the error that all of them may make is divided by this.
    tests: float
    undo: tuple[PairSeen, ...] = ()
    put_in: tuple[PairSeen, ...] = ()
    # What else holds in all of its situations, where it was tested together with that.
    given: Condition | None = None
    level: float = field(default=ALPHA, kw_only=True)

    @property
    def pairs(self) -> tuple[PairSeen, ...]:
        return (*self.undo, *self.put_in)

    @property
    def undone(self) -> Decision | None:
        """Success after undoing it, less that of the placebo."""
        return self._decided([one.treated_success - one.placebo_success for one in self.undo])

    @property
    def put(self) -> Decision | None:
        """Success of the placebo, less that after putting it in."""
        return self._decided([one.placebo_success - one.treated_success for one in self.put_in])

    @property
    def undo_share(self) -> float:
        """What was gained on average where it was undone."""
        return 0.0 if self.undone is None else self.undone.estimate.value or 0.0

    @property
    def put_share(self) -> float:
        """What was lost on average where it was put in; as if it were all, where it was not."""
        return 1.0 if self.put is None else self.put.estimate.value or 0.0

    def _decided(self, differences: list[int]) -> Decision | None:
        return _decided(tuple(differences), self.level / self.tests) if differences else None

    @property
    def certainty(self) -> Certainty:
        undone, put = (None if one is None else one.verdict for one in (self.undone, self.put))
        if undone == "effect":
            return "cause" if put == "effect" else "needed"
        if put == "effect":
            return "sufficient"
        if undone != "none":
            return "undecided"
        return "excluded" if put == "none" else "no gain"

    @property
    def contexts(self) -> dict[str, float]:
        """By context, what the condition costs there on average."""
        losses: dict[str, list[int]] = {}
        for one in self.undo:
            losses.setdefault(one.context, []).append(one.treated_success - one.placebo_success)
        for one in self.put_in:
            losses.setdefault(one.context, []).append(one.placebo_success - one.treated_success)
        return {context: sum(each) / len(each) for context, each in losses.items()}

    def is_general(self, screened: Collection[str]) -> bool:
        """Whether it may be said of the skill: it holds over contexts, at least half of them not screened."""
        means = self.contexts
        new = [context for context in means if context not in screened]
        if 2 * len(new) < len(means):
            return False
        return skill_test(list(means.values()), ALPHA, np.random.default_rng(0)).holds

    @property
    def along(self) -> list[str]:
        """Attributes that changed along with it in nearly all pairs."""
        every = self.pairs
        names = [name for one in every for name in {change[0] for change in one.changed}]
        return sorted({name for name in names if names.count(name) >= ALONG * len(every)})


# A plan is made anew in every round, and asks this of every condition again.
@lru_cache(maxsize=4096)
def _decided(differences: tuple[int, ...], level: float) -> Decision:
    return decide([float(each) for each in differences], level)


def tallies(episodes: pl.DataFrame) -> list[Tally]:
    """Of a diagnosis, from its episodes with their design; each pair of which both were run.

    What was asked again in a later turn, where causes that were found meanwhile do not hold, is told by that turn.
    """
    rows = [
        (row, purpose["source_id"], {one["name"]: one["text"] or one["number"] for one in purpose["factors"]})
        for row in episodes.filter(pl.col("outcome") != "error").iter_rows(named=True)
        for purpose in row[COLUMN]
        # Others are steps on the way to a condition.
        if purpose["variant"] == "intervened" and purpose["factors"]
    ]
    arms: dict[tuple[str, str, float, int, str, int, str], dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]] = {}
    for row, source, factors in rows:
        # Of several diagnoses of a policy each counts its pairs from the first.
        given = str(factors.get("given") or "")
        diagnosis, turn = float(factors.get("first seed") or 0), int(factors.get("turn") or 0)
        pair = int(factors["pair"] or 0)
        key = (factors["condition"], given, diagnosis, turn, factors["effect"], pair, source)
        arms.setdefault(key, {})[factors["arm"]] = (row, factors)
    whole = {key: both for key, both in sorted(arms.items()) if len(both) == 2}
    last = {(name, given, diagnosis): turn for name, given, diagnosis, turn, *_ in whole}
    found: dict[tuple[str, str], Tally] = {}
    for (name, given, diagnosis, turn, effect, _, _), both in whole.items():
        if turn < last[name, given, diagnosis]:
            continue
        (treated, own), (placebo, _) = both["treated"], both["placebo"]
        seen = PairSeen(
            own["intervention"], own["value"], treated["trial_id"], placebo["trial_id"],
            treated["success"], placebo["success"],
            differences(features_of_row(treated), features_of_row(placebo)), context_of(placebo),
        )  # fmt: skip
        beside = Condition.parse(given) if given else None
        before = found.get((name, given)) or Tally(Condition.parse(name), own["tests"], given=beside)
        undo, put_in = (*before.undo, *[seen] * (effect == "undo")), (*before.put_in, *[seen] * (effect == "put in"))
        tests = max(before.tests, own["tests"])
        found[name, given] = replace(before, tests=tests, undo=undo, put_in=put_in)
    return list(found.values())


def needing_both(decided: Sequence[Tally]) -> list[Tally]:
    """Conditions that are a cause where another holds, and without gain where it does not: with that other."""
    return [
        one
        for one in decided
        if one.given is not None
        and one.certainty == "cause"
        and any(
            other.given is not None
            and (other.condition, other.given.attribute) == (one.condition, one.given.attribute)
            and not set(other.given.levels) & set(one.given.levels)
            and other.certainty in REFUTED
            for other in decided
        )
    ]


def told_apart(shown: Sequence[Tally]) -> list[Tally]:
    """Without those whose effect is another's: where only the one changed nothing came of it, where only the other did.

    Two conditions may each be shown by interventions that change both. Of those that never changed alone, the first.
    """
    # What is done to a policy, and what the expert needs, is no feature of a situation: it stands for itself.
    seen = [one for one in shown if any(pair.change_of(one.condition) for pair in one.pairs)]
    kept: list[Tally] = []
    for one in shown:
        others = [other for other in seen if other is not one]
        is_anothers = one in seen and any(_is_of(one, other, shown) for other in others)
        if not is_anothers and not any(_are_one(one, other, shown) for other in kept):
            kept.append(one)
    return kept


def _are_one(one: Tally, other: Tally, shown: Sequence[Tally]) -> bool:
    """Whether two only ever changed together."""
    together = any(
        pair.change_of(one.condition) and pair.change_of(other.condition) for tally in shown for pair in tally.pairs
    )
    return together and not _alone(one, other, shown) and not _alone(other, one, shown)


def _is_of(one: Tally, other: Tally, shown: Sequence[Tally]) -> bool:
    """Whether what was shown of the one is the other's doing."""
    alone, beside = _alone(one, other, shown), _alone(other, one, shown)
    if len(beside) < LEAST_ALONE or sum(beside) < CLEAR * len(beside):
        return False
    if len(alone) >= LEAST_ALONE:
        return sum(alone) < UNCLEAR * len(alone)
    # It was never changed without the other, but the other without it.
    return not alone


def _alone(one: Tally, other: Tally, shown: Sequence[Tally]) -> list[int]:
    """By pair in which only the one changed, of whomever it was: success where it does not hold, less where it does."""
    gains: dict[tuple[str, str], int] = {}
    for tally in shown:
        for pair in tally.pairs:
            change = pair.change_of(one.condition)
            if change and not pair.change_of(other.condition):
                gains[pair.treated, pair.placebo] = change * (pair.treated_success - pair.placebo_success)
    return list(gains.values())


def context_of(row: Mapping[str, Any]) -> str:
    features = features_of_row(row)
    return " · ".join((row["task"], features.get("act", ""), features.get("target_kind", "")))


def differences(treated: Features, placebo: Features) -> frozenset[tuple[str, str, str]]:
    names: Iterable[str] = {**treated, **placebo}
    return frozenset(
        (name, treated.get(name, "no"), placebo.get(name, "no"))
        for name in names
        if treated.get(name) != placebo.get(name) and not name.startswith("expert_")
    )
