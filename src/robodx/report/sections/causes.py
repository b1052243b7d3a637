"""Why trials fail: what of the failures is recovered when one component is made perfect."""

from __future__ import annotations

import shlex
from dataclasses import asdict

import polars as pl

from robodx.analysis.causes import AGAIN, FOLDER, SUBSTITUTES, Cause, causal_shares, kinds_of, leading, sample, unsure
from robodx.records.about import UnreadableRun, read_about
from robodx.records.table import load_readable, parts_of
from robodx.report.blocks import Block, Cell, Column, Heading, Missing, Text
from robodx.report.forest import Row, forest
from robodx.report.material import Material, Run, Subject
from robodx.report.plots.whiskers import DIFFERENCES
from robodx.report.sections.base import Content, section
from robodx.report.words import counted, p_cell, points, rate, signed

P = Column("p", "Holm-adjusted", is_number=True)
DOES = {one.name: one.does for one in SUBSTITUTES} | {AGAIN: "nothing: the trial is simply repeated"}


@section(order=40, title="Why it fails")
def causes(material: Material) -> Content | None:
    blocks: list[Block] = []
    data = []
    for subject in material.subjects:
        found = causes_of(subject)
        wording = [*first_sentence(subject), *_tables(found)] if found else _not_asked(subject)
        if wording and material.is_comparison:
            blocks.append(Heading(subject.policy))
        blocks += wording
        data += [{"policy": subject.policy, **asdict(one), "is_shown": one.is_shown} for one in found]
    return Content(blocks, data)


def causes_of(subject: Subject) -> list[Cause]:
    """Of all its runs that were asked why, together."""
    failed: list[pl.DataFrame] = []
    substituted: list[pl.DataFrame] = []
    kinds: dict[str, str] = {}
    for run in subject.runs:
        folder = run.path / FOLDER
        if not (folder / "run.json").exists():
            continue
        try:
            of_folder, parts = kinds_of(read_about(folder)), parts_of(folder)
        except UnreadableRun:
            continue
        kinds |= of_folder
        episodes, _ = load_readable(parts)
        failed.append(run.episodes)
        substituted.append(episodes)
    if not failed or all(table.is_empty() for table in substituted):
        return []
    return causal_shares(pl.concat(failed), pl.concat(substituted), kinds)


def first_sentence(subject: Subject) -> list[Text | Missing]:
    """What recovers most, or what may and how to be sure of it; a sentence or none."""
    found = causes_of(subject)
    best = leading(found)
    if best is not None:
        share = f"{rate(best.share)} of the trials that fail again when repeated (n = {best.share.n})"
        smallest = f"Making {best.component} perfect is the smallest change that recovers {share}"
        return [Text(f"{smallest}: {DOES[best.substitution]}.")]
    likely = unsure(found)
    if likely is not None:
        return [_too_few(likely, subject)]
    return [Text("No single component, made perfect, is shown to recover the failures.")] if found else []


def _too_few(likely: Cause, subject: Subject) -> Missing:
    """What it recovers, and how to know whether that is an accident."""
    count = round((likely.recovered.value or 0.0) * likely.n)
    recovered = f"{likely.substitution} recovers {count} of {likely.n} failed trials"
    few = f"{counted(likely.n, 'trial')} {'is' if likely.n == 1 else 'are'} too few to be sure"
    wording = f"{recovered} ({DOES[likely.substitution]}), but {few}"
    run = next(run for run in subject.runs if (run.path / FOLDER / "run.json").exists())
    failed = len(sample(run.episodes, len(run.episodes), kinds_of(run.about)))
    episodes = likely.to_ask(failed)
    if episodes is None:
        return Missing(f"{wording}. Run more seeds, then:", _command(run))
    return Missing(f"{wording}. Run more of them again:", f"{_command(run)} --episodes {episodes}")


def _not_asked(subject: Subject) -> list[Missing]:
    wording = "The failures have not been run again with one component made perfect. To find the cause:"
    failed = pl.col("outcome").is_in(["failure", "timeout"])
    return [Missing(wording, _command(run)) for run in subject.runs if len(run.episodes.filter(failed))][:1]


def _command(run: Run) -> str:
    return f"robodx why {shlex.quote(str(run.path))}"


def _tables(found: list[Cause]) -> list[Block]:
    known = [one for one in found if one.share.value is not None]
    n = known[0].share.n if known else 0
    shares = forest(
        f"Share of {counted(n, 'trial')} failing again that each change, and none above it, recovers (95% intervals)",
        ["component", "what is changed"],
        [Row([one.component, DOES[one.substitution]], one.share, _colour(one)) for one in known],
        what="share",
    )
    applied = [
        Row(
            [one.component, one.substitution],
            one.excess,
            _colour(one),
            further=[Cell(rate(one.recovered)), Cell(rate(one.again)), Cell(p_cell(one.p_holm))],
        )
        for one in known
        if one.substitution != AGAIN
    ]
    excess = forest(
        "What each substitution recovers beyond simple repetition, in points, with 95% intervals",
        ["component", "substitution"],
        applied,
        what="beyond repeating",
        scale=DIFFERENCES,
        tick=signed,
        wording=points,
        line=0.0,
        further=[Column("recovered", is_number=True), Column("when repeated", is_number=True), P],
        is_folded=True,
    )
    order = "The shares depend on the order of the rows: a trial that two changes recover counts for the upper one."
    return [shares, Text(order, "quiet"), excess]


def _colour(one: Cause) -> int:
    return 2 if one.is_shown else 4
