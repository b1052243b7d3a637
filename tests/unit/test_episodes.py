"""Reading a run that was damaged or edited: what is wrong is named, and nothing impossible is let in."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import polars as pl
import pytest

from robodx.analysis.diff import diff
from robodx.errors import UserError
from robodx.records import episode
from robodx.records.about import UnreadableRun, read_about
from robodx.records.merge import merge
from robodx.records.schema import ALWAYS_SAID, LATER_COLUMNS, OUTCOMES, SCHEMA
from robodx.records.table import load, load_readable
from robodx.running.request import Request
from robodx.running.why import why
from robodx.terminal.cliff import searches
from tests.commands import call

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOLDEN / "run-v3", tmp_path / "run"))


def rewrite(run: Path, **columns: pl.Series | pl.Expr) -> None:
    path = run / "episodes" / "all.parquet"
    pl.read_parquet(path).with_columns(**columns).write_parquet(path)


def first(name: str, value: object) -> pl.Series:
    """A column of the run whose first value is this."""
    values = load(GOLDEN / "run-v3")[name].to_list()
    return pl.Series(name, [value, *values[1:]], dtype=SCHEMA[name])


def describe(run: Path, **keys: Any) -> None:
    path = run / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **keys}))


def request(**keys: Any) -> dict[str, Any]:
    return {"request": {**read_about(GOLDEN / "run-v3")["request"], **keys}}


def without(run: Path, key: str, within: str | None = None) -> None:
    path = run / "run.json"
    about = json.loads(path.read_text())
    del (about[within] if within else about)[key]
    path.write_text(json.dumps(about))


def test_garbled_bytes_are_a_damaged_part(run: Path) -> None:
    path = run / "episodes" / "all.parquet"
    whole = path.read_bytes()
    # The first makes polars panic, the second it tells by itself.
    for start in (2076, 5000):
        path.write_bytes(whole[:start] + bytes(byte ^ 0xFF for byte in whole[start : start + 3]) + whole[start + 3 :])
        with pytest.raises(UnreadableRun, match=r"all\.parquet is damaged: .*Move it away"):
            load(run)
        table, problems = load_readable([path])
        assert table.is_empty() and "all.parquet is damaged" in problems[0]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("seed", pl.String),
        ("seed", pl.Float64),
        ("success", pl.Int8),
        ("perturbations", pl.String),
        ("target", pl.String),
    ],
)
def test_a_column_of_another_type_is_named_with_both(run: Path, name: str, kind: type[pl.DataType]) -> None:
    rewrite(run, **{name: pl.lit(0).cast(kind)})
    with pytest.raises(UnreadableRun, match=re.escape(f"the column {name} is {kind.__name__}, not {SCHEMA[name]}.")):
        load(run)


def test_numbers_of_another_width_are_read_if_they_fit(run: Path) -> None:
    before = load(run)
    rewrite(run, seed=pl.col("seed").cast(pl.Int32), steps=pl.col("steps").cast(pl.Int64))
    rewrite(run, progress=pl.lit(0.5, pl.Float32), error=pl.lit(None))
    after = load(run)
    assert dict(after.drop("design").schema) == SCHEMA and after["steps"].equals(before["steps"])
    rewrite(run, steps=pl.lit(2**40))
    with pytest.raises(UnreadableRun, match="steps"):
        load(run)


def test_what_every_episode_has_may_not_be_empty(run: Path) -> None:
    rewrite(run, **{name: first(name, None) for name in ALWAYS_SAID})
    with pytest.raises(UnreadableRun) as refused:
        load(run)
    for name in ALWAYS_SAID:
        assert f"the column {name} is empty in 1 of 4 episodes" in str(refused.value)


def test_what_every_episode_has_is_what_is_never_none() -> None:
    kinds = get_type_hints(episode.Episode)
    never_none = {field.name for field in fields(episode.Episode) if NoneType not in get_args(kinds[field.name])}
    # Nothing is concluded from how long the computer took.
    assert set(ALWAYS_SAID) == never_none - LATER_COLUMNS - {"wall_s"}
    assert get_args(episode.Outcome) == OUTCOMES


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("perturbations", [None]),
        ("perturbations", [{"name": None, "severity": 1.0}]),
        ("perturbations", [{"name": "noise", "severity": None}]),
        ("requirements", [None]),
        ("stage_steps", [1, None]),
        ("instructions", [None]),
        ("instructions", [{"step": 0, "text": None}]),
        ("target", {"name": "cube", "kind": None, "colour": "red", "size_m": 0.1, "x_m": 0.0, "y_m": 0.0}),
    ],
)
def test_nothing_inside_a_value_may_be_empty(run: Path, name: str, value: object) -> None:
    rewrite(run, **{name: first(name, value)})
    with pytest.raises(UnreadableRun, match=rf"the column {name} has empty values in it"):
        load(run)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("seed", -1, "seed has negative numbers"),
        ("stage_steps", [-1], "stage_steps has negative numbers"),
        ("progress", float("nan"), "progress has numbers that are not finite"),
        ("perturbations", [{"name": "noise", "severity": float("inf")}], "perturbations has numbers"),
        ("progress", -1.0, "progress has numbers in it that are not within 0 to 1"),
        ("outcome", "won", "outcome says 'won', not one of success, failure, timeout, error"),
    ],
)  # fmt: skip
def test_values_that_no_record_has_are_refused(run: Path, name: str, value: object, says: str) -> None:
    rewrite(run, **{name: first(name, value)})
    with pytest.raises(UnreadableRun, match=f"the column {says}"):
        load(run)


def test_what_older_runs_do_not_say_may_be_empty(run: Path) -> None:
    rewrite(run, **{name: pl.lit(None, SCHEMA[name]) for name in SCHEMA if name not in ALWAYS_SAID})
    assert len(load(run)) == 4


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"request": None}, "request is None, not a table"),
        ({"request": [1]}, "request is"),
        (request(selectors=None), r"request\.selectors is None, not a list of texts"),
        (request(selectors=[1]), r"request\.selectors is \[1\]"),
        (request(perturbations=[["noise"]]), r"request\.perturbations is .* pairs of a name and a value"),
        (request(plugins=[1]), r"request\.plugins is"),
        (request(until_width=[1]), r"request\.until_width is \[1\], not a number or null"),
        (request(seeds=-1), r"request\.seeds is -1, not a whole number"),
        ({"policy_spec": "x"}, "policy_spec is 'x', not a table"),
        ({"policy_spec": {"hz": float("nan")}}, r"policy_spec\.hz is nan, not a number from 5 to 60"),
        ({"policy_spec": {"hz": 10**400}}, r"policy_spec\.hz is 1000*…, not"),
        ({"versions": None}, "versions is None"),
        ({"tasks": None}, "tasks is None"),
        ({"tasks": {"a": 1}}, r"tasks\.a is 1, not a table"),
        ({"tasks": {"a/b": {"stages": 3}}}, r"tasks\.a/b\.stages is 3, not a list of texts"),
        ({"perturbations": {"noise": {"levels": {"v1": None}}}}, r"perturbations\.noise\.levels\.v1 is None, not"),
        ({"tasks": {"a/b": {"chance": 2}}}, r"tasks\.a/b\.chance is 2, not a number from 0 to 1 or null"),
        ({"not_applicable": None}, "not_applicable is None"),
    ],
)  # fmt: skip
def test_a_key_of_another_shape_is_named(run: Path, keys: dict[str, Any], says: str) -> None:
    describe(run, **keys)
    for read in (read_about, load):
        with pytest.raises(UnreadableRun, match=rf"run\.json is damaged: {says}"):
            read(run)


def test_descriptions_that_json_itself_cannot_take_are_damaged(run: Path) -> None:
    for text in ('{"schema_version": ' + "1" * 5000 + "}", "[" * 100_000):
        (run / "run.json").write_text(text)
        with pytest.raises(UnreadableRun, match="is damaged"):
            read_about(run)
    with pytest.raises(UnreadableRun, match="is not a run folder"):
        read_about(run / "run.json")


def test_what_is_no_run_is_told_from_what_is_not_there_and_from_a_folder_of_runs(run: Path) -> None:
    for folder, says in (
        (run / "mistyped", "it has no run.json, for there is no such folder"),
        (run.parent, f"it has no run.json, but holds runs: {run.name}$"),
    ):
        with pytest.raises(UnreadableRun, match=f"{folder} is not a run folder: {says}"):
            read_about(folder)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_has_the_shape(version: int) -> None:
    assert read_about(GOLDEN / f"run-v{version}")["schema_version"] == version


@pytest.mark.parametrize(
    ("key", "within"), [("request", None), ("policy", "request"), ("seeds", "request"), ("hz", "policy_spec")]
)
def test_why_names_what_it_needs_to_be_told(run: Path, key: str, within: str | None) -> None:
    without(run, key, within)
    assert read_about(run)
    with pytest.raises(UnreadableRun, match=rf"run\.json is damaged: it does not say .*{key}"):
        why(run)


def test_what_compares_or_joins_runs_names_what_it_needs_to_be_told(run: Path, tmp_path: Path) -> None:
    without(run, "versions")
    for together in (lambda: diff(GOLDEN / "run-v3", run), lambda: merge([run], tmp_path / "out")):
        with pytest.raises(UnreadableRun, match=r"run\.json is damaged: it does not say versions"):
            together()


def test_a_search_for_a_cliff_names_what_it_needs_to_be_told() -> None:
    with pytest.raises(UserError, match=r"does not say request\.clock"):
        searches({"request": {"selectors": ["cliff/noise/primitive/pick_cube"]}})


@pytest.mark.parametrize(
    ("option", "value", "most"),
    [("--seeds", 99_999_999_999, 100_000), ("--first-seed", 2**63 - 1, 2**31)],
)
def test_more_seeds_than_can_be_run_are_refused(tmp_path: Path, option: str, value: int, most: int) -> None:
    for words in (("diagnose", "guess"), ("run", "language/direct", "--policy", "guess")):
        reported = call(*words, option, str(value), cwd=tmp_path, expect=2)
        assert option in reported and str(most) in reported
    name = option.strip("-").replace("-", "_")
    with pytest.raises(UserError, match=rf"{name} is {value}: it must be \d to {most}"):
        Request(("language/direct",), "guess", **{"seeds": 1, name: value})  # type: ignore[arg-type]
