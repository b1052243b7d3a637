"""Several policies on the same situations, ranked as far as the evidence goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import polars as pl

from robodx.analysis.compare import Unlike, compare_tables
from robodx.analysis.pairing import trial_key
from robodx.analysis.statistics.estimates import MAX_ERROR_SHARE, NOTHING, Estimate
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.statistics.sequential import Stopped
from robodx.analysis.summary import success_rate
from robodx.analysis.variants import CLEAN, with_names
from robodx.analysis.verdicts import ALPHA
from robodx.analysis.wording import listed

# A permutation test tells nothing below 1 in 10,000: among more pairs than of so many policies nothing would stand out.
MOST_POLICIES = 30
# Of names in a sentence that says why nothing can be compared.
SHOWN = 5


@dataclass(frozen=True, eq=False)
class Entrant:
    """A policy with all its episodes; `clean` are those without a suite's stressors, repeats and changed situations."""

    policy: str
    episodes: pl.DataFrame
    clean: pl.DataFrame
    stopped: Stopped = "planned"
    # It reads the simulator's state, which no policy on a robot could.
    is_privileged: bool = False


@dataclass(frozen=True)
class Standing:
    """One policy. Without a rank if too many of its trials were lost to errors, or if it is privileged."""

    policy: str
    # The first and the last rank that the tests leave open.
    best: int | None
    worst: int | None
    success: Estimate
    families: Mapping[str, Estimate]
    is_privileged: bool
    # Of its episodes: how many were not compared, and why.
    episodes: int
    not_clean: int
    unshared: int
    # Of the trials that all policies have, those that it lost.
    errors: int

    @property
    def is_compared(self) -> bool:
        """Whether it has a rate; that of a privileged policy stands beside, without a rank."""
        return self.success.value is not None

    @property
    def rank(self) -> str:
        if self.best is None:
            return "–"
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


@dataclass(frozen=True)
class Pair:
    """`difference` is how much higher the success of `first` is than that of `second`; p is adjusted for all pairs."""

    first: str
    second: str
    difference: Estimate
    p: float | None
    adjusted_p: float | None

    @property
    def winner(self) -> str | None:
        """None where they are not told apart."""
        value, p = self.difference.value, self.adjusted_p
        if value is None or p is None or value == 0 or p > ALPHA:
            return None
        return self.first if value > 0 else self.second


@dataclass(frozen=True)
class Leaderboard:
    # From the highest success to the lowest; those without a rank are last, the privileged before those without a rate.
    standings: tuple[Standing, ...]
    pairs: tuple[Pair, ...]
    families: tuple[str, ...]
    tasks: int
    # Trials that were compared: the same ones of every policy.
    trials: int
    # Trials that all have, left out because somebody's ended in an error.
    lost: int
    # As ("clean",), or what all were run under.
    variants: tuple[str, ...]
    stopped: Stopped
    # Tasks whose scoring changed between the runs.
    other_versions: tuple[str, ...]

    @property
    def ranked(self) -> list[Standing]:
        return [one for one in self.standings if one.best is not None]

    @property
    def compared(self) -> list[Standing]:
        return [one for one in self.standings if one.is_compared]


def leaderboard(entrants: Sequence[Entrant], cards: Mapping[str, Mapping[str, Any]] | None = None) -> Leaderboard:
    """Every policy on the trials that all of them have; `cards` of perturbations know the names of levels."""
    if len(entrants) < 2:
        name = f": {entrants[0].policy}" if entrants else ""
        raise Unlike(f"a leaderboard is of two policies or more, and these runs are of one{name}")
    if len(entrants) > MOST_POLICIES:
        raise Unlike(
            f"a leaderboard is of at most {MOST_POLICIES} policies, not {len(entrants)}: choose those that matter"
        )
    rivals = [one.policy for one in entrants if not one.is_privileged]
    if len(rivals) < 2:
        privileged = [one.policy for one in entrants if one.is_privileged]
        raise Unlike(
            f"a leaderboard ranks two policies or more, and {_listed(privileged)} "
            f"{'reads' if len(privileged) == 1 else 'read'} the simulator's state (privileged: not ranked), "
            f"which leaves {_listed(rivals) or 'none'}: "
            "robodx compare A B compares any two"
        )
    keyed = {one.policy: one.clean.with_columns(key=trial_key()).unique("key", maintain_order=True) for one in entrants}
    other_versions = _other_versions(keyed)
    # Who lost too much is left out first: what it lost would be taken from all others.
    everybodys = _shared(keyed)
    out = {policy for policy, table in everybodys.items() if _error_share(table) > MAX_ERROR_SHARE}
    kept = {policy: table for policy, table in keyed.items() if policy not in out}
    if sum(policy in kept for policy in rivals) < 2:
        raise Unlike(
            f"too many errors for a leaderboard: more than {MAX_ERROR_SHARE:.0%} of the shared trials ended in errors "
            f"for {_listed(sorted(out))}"
        )
    shared = _shared(kept)
    if any(table.is_empty() for table in shared.values()):
        raise Unlike(_nothing(entrants, keyed, other_versions))
    erred = pl.concat([table.filter(pl.col("outcome") == "error").select("key") for table in shared.values()])
    compared = {
        policy: table.join(erred, on="key", how="anti", maintain_order="left") for policy, table in shared.items()
    }
    first = next(iter(compared.values()))
    if first.is_empty():
        raise Unlike(f"each of the {len(next(iter(shared.values())))} shared trials ended in an error for some policy")
    stopped = _strictest([one.stopped for one in entrants if one.policy in kept])
    tested = {policy: table.drop("key") for policy, table in compared.items() if policy in rivals}
    pairs = _pairs(tested, stopped, cards or {})
    families = tuple(sorted(first["family"].drop_nulls().unique()))
    standings = [
        _standing(
            one,
            keyed[one.policy],
            shared.get(one.policy, everybodys[one.policy]),
            compared.get(one.policy),
            families,
            stopped,
        )
        for one in entrants
    ]
    placed = sorted(
        _placed(standings, pairs),
        key=lambda one: (one.best is None, not one.is_compared, -(one.success.value or 0), one.policy),
    )
    order = {one.policy: place for place, one in enumerate(placed)}
    return Leaderboard(
        standings=tuple(placed),
        pairs=tuple(sorted(map(_better_first, pairs), key=lambda pair: (order[pair.first], order[pair.second]))),
        families=families,
        tasks=first["task"].n_unique(),
        trials=len(first),
        lost=erred["key"].n_unique(),
        variants=_variants(first, cards or {}),
        stopped=stopped,
        other_versions=other_versions,
    )


def ranks(policies: Sequence[str], wins: Sequence[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """The first and the last rank that is left open by who was shown to be better than whom."""
    above = {policy: sum(loser == policy for _, loser in wins) for policy in policies}
    below = {policy: sum(winner == policy for winner, _ in wins) for policy in policies}
    return {policy: (1 + above[policy], len(policies) - below[policy]) for policy in policies}


def _shared(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Each policy's episodes of the trials that all have, in the order in which they were."""
    keys = pl.concat([table.select("key") for table in tables.values()])
    common = keys.group_by("key").len().filter(pl.col("len") == len(tables))
    return {policy: table.join(common, on="key", how="semi", maintain_order="left") for policy, table in tables.items()}


def _error_share(table: pl.DataFrame) -> float:
    return int((table["outcome"] == "error").sum()) / max(1, len(table))


def _pairs(tables: Mapping[str, pl.DataFrame], stopped: Stopped, cards: Mapping[str, Mapping[str, Any]]) -> list[Pair]:
    """The tests of `robodx compare` over all tasks, Holm-adjusted among all pairs of policies that have a rank."""
    found = {}
    for a, b in combinations(tables, 2):
        row = compare_tables(tables[b], tables[a], stopped=stopped, cards=cards, kinds=("all",)).overall
        found[a, b] = Pair(a, b, row.difference, row.p, None)
    adjusted = holm({f"{place}": pair.p for place, pair in enumerate(found.values())})
    return [replace(pair, adjusted_p=adjusted[f"{place}"]) for place, pair in enumerate(found.values())]


def _better_first(pair: Pair) -> Pair:
    value, low, high = pair.difference.value, pair.difference.low, pair.difference.high
    if value is None or value >= 0 or low is None or high is None:
        return pair
    turned = Estimate(-value, -high, -low, pair.difference.n)
    return replace(pair, first=pair.second, second=pair.first, difference=turned)


def _standing(
    one: Entrant,
    clean: pl.DataFrame,
    shared: pl.DataFrame,
    compared: pl.DataFrame | None,
    families: Sequence[str],
    stopped: Stopped,
) -> Standing:
    def success(family: str | None) -> Estimate:
        if compared is None:
            return NOTHING
        return success_rate(compared if family is None else compared.filter(pl.col("family") == family), stopped)

    return Standing(
        policy=one.policy,
        best=None,
        worst=None,
        success=success(None),
        families={family: success(family) for family in families},
        is_privileged=one.is_privileged,
        episodes=len(one.episodes),
        not_clean=len(one.episodes) - len(clean),
        unshared=len(clean) - len(shared),
        errors=int((shared["outcome"] == "error").sum()),
    )


def _placed(standings: Sequence[Standing], pairs: Sequence[Pair]) -> list[Standing]:
    wins = [(pair.winner, pair.second if pair.winner == pair.first else pair.first) for pair in pairs if pair.winner]
    open_ranks = ranks([one.policy for one in standings if one.is_compared and not one.is_privileged], wins)
    return [
        replace(one, best=open_ranks[one.policy][0], worst=open_ranks[one.policy][1])
        if one.policy in open_ranks
        else one
        for one in standings
    ]


def _strictest(how: Sequence[Stopped]) -> Stopped:
    return "apart" if "apart" in how else "together" if "together" in how else "planned"


def _variants(episodes: pl.DataFrame, cards: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    named = with_names(episodes, cards).sort("variant_rank")["variant"].unique(maintain_order=True)
    return tuple(name or CLEAN for name in named)


def _other_versions(tables: Mapping[str, pl.DataFrame]) -> tuple[str, ...]:
    """As "control/lift: version 1 (act), 2 (guess and vision)"."""
    versions: dict[str, dict[int, list[str]]] = {}
    for policy, table in tables.items():
        for task, version in table.select("task", "task_version").unique().iter_rows():
            versions.setdefault(task, {}).setdefault(version, []).append(policy)
    return tuple(
        f"{task}: version {', '.join(f'{version} ({_listed(who)})' for version, who in sorted(found.items()))}"
        for task, found in sorted(versions.items())
        if len(found) > 1
    )


def _nothing(entrants: Sequence[Entrant], tables: Mapping[str, pl.DataFrame], other_versions: Sequence[str]) -> str:
    """Why no trial was run with all policies: which of them have least in common."""
    if bare := [one.policy for one in entrants if one.clean.is_empty()]:
        have = "has" if len(bare) == 1 else "have"
        return (
            f"{_listed(bare)} {have} only stressed, repeated or changed situations "
            "(as the suites stress and bias make), and a "
            "leaderboard compares tasks as they are (robodx run capability makes such runs); "
            "what each run shows: robodx report RUN"
        )
    together = {(a, b): len(tables[a].join(tables[b], on="key", how="semi")) for a, b in combinations(tables, 2)}
    apart = [f"by {a} and {b}" for (a, b), count in together.items() if count == 0]
    reasons = [f"none is shared {listed(apart, 'or', most=SHOWN)}"] if apart else ["each two share some"]
    if other_versions:
        reasons.append(f"the scoring of tasks differs: {_listed(list(other_versions))}")
    return (
        f"no situation was run with all of {_listed(list(tables))} ({'; '.join(reasons)}): "
        "name fewer runs, or run each with the same tasks, --seeds, --robot, --clock and --perturb"
    )


def _listed(names: Sequence[str]) -> str:
    return listed(names, most=SHOWN)
