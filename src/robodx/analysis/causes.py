"""Why trials fail: what of them is recovered when one component is made perfect, beyond merely trying again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import polars as pl

from robodx.analysis.statistics.estimates import Estimate, wilson
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.statistics.paired import agreeing, discordant, mcnemar, mcnemar_p, paired_difference
from robodx.analysis.variants import untouched
from robodx.records.values import Applied, read_applied

SUBSTITUTION = "substitution"
# The folder within a run that holds what was run again.
FOLDER = "why"
ALPHA = 0.05
AGAIN = "again"
# Beyond chance: so much is worth to be looked into, however few the trials were.
LARGE = 0.5
# Of the trials that fail again, so much makes a substitution worth to be named.
SOME = 0.2
# Two that recover as much of the same trials as this are not told apart.
SAME = 0.9
MOST_TRIALS = 10_000
# The fewest trials to go on with: half of them recovered is sure, however many substitutions apply.
FEW = 20

Kinds = Mapping[str, str]


class Variant(NamedTuple):
    """What a failed trial becomes, as far as it becomes another."""

    perturbations: tuple[Applied, ...]
    clock: str


class Failed(NamedTuple):
    """A failed trial, as far as it decides what it becomes."""

    perturbations: tuple[Applied, ...]
    clock: str
    reached: int
    stages: int


@dataclass(frozen=True)
class Substitute:
    """One component made perfect; `change` gives the trial with it, or None where there is nothing to be changed."""

    name: str
    component: str
    does: str
    change: Callable[[Failed, Kinds], Variant | None]


@dataclass(frozen=True)
class Recovery:
    """A failed trial, and the trial with the substitution that succeeded."""

    failed: str
    cured: str


@dataclass(frozen=True)
class Unrecovered:
    """A failed trial that fails again, and with every substitution that was run."""

    trial_id: str
    task: str
    seed: int


@dataclass(frozen=True)
class Cause:
    """What one substitution recovers of the failed trials to which it applies."""

    component: str
    substitution: str
    # Of those to which it applies; none is no data, not zero.
    recovered: Estimate
    # By merely trying again, of the same ones; and what the substitution recovers beyond that.
    again: Estimate
    excess: Estimate
    p: float | None
    p_holm: float | None
    # Of the trials that fail again when repeated, how many it adds over all orders of the substitutions: in the last
    # place only what no other recovers, in the first all that it recovers.
    least: int
    most: int
    # Those that it adds at most; of trying again, all that it recovers.
    recoveries: tuple[Recovery, ...] = ()
    # Where much is recovered of too few: of how many failed trials it would be sure, should it go on so.
    enough: int | None = None

    @property
    def n(self) -> int:
        return self.recovered.n

    @property
    def count(self) -> int:
        """How many it alone recovers, with those that trying again recovers too."""
        return round((self.recovered.value or 0.0) * self.n)

    @property
    def trials(self) -> set[str]:
        """The failed trials that it recovers."""
        return {one.failed for one in self.recoveries}

    @property
    def is_shown(self) -> bool:
        """Whether it is no accident that it recovers something."""
        return self.p_holm is not None and self.p_holm < ALPHA and (self.excess.value or 0.0) > 0

    def to_ask(self, failed: int) -> int | None:
        """How many of so many failed trials would make it sure, and some more; None if there are too few."""
        if self.enough is None or self.enough > failed:
            return None
        return min(failed, max(FEW, 10 * math.ceil(self.enough / 10)))

    @property
    def is_unsure(self) -> bool:
        """Whether it recovers much, but of so few that it may be an accident."""
        return self.p_holm is not None and not self.is_shown and (self.excess.value or 0.0) >= LARGE

    def is_like(self, other: Cause) -> bool:
        """Whether both recover the same trials, or nearly so."""
        return len(self.trials & other.trials) >= SAME * max(1, len(self.trials | other.trials))


@dataclass(frozen=True)
class Causes:
    """What trying again and each substitution recover of the same failed trials."""

    again: Cause
    # Those that apply to no trial are there too.
    substitutions: tuple[Cause, ...]
    # How many trials fail again when simply repeated, and those of them that nothing recovers.
    lasting: int
    unrecovered: tuple[Unrecovered, ...]

    @property
    def leading(self) -> list[Cause]:
        """Those that recover much, without those that another is ahead of; more than one where none is ahead."""
        much = [one for one in self.substitutions if one.is_shown or one.is_unsure]
        much = [one for one in much if one.most >= SOME * self.lasting]
        return [one for one in much if not any(self._is_ahead(other, one) for other in much)]

    def _is_ahead(self, one: Cause, other: Cause) -> bool:
        """Whether one recovers more that the other does not, and has more of its own, both beyond chance."""
        more, less = one.trials - other.trials, other.trials - one.trials
        return _is_more(len(more), len(less)) and _is_more(len(self._own(one)), len(self._own(other)))

    def _own(self, one: Cause) -> set[str]:
        """What none recovers but this one, and those that recover the same trials."""
        return one.trials.difference(*(other.trials for other in self.substitutions if not one.is_like(other)))

    @property
    def is_shown(self) -> bool:
        """Whether any of those that lead is shown to recover something."""
        return any(one.is_shown for one in self.leading)

    @property
    def alike(self) -> list[list[Cause]]:
        """Groups of substitutions that recover the same trials: what they make perfect is not told apart."""
        groups: list[list[Cause]] = []
        for one in self.substitutions:
            for group in groups:
                if all(one.is_like(other) for other in group):
                    group.append(one)
                    break
            else:
                groups.append([one])
        return [group for group in groups if len(group) > 1]

    def to_ask(self, failed: int) -> int | None:
        """How many of so many failed trials would make those that lead sure; None if there are too few."""
        asked = [one.to_ask(failed) for one in self.leading if one.is_unsure]
        return max((each for each in asked if each is not None), default=None)


def _is_more(mine: int, theirs: int) -> bool:
    return mine > theirs and mcnemar_p(theirs, mine) < ALPHA


def _without(kind: str) -> Callable[[Failed, Kinds], Variant | None]:
    def change(failed: Failed, kinds: Kinds) -> Variant | None:
        left = tuple(one for one in failed.perturbations if kinds.get(one[0]) != kind)
        return None if left == failed.perturbations else Variant(left, failed.clock)

    return change


def _with(name: str) -> Callable[[Failed, Kinds], Variant | None]:
    return lambda failed, kinds: Variant((*failed.perturbations, (name, 1.0)), failed.clock)


def _at_once(failed: Failed, kinds: Kinds) -> Variant | None:
    return None if failed.clock == "lockstep" else Variant(failed.perturbations, "lockstep")


def _ended(failed: Failed, kinds: Kinds) -> Variant | None:
    """The policy as far as it got, then the expert."""
    if not 0 < failed.reached < failed.stages:
        return None
    return Variant((*failed.perturbations, ("expert_ends", float(failed.reached))), failed.clock)


def _started(failed: Failed, kinds: Kinds) -> Variant | None:
    """The expert past the stage at which the policy failed, then the policy."""
    if failed.reached + 1 >= failed.stages:
        return None
    return Variant((*failed.perturbations, ("expert_starts", float(failed.reached + 1))), failed.clock)


SUBSTITUTES: tuple[Substitute, ...] = (
    Substitute("clean_sensors", "sensors", "the same trial without sensor stress", _without("sensor")),
    Substitute("clean_commands", "actuation", "the same trial without command stress", _without("execution")),
    Substitute("zero_latency", "timing", "the simulation waits for each action", _at_once),
    Substitute("plain_words", "language", "the instruction in plain words", _with("plain_words")),
    Substitute("lone_target", "perception", "no other object could be mistaken for the target", _with("lone_target")),
    Substitute("expert_grasps", "grasping", "the expert grasps what the policy went for", _with("expert_grasps")),
    Substitute("expert_ends", "acting", "the expert continues from the last stage reached", _ended),
    Substitute("expert_starts", "acting", "the expert does the failed stage and all before it", _started),
)


def sample(table: pl.DataFrame, most: int, kinds: Kinds) -> pl.DataFrame:
    """Up to so many failed trials, the tasks by turns and of each its seeds by turns; a larger sample begins with it.

    A situation counts once, however often it was repeated, and so do situations that went alike, bit for bit. One that
    was changed to test a cause is no sample of its task's failures.
    """
    substitutions = [name for name, kind in kinds.items() if kind == SUBSTITUTION]
    failed = table.filter(
        ~pl.col("success")
        & (pl.col("outcome") != "error")
        & untouched()
        & ~pl.col("perturbations").list.eval(pl.element().struct.field("name").is_in(substitutions)).list.any()
    ).sort("repeat", "trial_id")
    failed = failed.unique(["pair_id", "perturbations", "clock"], keep="first", maintain_order=True)
    alike = ["task", "robot", "perturbations", "clock", "instructions", "trajectory_hash"]
    # A record without a hash cannot be told to be like another.
    is_hashed = pl.col("trajectory_hash").is_not_null()
    failed = pl.concat(
        [failed.filter(is_hashed).unique(alike, keep="first", maintain_order=True), failed.filter(~is_hashed)]
    )
    turn = pl.int_range(pl.len())
    # A trial's id is a digest: its order is one by chance.
    failed = failed.sort("trial_id").with_columns(turn=turn.over("task", "seed")).sort("turn", "seed", "trial_id")
    failed = failed.with_columns(turn=turn.over("task")).sort("turn", "trial_id")
    # Of many tasks few are asked about, and these shall not be all of one family.
    failed = failed.with_columns(beside=turn.over("turn", "family")).sort("turn", "beside", "family")
    return failed.head(most).drop("turn", "beside")


def changed(row: Mapping[str, Any], kinds: Kinds) -> dict[str, Variant]:
    """What a failed trial becomes by each substitution that may apply to it; `again` is itself."""
    applied = read_applied(row["perturbations"])
    failed = Failed(applied, row["clock"], row["stages_reached"] or 0, row["stages"] or 0)
    variants = {one.name: one.change(failed, kinds) for one in SUBSTITUTES}
    return {
        AGAIN: Variant(applied, failed.clock),
        **{name: variant for name, variant in variants.items() if variant is not None},
    }


def causes_of(failed: pl.DataFrame, substituted: pl.DataFrame, kinds: Kinds) -> Causes:
    """What trying again and each substitution recover of the failed trials that were run again.

    Luck is taken out by the control variant: it shares the policy's randomness with the substituted ones.
    """
    results = _results(failed, substituted, kinds)
    lasting = [one for one in results if not one.variants[AGAIN][0]]
    cures = [{name for name, (is_cured, _) in one.variants.items() if is_cured} for one in lasting]
    found = [_cause(one.name, one.component, results, cures.count({one.name})) for one in SUBSTITUTES]
    adjusted = holm({cause.substitution: cause.p for cause in found})
    found = [replace(cause, p_holm=adjusted[cause.substitution]) for cause in found]
    return Causes(
        again=_cause(AGAIN, "chance", results, 0),
        substitutions=tuple(
            replace(one, enough=_enough(one.substitution, results)) if one.is_unsure else one for one in found
        ),
        lasting=len(lasting),
        unrecovered=tuple(
            Unrecovered(one.row["trial_id"], one.row["task"], one.row["seed"])
            for one, by in zip(lasting, cures, strict=True)
            if not by
        ),
    )


def kinds_of(about: Mapping[str, Any]) -> dict[str, str]:
    """Of a run's perturbations, by name."""
    return {name: card.get("kind", "") for name, card in about.get("perturbations", {}).items()}


class _Result(NamedTuple):
    """A failed trial, and whether it succeeded in each variant that was run, by whose trial."""

    row: Mapping[str, Any]
    variants: Mapping[str, tuple[bool, str]]


def _results(failed: pl.DataFrame, substituted: pl.DataFrame, kinds: Kinds) -> list[_Result]:
    # Where the expert left nothing to be done, the policy was not asked, and nothing is said of it.
    heard = substituted.filter((pl.col("outcome") != "error") & (pl.col("queries") > 0))
    done = {
        (row["pair_id"], read_applied(row["perturbations"]), row["clock"]): row for row in heard.iter_rows(named=True)
    }
    results = []
    for row in sample(failed, len(failed), kinds).iter_rows(named=True):
        found = {name: done.get((row["pair_id"], *variant)) for name, variant in changed(row, kinds).items()}
        variants = {name: (bool(other["success"]), str(other["trial_id"])) for name, other in found.items() if other}
        if AGAIN in variants:
            results.append(_Result(row, variants))
    return results


def _enough(name: str, results: list[_Result]) -> int | None:
    """Of how many failed trials the same shares would be sure."""
    variants = [(one.variants[AGAIN][0], one.variants[name][0]) for one in results if name in one.variants]
    lost, won, _ = discordant([again for again, _ in variants], [is_cured for _, is_cured in variants])
    for trials in range(len(results) + 1, MOST_TRIALS + 1):
        more = trials / len(results)
        # As if all substitutions applied: to further trials others may.
        if mcnemar_p(math.ceil(more * lost), math.floor(more * won)) * len(SUBSTITUTES) < ALPHA:
            return trials
    return None


def _cause(name: str, component: str, results: list[_Result], least: int) -> Cause:
    applicable = [one for one in results if name in one.variants]
    again = [one.variants[AGAIN][0] for one in applicable]
    recovered = [one.variants[name][0] for one in applicable]
    is_control = name == AGAIN
    p = None if is_control else mcnemar(again, recovered)
    recoveries = tuple(
        Recovery(one.row["trial_id"], one.variants[name][1])
        for one in applicable
        if one.variants[name][0] and (is_control or not one.variants[AGAIN][0])
    )
    return Cause(
        component=component,
        substitution=name,
        recovered=wilson(sum(recovered), len(recovered)),
        again=wilson(sum(again), len(again)),
        excess=agreeing(paired_difference(again, recovered), p),
        p=p,
        p_holm=None,
        least=least,
        most=0 if is_control else len(recoveries),
        recoveries=recoveries,
    )
