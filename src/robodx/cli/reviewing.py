"""The command for reviews by people: it draws a sample, films it, and says what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robodx.cli.app import app
from robodx.cli.options import Json, Plugins, Run, finite, load_plugins
from robodx.errors import UserError
from robodx.output import print_aside, print_text
from robodx.terminal.console import counted, print_json, tracked

if TYPE_CHECKING:
    from robodx.records.review import Review

ENDINGS = (".csv", ".parquet")
DEFAULT_NAME = "failures"
DEFAULT_LEVEL = "medium"
DEFAULT_MARGIN = 0.07


@app.command(rich_help_panel="Read")
def review(
    run: Run,
    prepare: Annotated[
        bool,
        typer.Option(
            "--prepare",
            help="Draw the sample and film what has no film yet. Ctrl-C keeps what is done; the same command goes on.",
        ),
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv|FILE.parquet", help="Write one row for each annotation, with its pair's columns."
        ),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option(
            metavar="strict|medium|low|calibrated",
            help="With --prepare: how strict the relations are of which violations are drawn.",
            show_default=DEFAULT_LEVEL,
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            help="With --prepare: how many are drawn, by the margin within which so many drawn at random from all "
            "would show a share; 0.07 is seven points. Half are drawn from each side, so that shares of all failures "
            "are less exact.",
            callback=finite,
            show_default=str(DEFAULT_MARGIN),
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the review; another name is another sample.")] = DEFAULT_NAME,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Have people look at failures, and see how well they agree.

    First: robodx review RUN --prepare draws pairs of a source and a follow-up trial and films them. Then everybody
    labels them in robodx view RUN. Without options this command tells how far they are, what they chose, Cohen's kappa
    between each two of them, and how often the automatic attribution says the same.
    """
    load_plugins(plugin)
    from robodx.analysis.reviews.outcome import outcome
    from robodx.records.annotations import read_annotations
    from robodx.records.review import prepare_command, read_review
    from robodx.terminal.review import as_dict, lines

    if export is not None and export.suffix.lower() not in ENDINGS:
        raise UserError(f"{export} is neither a {' nor a '.join(ENDINGS)}")
    if prepare:
        _film(run, _drawn(run, name, level or DEFAULT_LEVEL, DEFAULT_MARGIN if margin is None else margin))
    elif level is not None or margin is not None:
        raise UserError(
            "--level and --margin say which sample is drawn, and are for --prepare: a sample stays as it is"
        )
    asked = read_review(run, name)
    said = read_annotations(run, asked)
    if export is not None:
        _export(run, asked, export)
        return
    missing = len(_unfilmed(run, asked))
    if as_json:
        print_json(as_dict(asked, outcome(asked, said), missing=missing))
        return
    command = prepare_command(run, name)
    print_text(*lines(asked, outcome(asked, said), missing=missing, command=command), sep="\n")


def _drawn(run: Path, name: str, level: str, margin: float) -> Review:
    """A new sample, or the one that is there: what people labelled is not thrown away."""
    from robodx.analysis.reviews.failures import failure_review
    from robodx.analysis.reviews.pairs import judged_pairs
    from robodx.records.annotations import read_annotations
    from robodx.records.review import read_review, review_path, write_review
    from robodx.records.table import load
    from robodx.streams import Streams

    rng = Streams(0, owner="review").rng("sample", name)
    drawn = failure_review(judged_pairs(run, level), load(run), rng, level=level, margin=margin, name=name)
    if not drawn.items:
        raise UserError(
            f"{run} has no failures to review: neither the oracle nor a relation (at {level}) accuses any pair"
        )
    if review_path(run, name).exists():
        there = read_review(run, name)
        annotated = len(read_annotations(run, there).kept)
        if there == drawn:
            return there
        if annotated:
            if (there.drawn.get("level"), there.drawn.get("margin")) != (level, margin):
                raise UserError(
                    f'the review "{name}" has {counted(annotated, "annotation")} of a sample at level '
                    f"{there.drawn.get('level')} with margin {there.drawn.get('margin')}: choose another --name"
                )
            print_aside(f"The run has changed since the sample was drawn. It stays: it has {annotated} annotations.")
            return there
    try:
        write_review(run, drawn)
    except OSError as error:
        raise UserError(f"the sample cannot be written into {run}: {error.strerror or error}") from error
    print_aside(f"Drew {len(drawn.items)} of {drawn.drawn['population']} pairs.")
    return drawn


def _unfilmed(run: Path, asked: Review) -> list[str]:
    """Trials of the review that have no film without captions, which tell how it ended, and could have one."""
    import polars as pl

    if not asked.trial_ids():
        # What people look at are pictures, and there need be no episodes.
        return []
    from robodx.records.film_name import plain_film
    from robodx.records.table import load_readable, parts_of

    episodes, _ = load_readable(parts_of(run))
    shown = episodes.filter(pl.col("trial_id").is_in(asked.trial_ids()) & (pl.col("outcome") != "error"))
    without = {
        row["trial_id"]
        for row in shown.select("trial_id", "task", "seed", "outcome").iter_rows(named=True)
        if not plain_film(run / "videos", row).exists()
    }
    return [trial for trial in asked.trial_ids() if trial in without]


def _film(run: Path, asked: Review) -> None:
    """In the order of the review, so that labelling can begin while later ones are still filmed."""
    missing = _unfilmed(run, asked)
    if not missing:
        return
    from robodx.sim import gl
    from robodx.video.filming import film_trials

    if not gl.status().is_available:
        print_aside("OpenGL is missing, so no videos are made; see: robodx doctor.")
        return
    problems: list[str] = []
    made = sum(1 for _ in tracked(film_trials(run, missing, problems.append, is_plain=True), len(missing), "films"))
    for problem in problems:
        print_aside(problem)
    print_aside(f"Filmed {counted(made, 'episode')}.")


def _export(run: Path, asked: Review, out: Path) -> None:
    import io

    import polars as pl

    from robodx.analysis.reviews.failures import item_id
    from robodx.analysis.reviews.outcome import annotation_table
    from robodx.analysis.reviews.pairs import judged_pairs
    from robodx.records import files
    from robodx.records.annotations import read_annotations

    said = read_annotations(run, asked)
    for problem in said.problems:
        print_aside(f"Caution: {problem}")
    is_of_pairs = "level" in asked.drawn
    pairs = judged_pairs(run, str(asked.drawn["level"])).with_columns(item_id()) if is_of_pairs else None
    table = annotation_table(asked, said, pairs)
    buffer = io.BytesIO()
    if out.suffix.lower() == ".parquet":
        table.write_parquet(buffer)
    else:
        # A cell of a table of text holds no list.
        lists = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
        table.with_columns(pl.col(lists).cast(pl.List(pl.String)).list.join("; ", ignore_nulls=True)).write_csv(buffer)
    try:
        files.write(out, buffer.getvalue())
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror or error}") from error
    print_text(f"Wrote {out} ({counted(len(table), 'annotation')}).")
