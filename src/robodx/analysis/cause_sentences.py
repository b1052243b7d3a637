"""Causes of failures in words: what recovers them, what is not told apart, and what nothing recovers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from robodx.analysis.causes import AGAIN, SOME, SUBSTITUTES, Cause, Causes
from robodx.analysis.wording import listed

DOES = {one.name: one.does for one in SUBSTITUTES} | {AGAIN: "the same trial, simply repeated"}
# More substitutions than this are told in a few words each.
FEW = 2
# So many tasks with trials that nothing recovers are named; a program gets them all.
MOST_TASKS = 6


def conclusion(found: Causes) -> str:
    """In a sentence or two: what recovers the failures, and how much of what fails is luck."""
    again = found.again
    if not again.n:
        return "No failed trial could be run again."
    if not found.lasting:
        return f"All {again.n} failed trials succeed when simply repeated: the failures are due to chance."
    luck = ""
    if (again.recovered.value or 0.0) >= SOME:
        luck = f" When simply repeated, {again.count} of {again.n} failed trials succeed."
    if not found.leading:
        several = "there are several causes, or the cause is another one"
        return f"No single substitution is shown to recover many of the failures: {several}.{luck}"
    if not found.is_shown and any((one.excess.low or 0.0) > 0 for one in found.leading):
        return f"{_recovers(found)}, but that is not conclusive after correction over the substitutions.{luck}"
    if not found.is_shown:
        n = max(one.n for one in found.leading)
        few = "1 trial is" if n == 1 else f"{n} trials are"
        return f"{_recovers(found)}, but {few} too few to be sure.{luck}"
    beside = [one for one in found.substitutions if one not in found.leading and one.least >= SOME * found.lasting]
    further = "".join(f" {one.substitution} recovers {one.least} more that no other does." for one in beside)
    return f"{pointed_to(found)}.{further}{luck}"


def pointed_to(found: Causes) -> str:
    """What those that lead recover, and the components that they point to."""
    components = list(dict.fromkeys(one.component for one in found.leading))
    if len(components) == 1:
        return f"{_recovers(found)}: the component that fails there is {components[0]}"
    several = "both" if len(components) == 2 else "several of them"
    may_be = f"it may be {listed(components, 'or')}, or {several}"
    return f"{_recovers(found)}; none is ahead of the others: {may_be}"


def not_told_apart(found: Causes) -> list[str]:
    """A sentence for each group of substitutions that recover the same trials."""
    sentences = []
    for group in found.alike:
        names = listed([one.substitution for one in group])
        shared, either = set.intersection(*(one.trials for one in group)), set.union(*(one.trials for one in group))
        same = f"{len(either)} trials" if shared == either else f"trials ({len(shared)} of {len(either)} in common)"
        components = list(dict.fromkeys(one.component for one in group))
        tell = f": {listed(components)} cannot be told apart" if len(components) > 1 else ""
        nearly = "" if shared == either else "nearly "
        sentences.append(f"{names} recover {nearly}the same {same}{tell}.")
    return sentences


def unrecovered(found: Causes) -> list[str]:
    """The trials that nothing recovers, by task; a sentence or none."""
    if not found.unrecovered:
        return []
    seeds: dict[str, list[int]] = {}
    for one in found.unrecovered:
        seeds.setdefault(one.task, []).append(one.seed)
    named = [
        f"{task} (seed{'s' if len(set(of)) > 1 else ''} {', '.join(map(str, sorted(set(of))))})"
        for task, of in sorted(seeds.items())
    ]
    more = [f"and {len(named) - MOST_TASKS} more tasks"] if len(named) > MOST_TASKS else []
    which = "; ".join([*named[:MOST_TASKS], *more])
    return [f"No substitution recovers {len(found.unrecovered)} of {found.again.n} failed trials: {which}."]


def adds(cause: Cause) -> str:
    """As "3 to 12", the least and the most over all orders."""
    return f"{cause.least} to {cause.most}" if cause.least < cause.most else str(cause.most)


def verdict(cause: Cause, found: Causes) -> str | None:
    """One substitution in a few words; none of trying again."""
    if cause.substitution == AGAIN:
        return None
    if not cause.n:
        return "not run"
    if not cause.count:
        return "recovers nothing"
    if not cause.is_shown and (cause.excess.low or 0.0) > 0:
        return "not conclusive after correction"
    if cause.is_unsure:
        return "too few trials to be sure"
    if not cause.is_shown:
        return "not shown to help"
    if cause not in found.leading:
        return "helps, another helps more"
    return "ahead of all others" if len(found.leading) == 1 else "helps, none is ahead"


def as_dict(found: Causes) -> dict[str, Any]:
    """For a program."""
    return {
        "causes": [
            {**asdict(one), "n": one.n, "is_shown": one.is_shown, "verdict": verdict(one, found)}
            for one in (found.again, *found.substitutions)
        ],
        "leading": [one.substitution for one in found.leading],
        "alike": [[one.substitution for one in group] for group in found.alike],
        "lasting": found.lasting,
        "unrecovered": [asdict(one) for one in found.unrecovered],
    }


def _recovers(found: Causes) -> str:
    if len(found.leading) > FEW:
        # The table beside it has the rest.
        first, *others = found.leading
        told = f"{first.substitution} recovers {first.count} of {first.n} failed trials it applies to"
        return listed([told, *(f"{one.substitution} {one.count} of {one.n}" for one in others)])
    return "; ".join(
        f"{one.substitution} ({DOES[one.substitution]}) recovers {one.count} of {one.n} failed trials it applies to "
        f"and adds {adds(one)} of {found.lasting}"
        for one in found.leading
    )
