"""A leaderboard as one offline page in the report's style, as CSV and as LaTeX."""

from __future__ import annotations

import polars as pl

from robodx import latex
from robodx.analysis.leaderboard import Entrant, Leaderboard, Pair, Standing, leaderboard
from robodx.analysis.leaderboard_sentences import basis, cautions, conclusion, in_parts, method, of_whom
from robodx.analysis.statistics.estimates import Estimate
from robodx.records.logins import without_logins
from robodx.report import forest
from robodx.report.blocks import Block, Cell, Column, Table, Text
from robodx.report.material import Material, Subject
from robodx.report.page import Report
from robodx.report.plots.svg import Scale
from robodx.report.plots.whiskers import Drawn, axis, whiskers
from robodx.report.sections.base import Content, Section
from robodx.report.words import p_cell, points, rate, short, signed

# More are shown when asked for.
MOST_PAIRS = 10


def ranked(material: Material) -> Leaderboard:
    """The policies of the runs, joined as the report joins them."""
    cards = {name: card for one in material.subjects for name, card in one.about.get("perturbations", {}).items()}
    return leaderboard([_entrant(one, name) for name, one in _named_subjects(material).items()], cards)


def page(material: Material, found: Leaderboard, title: str | None = None) -> Report:
    return Report(
        title or f"Leaderboard of {len(found.standings)} policies",
        basis(found),
        material,
        (
            Section("leaderboard", "Leaderboard", Content(_standings(found))),
            *([Section("families", "By family", Content(_families(found)))] if len(found.families) > 1 else []),
            Section("pairs", "Pairs", Content(_pairs(found))),
            Section("compared", "What was compared", Content(_basis(material, found))),
        ),
        kind="leaderboard",
    )


def table(found: Leaderboard) -> pl.DataFrame:
    """One row a policy, for CSV; rates are from 0 to 1."""
    return pl.DataFrame([_row(one, found) for one in found.standings], infer_schema_length=None)


def tex(found: Leaderboard) -> str:
    """Tables for a paper: the ranks, and success by family."""
    heads = ["Rank", "Policy", "Success", "n"]
    rows = [[one.rank, of_whom(one), rate(one.success), f"{one.success.n:,}"] for one in found.standings]
    told = " ".join([f"{basis(found)}.", *method()])
    tables = [latex.table(heads, rows, told, "tab:leaderboard")]
    for place, families in enumerate(in_parts(found.families) if len(found.families) > 1 else (), start=1):
        rows = [[of_whom(one), *(rate(one.families[name]) for name in families)] for one in found.compared]
        caption = f"Success by family, with 95% intervals: {basis(found)}."
        tables.append(latex.table(["Policy", *families], rows, caption, f"tab:leaderboard-families-{place}"))
    return "\n".join(tables)


def _named_subjects(material: Material) -> dict[str, Subject]:
    """By names that may be handed on; policies that differ in their logins alone are numbered."""
    found: dict[str, Subject] = {}
    for one in material.subjects:
        name = shown = without_logins(one.policy)
        number = 1
        while shown in found:
            number += 1
            shown = f"{name} ({number})"
        found[shown] = one
    return found


def _entrant(one: Subject, name: str) -> Entrant:
    return Entrant(
        name,
        one.episodes,
        one.episodes.join(one.base, on="trial_id", how="semi", maintain_order="left"),
        one.summary.stopped,
        any(run.about.get("policy_spec", {}).get("is_privileged") is True for run in one.runs),
    )


def _standings(found: Leaderboard) -> list[Block]:
    errors = [Column("errors", is_number=True)] if any(one.errors for one in found.standings) else []
    columns = [
        Column("rank", "the ranks that the tests leave open"), Column("policy"),
        Column("", axis=axis()), Column("success", "mean over tasks, with its 95% interval", is_number=True),
        forest.N, *errors,
    ]  # fmt: skip
    rows = [
        [
            Cell(one.rank, sort=one.best, style="strong"),
            Cell(of_whom(one), title=of_whom(one), style="strong"),
            Cell("", plot=whiskers([Drawn(one.success, 1, 0)], f"{one.policy}: {rate(one.success)}")),
            Cell(rate(one.success), sort=one.success),
            Cell(f"{one.success.n:,}", sort=one.success.n),
            *(Cell(f"{one.errors:,}", sort=one.errors) for _ in errors),
        ]
        for one in found.standings
    ]
    shown = Table("Success over all tasks, with 95% intervals, and ranks", columns, rows, kind="forest")
    return [Text(conclusion(found)), shown, *(Text(wording, "quiet") for wording in method())]


def _families(found: Leaderboard) -> list[Block]:
    columns = [Column("policy"), *(Column(name, is_number=True) for name in found.families)]
    rows = [[_named(one), *(_cell(one.families[name]) for name in found.families)] for one in found.compared]
    return [Table("Success by family, with 95% intervals", columns, rows)]


def _named(one: Standing) -> Cell:
    return Cell(short(of_whom(one)), title=of_whom(one), style="strong")


def _cell(one: Estimate) -> Cell:
    return Cell(rate(one), sort=one, title=f"n = {one.n}")


def _pairs(found: Leaderboard) -> list[Block]:
    ends = [abs(end) for one in found.pairs for end in (one.difference.low, one.difference.high) if end is not None]
    widest = max(0.25, max(ends, default=1.0))
    rows = [
        forest.Row([f"{short(one.first)} − {short(one.second)}"], one.difference, _colour(one), further=_verdict(one))
        for one in found.pairs
    ]
    return [
        forest.forest(
            "Success of the first minus that of the second, in points on the same situations, with 95% intervals",
            ["pair"], rows,
            what="difference", scale=Scale(-widest, widest), tick=signed, wording=points, line=0.0,
            further=[Column("p", "Holm-adjusted among all pairs", is_number=True), Column("verdict")],
            is_folded=len(found.pairs) > MOST_PAIRS,
        ),
    ]  # fmt: skip


def _verdict(one: Pair) -> list[Cell]:
    # The first of a pair has the higher rate.
    word, chip = ("not told apart", "undecided") if one.winner is None else ("told apart", "improved")
    return [Cell(p_cell(one.adjusted_p), sort=one.adjusted_p), Cell(word, chip=chip)]


def _colour(one: Pair) -> int:
    return 4 if one.winner is None else 3


def _basis(material: Material, found: Leaderboard) -> list[Block]:
    numbers = ("episodes", "stressed, repeated or changed", "not run by all", "lost to errors", "compared")
    columns = [Column("policy"), *(Column(name, is_number=True) for name in numbers), Column("runs")]
    rows = [_left_out(one, material, found) for one in found.standings]
    return [
        Text(f"{basis(found)}."),
        Table("Episodes of each policy, and how many were compared", columns, rows),
        *(Text(wording, "quiet") for wording in cautions(found)),
    ]


def _left_out(one: Standing, material: Material, found: Leaderboard) -> list[Cell]:
    compared = found.trials if one.is_compared else 0
    lost = one.episodes - one.not_clean - one.unshared - compared
    runs = ", ".join(str(run.path) for run in _named_subjects(material)[one.policy].runs)
    counts = (one.episodes, one.not_clean, one.unshared, lost, compared)
    return [_named(one), *(Cell(f"{count:,}", sort=count) for count in counts), Cell(runs)]


def _row(one: Standing, found: Leaderboard) -> dict[str, object]:
    row: dict[str, object] = {"rank": one.rank, "best_rank": one.best, "worst_rank": one.worst, "policy": one.policy}
    for name, estimate in (
        ("success", one.success),
        *((f"success.{key}", one.families[key]) for key in found.families),
    ):
        row |= {
            name: estimate.value,
            f"{name}.low": estimate.low,
            f"{name}.high": estimate.high,
            f"{name}.n": estimate.n,
        }
    return row | {
        "is_privileged": one.is_privileged, "episodes": one.episodes, "not_clean": one.not_clean,
        "unshared": one.unshared, "errors": one.errors,
    }  # fmt: skip
