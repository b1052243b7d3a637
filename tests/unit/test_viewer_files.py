"""What else the viewer hands out: a run's report, the list as a table, and the run of which a trial is."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pytest

from robodx.report.page import write_report
from robodx.report.viewer import library
from tests.viewing import LATENCY, Viewer, episode, write_run

FILM = f"control.stack_cube-seed1-failure-{episode(1)['trial_id'][:6]}.mp4"


@pytest.fixture(autouse=True)
def always_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "FRESH_S", 0.0)


@pytest.fixture
def ask(tmp_path: Path) -> Viewer:
    (tmp_path / "runs").mkdir()
    return Viewer(tmp_path / "runs")


def filmed(folder: Path, number: int = 1, policy: str = "guess") -> Path:
    run = write_run(folder, [episode(number, seed=1, policy=policy)])
    (run / "videos").mkdir()
    (run / "videos" / FILM.replace(FILM[-10:-4], episode(number)["trial_id"][:6])).write_bytes(
        b"film of " + folder.name.encode()
    )
    return run


def test_a_report_is_served_with_the_films_that_it_links_to(ask: Viewer, tmp_path: Path) -> None:
    first = filmed(tmp_path / "runs" / "monday" / "a b?")
    second = filmed(tmp_path / "runs" / "monday" / "b", 0xABCDEF << 40, "rival")
    write_report([first, second], first / "report.html", videos="link")
    id = ask.runs()["monday/a b?"]["id"]
    to = ask(f"/report/{id}")
    assert (to.status, to.headers["location"]) == (307, f"/report/{id}/monday/a%20b%3F/")
    page = ask(to.headers["location"])
    assert page.status == 200 and page.headers["content-type"].startswith("text/html")
    # Those of the first screen are on the page twice.
    links = sorted(set(re.findall(r'<video[^>]* src="([^"#]*)#', page.body.decode())))
    assert links == ["../b/videos/control.stack_cube-seed1-failure-abcdef.mp4", f"videos/{FILM}"]
    for link, content in zip(links, (b"film of b", b"film of a b?"), strict=True):
        # As a browser puts it together.
        where = os.path.normpath(to.headers["location"] + link)
        answer = ask(where)
        assert (answer.status, answer.headers["content-type"], answer.body) == (200, "video/mp4", content)


@pytest.mark.parametrize(("above", "where"), [("demo", "demo"), ("", "-")])
def test_a_report_of_several_runs_is_found_one_folder_up(ask: Viewer, tmp_path: Path, above: str, where: str) -> None:
    folder = tmp_path / "runs" / above
    runs = [filmed(folder / "a"), filmed(folder / "b", 0xABCDEF << 40, "rival")]
    write_run(folder / "c", [episode(1)])
    write_report(runs, folder / "report.html", videos="link")
    found = {Path(name).name: run for name, run in ask.runs().items()}
    assert [found[name]["has_report"] for name in "abc"] == [True, True, False]
    to = ask(f"/report/{found['b']['id']}").headers["location"]
    assert to == f"/report/{found['b']['id']}/{where}/"
    page = ask(to)
    assert page.status == 200
    for link in set(re.findall(r'<video[^>]* src="([^"#]*)#', page.body.decode())):
        assert ask(os.path.normpath(to + link)).status == 200
    assert ask(f"/report/{found['c']['id']}").status == 404 == ask(f"/report/{found['c']['id']}/{where}/").status


def test_a_report_may_run_the_script_of_our_pages_and_no_other(ask: Viewer, tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs" / "a", [episode(1)])
    write_report([run], run / "report.html")
    page = ask(f"/report/{ask.runs()['a']['id']}/a/")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")
    assert "img-src data:; media-src 'self' data:; base-uri 'none'; form-action 'none'" in policy
    (script,) = re.findall(rb"<script>(.*?)</script>", page.body, re.DOTALL)
    assert f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'" in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    # Others keep theirs.
    assert ask("/").headers["content-security-policy"].startswith("default-src 'self'")


def test_a_report_is_looked_up_and_never_outside(ask: Viewer, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    (tmp_path / "secret.html").write_text("secret")
    linked, bare = write_run(runs / "linked", [episode(1)]), write_run(runs / "bare", [episode(2)])
    (linked / "report.html").symlink_to(tmp_path / "secret.html")
    (linked / "videos").mkdir()
    (linked / "videos" / FILM).symlink_to(tmp_path / "secret.html")
    (bare / "my-report.html").write_text("another")
    (write_run(runs / "folder", [episode(3)]) / "report.html").mkdir()
    found = ask.runs()
    assert not any(run["has_report"] for run in found.values())
    assert found["bare"]["report_command"] == "robodx report runs/bare"
    for name, run in found.items():
        for path in (
            f"/report/{run['id']}", f"/report/{run['id']}/{name}/", f"/report/{run['id']}/{name}/videos/{FILM}",
            f"/report/{run['id']}/../../secret.html", f"/report/{run['id']}/{quote('../..', safe='')}/",
            f"/report/{run['id']}/{name}/videos/{quote('../report.html', safe='')}", f"/report/{name}",
        ):  # fmt: skip
            assert ask(path).status == 404, path


def test_a_report_that_is_older_than_the_episodes_is_told(ask: Viewer, tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs" / "a", [episode(1)])
    (run / "report.html").write_text("<!doctype html>")
    version = ask("/api/runs").json["version"]
    assert (ask.runs()["a"]["has_report"], ask.runs()["a"]["is_report_old"]) == (True, False)
    os.utime(run / "report.html", (1, 1))
    changed = ask(f"/api/runs?version={version}")
    assert changed.status == 200 and changed.json["runs"][0]["is_report_old"]


# Downloads


def test_the_filtered_list_is_downloaded_as_it_stands(ask: Viewer, tmp_path: Path) -> None:
    rows = [episode(n, success=n % 2 == 0, duration_s=float(10 - n)) for n in range(6)]
    write_run(tmp_path / "runs" / "a", [*rows, episode(9, perturbations=[LATENCY])])
    write_run(tmp_path / "runs" / "b", [episode(1, policy="rival")])
    words = {"outcome": "failure", "sort": "duration", "descending": "1"}
    listed = ask.episodes(**words)["rows"]
    table = pl.read_parquet(
        io.BytesIO(ask(f"/api/episodes.parquet?{'&'.join(f'{k}={v}' for k, v in words.items())}").body)
    )
    assert table["trial_id"].to_list() == [row["trial_id"] for row in listed] and len(table) == 5
    assert sorted(table["run"].unique()) == ["a", "b"] and "actuator_latency=v2" in table["variant"].to_list()
    assert not any(isinstance(kind, pl.List | pl.Struct) for kind in table.schema.dtypes())
    answer = ask("/api/episodes.csv?outcome=failure&sort=duration&descending=1")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="episodes.csv"'
    as_text = pl.read_csv(io.BytesIO(answer.body), infer_schema=False)
    assert table.columns[:5] == ["run", "trial_id", "variant", "shown_outcome", "pair_id"], "as docs/exports.md says"
    assert as_text.columns == table.columns and as_text["trial_id"].to_list() == table["trial_id"].to_list()
    assert as_text["failure_evidence.says"][0] == "the robot dropped red cube"
    assert pl.read_csv(io.BytesIO(ask("/api/episodes.csv?task=gone").body)).columns[:2] == ["run", "trial_id"]


def test_nothing_that_is_downloaded_is_a_formula(ask: Viewer, tmp_path: Path) -> None:
    harmful = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1"]
    rows = [episode(n, policy=text, instructions=[{"step": 0, "text": text}]) for n, text in enumerate(harmful)]
    write_run(tmp_path / "runs" / "=1+1", rows)
    table = pl.read_csv(io.BytesIO(ask("/api/episodes.csv").body))
    assert sorted(table["policy"]) == sorted(f"'{text}" for text in harmful)
    for column in table.select(pl.col(pl.String)):
        assert not column.drop_nulls().str.contains(r"^[=+\-@\t\r]").any(), column.name
    # A typed table has no formulas, and what was said stays as it was.
    typed = pl.read_parquet(io.BytesIO(ask("/api/episodes.parquet").body))
    assert sorted(typed["policy"]) == sorted(harmful)


def test_no_login_is_downloaded(ask: Viewer, tmp_path: Path) -> None:
    address = "openpi://me:secret@host:8000"
    write_run(tmp_path / "runs" / "a", [episode(1, policy=address, error=f"{address} said no")])
    text = ask("/api/episodes.csv").body.decode()
    assert "secret" not in text and "openpi://…@host:8000 said no" in text
    assert pl.read_parquet(io.BytesIO(ask("/api/episodes.parquet").body))["policy"].to_list() == [
        "openpi://…@host:8000"
    ]


def test_a_folder_without_runs_gives_an_empty_table(ask: Viewer) -> None:
    assert b"trial_id" in ask("/api/episodes.csv").body
    assert ask("/api/episodes.xlsx").status == 404
    assert ask("/api/episodes.csv?run=gone").status == 404


# Trials


def test_an_episode_is_found_by_its_trial_alone(ask: Viewer, tmp_path: Path) -> None:
    for name, number in (("monday/a", 1), ("monday/b", 1), ("c", 2)):
        write_run(tmp_path / "runs" / name, [episode(number)])
    ids = {name: run["id"] for name, run in ask.runs().items()}
    os.utime(tmp_path / "runs" / "monday" / "a" / "episodes" / "all.parquet", (4e9, 4e9))
    one = episode(1)["trial_id"]
    assert ask(f"/api/trial/{episode(2)['trial_id']}?run=monday/a").json["run"] == ids["c"], "wherever it is"
    assert ask(f"/api/trial/{one}").json == {"run": ids["monday/a"], "trial_id": one}, "of several that changed last"
    for word in ("monday/b", "b", ids["monday/b"]):
        assert ask(f"/api/trial/{one}?run={word}").json["run"] == ids["monday/b"]
    assert ask("/api/trial/gone").json["run"] is None
