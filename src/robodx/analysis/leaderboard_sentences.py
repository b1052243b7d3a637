"""What a leaderboard comes to and how far it may be trusted, in sentences for a terminal, a page and a paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from robodx.analysis.leaderboard import Leaderboard, Standing
from robodx.analysis.statistics.estimates import MAX_ERROR_SHARE
from robodx.analysis.variants import CLEAN
from robodx.analysis.wording import counted, listed

# Families side by side: more do not fit a terminal or a page of a paper.
ACROSS = 5


def conclusion(found: Leaderboard) -> str:
    """Who is first, or who may be."""
    first = [one.policy for one in found.ranked if one.best == 1]
    others = len(found.ranked) - 1
    if len(first) == 1:
        whom = f"each of the {others} others" if others > 1 else "the other one"
        return f"{first[0]} is first: the tests tell it from {whom}."
    if len(first) == len(found.ranked):
        told = sum(pair.winner is not None for pair in found.pairs)
        if not told:
            return f"The tests tell no two of the {len(first)} policies apart: the order is that of the rates alone."
    return f"First is one of {listed(first)}: the tests do not tell these from the best."


def basis(found: Leaderboard) -> str:
    """What was compared, as a caption says it."""
    under = "" if found.variants == (CLEAN,) else f", under {listed(found.variants)}"
    privileged = len(found.compared) - len(found.ranked)
    read = "reads" if privileged == 1 else "read"
    beside = f" (and {privileged} that {read} the simulator's state, not ranked)" if privileged else ""
    where = f"{counted(found.trials, 'trial')} of {counted(found.tasks, 'task')}{under}"
    return f"{len(found.ranked)} policies{beside} on the same {where}"


def cautions(found: Leaderboard) -> Iterator[str]:
    """What was left out, and what else is to be known."""
    if privileged := [one.policy for one in found.standings if one.is_privileged]:
        read, are = ("reads", "is") if len(privileged) == 1 else ("read", "are")
        state = "the simulator's state (privileged), which no policy on a robot can"
        yield f"{listed(privileged)} {read} {state}, and {are} not ranked."
    for one in found.standings:
        if not one.is_compared:
            share = f"more than {MAX_ERROR_SHARE:.0%} of the shared ones"
            yield f"{one.policy} has no rate and no rank: {counted(one.errors, 'trial')} ended in errors, {share}."
    if found.lost:
        yield f"{counted(found.lost, 'shared trial')} left out for all, because somebody's ended in an error."
    if others := [one for one in found.standings if one.unshared]:
        parts = listed([f"{one.unshared:,} of {one.policy}" for one in others])
        yield f"Left out, because not every policy was run on these trials: {parts}."
    if others := [one for one in found.standings if one.not_clean]:
        parts = listed([f"{one.not_clean:,} of {one.policy}" for one in others])
        yield f"Left out, because they are stressed, repeated or changed situations: {parts}."
    if found.other_versions:
        yield f"Not compared, because the scoring of these tasks changed: {'; '.join(found.other_versions)}."
    if found.stopped != "planned":
        yield "The results decided when a run stopped, so intervals and tests are always-valid ones, which are wider."


def method() -> list[str]:
    """How to read it."""
    return [
        "Success: mean over tasks, with its 95% interval; n: situations (identical episodes count once).",
        "Rank: the ranks that the tests leave open. One policy is above another only if the paired test of robodx "
        "compare over all tasks tells them apart, Holm-adjusted for all pairs, at 5%.",
    ]


def of_whom(one: Standing) -> str:
    return f"{one.policy} (privileged)" if one.is_privileged else one.policy


def in_parts(families: Sequence[str]) -> list[Sequence[str]]:
    return [families[at : at + ACROSS] for at in range(0, len(families), ACROSS)]
