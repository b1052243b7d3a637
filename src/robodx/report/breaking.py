"""When it breaks, in the sentences of the first screen: by a run of `stress`, by cliffs, or by a diagnosis' screen."""

from __future__ import annotations

from collections.abc import Iterator

from robodx.analysis.findings.base import StressSeen
from robodx.analysis.statistics.estimates import wilson
from robodx.analysis.stress import Degradation, unconfirmed_drop
from robodx.analysis.summary import TIERS
from robodx.report.cliffs import searches
from robodx.report.line import Line
from robodx.report.material import Subject
from robodx.report.sections.stress import harmed_from
from robodx.report.words import counted, listed, percent, points, rate

ALPHA = 0.05
# A run in which only larger falls than this would be seen says little of a stressor that was not seen to harm.
LARGE_FALL = 0.25
MOST = 3
SCREEN = "This is a screen: one trial each says little of any one stressor. To test each at three levels:"
PAIRS = {
    "effect": "In further pairs, it breaks under",
    "none": "Further pairs show that it loses less than 20 points under",
    "undecided": "Corrected for all that was tested, further pairs do not decide on",
}


def breaks(subject: Subject) -> Iterator[Line]:
    yield from (*_under_stress(subject), *_at_cliffs(subject), *_by_tier(subject))
    if subject.stress or subject.searches:
        return
    told = list(_screened(subject))
    yield from (Line(each) for each in told)
    say = SCREEN if told else "No stress test was run. To run one:"
    yield Line(say, f"robodx run stress {subject.asked_by} --seeds 10")


def _screened(subject: Subject) -> Iterator[str]:
    """Of a diagnosis, whose screening has each stressor in one trial."""
    found = () if subject.diagnosis is None else subject.diagnosis.stress
    stressors = [one for one in found if one.level is not None and one.kept.n]
    if stressors:
        n = sum(one.kept.n for one in stressors)
        kept = wilson(n - sum(one.lost for one in stressors), n)
        levels = listed(sorted({one.level or "" for one in stressors}))
        tried = f"{counted(len(stressors), 'stressor')} at level {levels}, in {counted(n, 'trial')}"
        yield f"Screened under {tried} that it solves without stress, it still solves {rate(kept)} (n = {n})."
        if lost := [one.stressor for one in stressors if one.lost]:
            yield f"It failed under {listed(lost, most=6)}."
    lost_only = [one.stressor for one in stressors if one.lost and one.verdict is None]
    if lost_only and any(one.verdict for one in found):
        yield f"Not followed up by pairs: {listed(lost_only)}."
    for verdict, says in PAIRS.items():
        if those := [one for one in found if one.verdict == verdict]:
            yield f"{says} {listed([_in_pairs(one) for one in those])}."
    yield from (
        f"In real time it solves {rate(one.kept)} of the trials that it solves when the world waits (n = {one.kept.n})."
        for one in found
        # What pairs decided is told above, and from more trials.
        if one.level is None and one.kept.n and one.verdict is None
    )


def _in_pairs(one: StressSeen) -> str:
    assert one.difference is not None
    if one.verdict == "none" and one.most_lost is not None:
        return f"{one.name} (at most {100 * max(0.0, one.most_lost):.1f} points with 95% confidence, n = {one.pairs})"
    return f"{one.name} ({points(one.difference, unit=True)}, n = {one.pairs})"


def _under_stress(subject: Subject) -> Iterator[Line]:
    breaks, unharmed, unknown, unconfirmed = [], [], [], []
    for table in subject.stress:
        trends = {trend.stressor: trend for trend in table.trends}
        for name, rows in table.levels(subject.policy).items():
            trend = trends.get(name)
            visible = [row.visible_drop for row in rows]
            if trend is not None and trend.p_holm is not None and trend.p_holm < ALPHA and (trend.slope or 0.0) < 0:
                breaks.append(_fall(name, rows))
            elif trend is not None and (says := unconfirmed_drop(name, rows, trend, table.trends)):
                unconfirmed.append(says)
            elif all(fall is not None and fall <= LARGE_FALL for fall in visible):
                unharmed.append(name)
            else:
                unknown.append(name)
    for wording in breaks[:MOST]:
        yield Line(wording)
    if len(breaks) > MOST:
        yield Line(f"It also breaks under {len(breaks) - MOST} more stressors.")
    yield from map(Line, unconfirmed)
    if unharmed:
        seen = f"a drop of {100 * LARGE_FALL:.0f} points or more would have been detected"
        yield Line(f"It shows no drop under {listed(unharmed)}: {seen}.")
    yield from (
        Line(says) for says in dict.fromkeys(t.not_applicable_says(subject.policy) for t in subject.stress) if says
    )
    if unknown:
        yield Line(f"There are too few episodes to judge {listed(unknown)}.")


def _fall(name: str, rows: list[Degradation]) -> str:
    level = harmed_from(rows)
    worst = min(rows, key=lambda row: row.difference.value or 0.0)
    row = next((row for row in rows if row.level == level), worst)
    fall = f"{points(row.difference, unit=True)}, n = {row.clean.n}"
    return (
        f"Under {name} at {row.level}, success drops from {percent(row.clean.value)} to {rate(row.stressed)} ({fall})."
    )


def _at_cliffs(subject: Subject) -> Iterator[Line]:
    for one in searches(subject):
        if one.found.is_found:
            yield Line(f"On {one.task}, {one.stressor} at {one.wording()} halves its success.")
        elif one.found.is_absent:
            yield Line(f"On {one.task}, {one.stressor} up to {one.maximum} does not halve its success.")


def _by_tier(subject: Subject) -> Iterator[Line]:
    found = [
        one
        for one in subject.summary.subtotals("tier")
        if one.perturbations in subject.summary.base_variants[:1] and one.success.value is not None
    ]
    if len(found) > 1 and found[0].group in TIERS:
        first, last = found[0].success, found[-1].success
        if (last.high or 0.0) < (first.low or 0.0):
            yield Line(
                f"Success drops from {rate(first)} on {found[0].group} to {rate(last)} on {found[-1].group} tasks."
            )
