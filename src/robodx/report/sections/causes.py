"""Why trials fail: what of the failures is recovered when one component is made perfect."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import polars as pl

from robodx.analysis.cause_sentences import DOES, adds, as_dict, conclusion, not_told_apart, unrecovered
from robodx.analysis.causes import FOLDER, Cause, Causes, causes_of, kinds_of, sample
from robodx.analysis.findings.remedies import advice_on
from robodx.analysis.variants import untouched
from robodx.records.about import UnreadableRun, read_about
from robodx.records.table import load_readable, parts_of
from robodx.report.blocks import Block, Cell, Column, Folded, Heading, Missing, Text
from robodx.report.forest import Row, forest
from robodx.report.material import Material, Run, Subject
from robodx.report.sections.base import Content, section
from robodx.report.words import listed, p_cell, points

FURTHER = (
    Column("adds", "trials that fail again when repeated: the least and the most over all orders", is_number=True),
    Column("beyond repeating", "alone less the same trials simply repeated, in points", is_number=True),
    Column("p", "Holm-adjusted", is_number=True),
)


@section(order=40, title="Which component fails")
def causes(material: Material) -> Content | None:
    blocks: list[Block] = []
    data = []
    not_asked = []
    for subject in material.subjects:
        found = causes_in(subject)
        if found is None:
            not_asked.append(subject)
            continue
        blocks += [Heading(subject.policy)] if material.is_comparison else []
        blocks += [*first_sentence(subject), *_told(found)]
        data.append({"policy": subject.policy, **as_dict(found)})
    return Content([*blocks, *_not_asked(not_asked, has_policies=material.is_comparison)], data)


def causes_in(subject: Subject) -> Causes | None:
    """Of all its runs that were asked why, together; None if none was."""
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
        return None
    return causes_of(pl.concat(failed), pl.concat(substituted), kinds)


def first_sentence(subject: Subject) -> list[Text | Missing]:
    """What recovers most, or what may and how to be sure of it; a sentence or none."""
    found = causes_in(subject)
    if found is None:
        return []
    if found.is_shown or not found.leading:
        return [Text(conclusion(found))]
    run = next(run for run in subject.runs if (run.path / FOLDER / "run.json").exists())
    episodes = found.to_ask(len(sample(run.episodes, len(run.episodes), kinds_of(run.about))))
    if episodes is None:
        return [Missing(f"{conclusion(found)} Run more seeds, then:", _command(run))]
    return [Missing(f"{conclusion(found)} Run more of them again:", f"{_command(run)} --episodes {episodes}")]


def _not_asked(subjects: Sequence[Subject], *, has_policies: bool) -> list[Missing]:
    """The policies whose failures were not run again, with a command for each."""
    failed = untouched() & pl.col("outcome").is_in(["failure", "timeout"])
    runs = {
        subject.policy: run
        for subject in subjects
        for run in [next((run for run in subject.runs if len(run.episodes.filter(failed))), None)]
        if run is not None
    }
    if not runs:
        return []
    whose = f"The failures of {listed(list(runs))}" if has_policies else "The failures"
    wording = (
        f"{whose} have not been run again with one component made perfect. To find which one fails (language, "
        "perception, grasping …):"
    )
    first, *others = map(_command, runs.values())
    return [Missing(wording, first), *(Missing("", command) for command in others)]


def _command(run: Run) -> str:
    return f"robodx why {shlex.quote(str(run.path))}"


def _told(found: Causes) -> list[Block]:
    run = [one for one in (found.again, *found.substitutions) if one.n]
    table = forest(
        "What each substitution alone recovers of the failed trials it applies to, with 95% intervals",
        ["component", "substitution"],
        [_row(one) for one in run],
        what="alone",
        further=FURTHER,
    )
    adding = (
        f"Adds: of the {found.lasting} trials that fail again when repeated, the least and the most over all orders of "
        "the substitutions, that is, those that no other recovers and all that it recovers. Several substitutions may "
        "recover the same trial: the rows do not add up."
    )
    does = "; ".join(f"{one.substitution}: {DOES[one.substitution]}" for one in run)
    said = [*not_told_apart(found), *unrecovered(found)]
    remedies = [(name, advice_on(name)) for name in dict.fromkeys(one.component for one in found.leading)]
    # With one, the first screen says it.
    advised = [
        Text(f"If it is {name}, advice, untested: {says}") for name, says in remedies if says and len(remedies) > 1
    ]
    means = Folded("What the columns and the substitutions mean", [Text(adding), Text(f"{does}.")])
    return [table, *(Text(sentence) for sentence in said), *advised, means]


def _row(one: Cause) -> Row:
    cells = [Cell("—")] * 3
    if one.p is not None:
        excess, p = Cell(points(one.excess), sort=one.excess), Cell(p_cell(one.p_holm), sort=one.p_holm)
        cells = [Cell(adds(one)), excess, p]
    return Row([one.component, one.substitution], one.recovered, 2 if one.is_shown else 4, further=cells)
