"""The viewer's server: what it lists, whom it answers, what it never serves, and how it copes with damage."""

from __future__ import annotations

import http.client
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import urlopen

import numpy as np
import polars as pl
import pytest

from robodx.errors import UserError
from robodx.hosts import host_name, is_loopback
from robodx.records.design import SCHEMA as DESIGN_SCHEMA
from robodx.records.design import write_design
from robodx.records.film_name import film_name
from robodx.records.schema import SCHEMA
from robodx.records.table import load_readable
from robodx.report.material import gather
from robodx.report.page import report
from robodx.report.viewer import library
from robodx.report.viewer.app import PAGES
from robodx.report.viewer.serving import open_port
from robodx.report.viewer.trajectory import Unreadable, action_parts, curves, guessed
from robodx.terminal.diagnosis import lines as diagnosis_lines
from robodx.terminal.summary import lines as summary_lines
from tests.viewing import LATENCY, Viewer, episode, viewer, write_run, write_trajectory

GOLDEN = Path(__file__).parent.parent / "golden"
HOSTILE = "<script>alert(1)</script>\n../../etc/\u202e\u05e4\u05e9\u05d8" + "x" * 5000


@pytest.fixture(autouse=True)
def always_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "FRESH_S", 0.0)


@pytest.fixture
def ask(tmp_path: Path) -> Viewer:
    """The viewer of `tmp_path / "runs"`."""
    (tmp_path / "runs").mkdir()
    return Viewer(tmp_path / "runs")


@pytest.fixture(scope="module")
def ten_thousand(tmp_path_factory: pytest.TempPathFactory) -> Viewer:
    root = tmp_path_factory.mktemp("many")
    few = pl.DataFrame([episode(0), episode(1, success=True), episode(2, perturbations=[LATENCY])], schema=SCHEMA)
    number = pl.int_range(pl.len())
    many = pl.concat([few] * 3334).head(10_000).with_columns(
        trial_id=pl.format("{}-trial", number.cast(pl.String).str.zfill(10)),
        pair_id=pl.format("pair{}", number // 3), seed=number.cast(pl.Int64) // 3, duration_s=number.cast(pl.Float64),
        task=pl.format("control/task{}", number % 60),
    )  # fmt: skip
    write_run(root / "many", [])
    many.write_parquet(root / "many" / "episodes" / "all.parquet")
    return Viewer(root)


# Lists


def test_ten_thousand_episodes_come_in_pages(ten_thousand: Viewer) -> None:
    page = ten_thousand.episodes(limit=100, offset=9950, sort="duration")
    assert (page["total"], page["matching"], len(page["rows"])) == (10_000, 10_000, 50)
    assert [row["duration_s"] for row in page["rows"]] == list(range(9950, 10_000))
    seen = set[str]()
    for offset in range(0, 10_000, 500):
        seen |= {row["trial_id"] for row in ten_thousand.episodes(limit=500, offset=offset)["rows"]}
    assert len(seen) == 10_000
    assert len(ten_thousand("/api/episodes?limit=100").body) < 60_000


def test_facets_count_what_could_be_chosen_beside_the_rest(ten_thousand: Viewer) -> None:
    page = ten_thousand.episodes(outcome="failure", task=["control/task0", "control/task1"])
    assert page["matching"] == 167
    counts = {name: {one["value"]: one["count"] for one in values} for name, values in page["facets"].items()}
    assert counts["outcome"] == {"failure": 167, "success": 167}
    assert counts["task"]["control/task0"] == 167 and counts["task"]["control/task2"] == 167
    assert counts["variant"] == {"clean": 167}
    assert ten_thousand.episodes(variant="actuator_latency=v2")["matching"] == 3333
    # What is chosen stays in sight, though nothing is left of it.
    assert {"value": "gone", "count": 0} in ten_thousand.episodes(policy="gone")["facets"]["policy"]


def test_a_wrong_object_is_called_one_and_no_timeout(tmp_path: Path) -> None:
    """Also in a run of an older version, which recorded it as an incorrect action sequence."""
    wrong = {"outcome": "timeout", "failure_kind": "reference", "failure_type": "incorrect action sequence"}
    late = {"outcome": "timeout", "failure_kind": "timeout", "failure_type": "incomplete execution"}
    run = write_run(tmp_path, [episode(1, **wrong), episode(2, **late), episode(3, success=True)])
    viewer = Viewer(tmp_path)
    page = viewer.episodes()
    assert [row["outcome"] for row in page["rows"]] == ["wrong object", "timeout", "success"]
    assert {"value": "wrong object", "count": 1} in page["facets"]["outcome"]
    first = viewer(f"/api/episode/{page['rows'][0]['run']}/{page['rows'][0]['trial_id']}").json
    assert (first["outcome"], first["failure_kind"], first["failure_type"]) == (
        "wrong object", "reference", "wrong object",
    )  # fmt: skip
    shown = report([run])
    text = shown.markdown()
    assert "**wrong object** (reference)" in text and "**timeout** (timeout)" in text
    (row,) = shown.as_dict()["sections"]["tasks"]
    assert (row["wrong_objects"], row["timeouts"], row["failures"]) == (1, 2, 0), "how they ended is told as before"


def test_the_same_average_is_shown_first_everywhere(tmp_path: Path) -> None:
    """Of a run with stress and repeats, where the share of solved episodes is another (5 of 10)."""
    run = shutil.copytree(GOLDEN / "run-v4", tmp_path / "run")
    (told,) = Viewer(tmp_path)("/api/runs").json["runs"]
    assert (told["success"], told["outcomes"]["success"], told["episodes"]) == (pytest.approx(1 / 3), 5, 10)
    (subject,) = gather([run]).subjects
    assert subject.diagnosis is not None and subject.success == subject.diagnosis.success
    counted = "(n = 6). By episode: 2 of 6 solved."
    assert f"It solves 33% [7, 77], the mean over 6 tasks, without stress or real time {counted}" in (
        report([run]).markdown().replace("\\", "")
    )
    assert f"33% [7, 77], the mean over tasks {counted}" in " ".join(diagnosis_lines(subject.diagnosis))
    first = list(summary_lines(subject.summary, by=None, motion=False, metrics=()))[:2]
    where = "the mean over 6 tasks, without stress or real time"
    assert " ".join(first) == f"Success 33% [7, 77], {where} {counted} With all other variants: 5 of 10."


def test_words_are_searched_for_as_they_are(ten_thousand: Viewer) -> None:
    assert ten_thousand.episodes(text="DROPPED task59")["matching"] == 166
    assert ten_thousand.episodes(text=".*")["matching"] == 0
    assert ten_thousand.episodes(text="[")["matching"] == 0


def test_the_place_of_an_episode_is_told(ten_thousand: Viewer) -> None:
    run = ten_thousand.runs()["many"]["id"]
    located = [f"{run}.{7:010}-trial", f"{run}.nothing"]
    page = ten_thousand.episodes(sort="duration", descending=1, locate=located)
    assert page["places"] == [9992, None]


@pytest.mark.parametrize("words", [{"sort": "__class__"}, {"offset": "-1"}, {"limit": "501"}, {"limit": "\u0661"}])
def test_what_cannot_be_listed_is_told(ten_thousand: Viewer, words: dict[str, str]) -> None:
    answer = ten_thousand(f"/api/episodes?{urlencode(words)}")
    assert answer.status == 400 and next(iter(words.values()))[:9].encode() in answer.body


def test_runs_are_found_below_and_inside_each_other(ask: Viewer, tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "monday" / "a", [episode(1), episode(2, success=True)])
    write_run(tmp_path / "runs" / "monday" / "a" / "why", [episode(1, success=True, policy="cured")])
    assert {name: run["episodes"] for name, run in ask.runs().items()} == {"monday/a": 2, "monday/a/why": 1}
    assert ask.episodes()["total"] == 3
    assert ask.episodes(policy="cured")["matching"] == 1
    assert ask.episodes(run=ask.runs()["monday/a"]["id"])["total"] == 2
    assert list(Viewer(tmp_path / "runs" / "monday" / "a" / "why").runs()) == ["why"]


# Episodes


def test_an_episode_is_told_with_its_stages_partners_and_curves(ask: Viewer, tmp_path: Path) -> None:
    rows = [
        episode(1, success=True, pair_id="p"),
        episode(2, pair_id="p", seed=1, perturbations=[LATENCY]),
        episode(4, pair_id="p", seed=1, perturbations=[{**LATENCY, "severity": 0.2}], success=True),
    ]
    run = write_run(tmp_path / "runs" / "a", rows)
    write_run(tmp_path / "runs" / "b", [episode(3, pair_id="p", seed=1, policy="other")])
    write_trajectory(run, rows[1]["trial_id"])
    id = ask.runs()["a"]["id"]
    reported = ask(f"/api/episode/{id}/{rows[1]['trial_id']}").json
    assert (
        reported["variant"] == "actuator_latency=v2"
        and reported["failure_evidence"]["says"] == "the robot dropped red cube"
    )
    assert [(stage["step"], stage["name"]) for stage in reported["stages"]] == [
        (10, "red cube grasped"), (None, "red cube on green cube")
    ]  # fmt: skip
    assert [(one["relation"], one["policy"], one["variant"], one["run_name"]) for one in reported["partners"]] == [
        ("variant", "guess", "clean", "a"), ("variant", "guess", "actuator_latency=v1", "a"),
        ("policy and variant", "other", "clean", "b"),
    ]  # fmt: skip
    curves = ask(f"/api/curves/{id}/{rows[1]['trial_id']}").json
    assert curves["end_s"] == 2.0 and curves["tool"][0][0][0] == -0.3
    assert curves["actions"][0][2:4] == [None, 0.01]
    assert len(curves["things"]) == 1 and curves["perturbed_s"] == [[1.75, 2.0]]
    assert [part["names"] for part in curves["action_parts"]] == [["dx", "dy", "dz"], ["rx", "ry", "rz"], ["grip"]]


def test_free_bodies_are_told_from_joints() -> None:
    joints = np.array([[0.5, 0.5, 0.5, 0.5, 0.1], [0.5, 0.5, 0.5, 0.4, 0.1]])
    thing = np.array([[0.1, 0.2, 0.3, 1, 0, 0, 0], [0.2, 0.2, 0.3, 0.6, 0.8, 0, 0]])
    parked = np.array([[50, 0, 0, 1, 0, 0, 0]] * 2)
    drawer = np.array([[0.0], [0.1]])
    found = guessed(np.concatenate([joints, parked, drawer, thing], axis=1))
    assert [way.tolist() for way in found] == [thing[:, :3].tolist()]
    assert guessed(np.zeros((3, 3))) == []


def test_actions_of_two_variants_and_of_unknown_spaces_have_names() -> None:
    two = action_parts("joint", 14, 2)
    assert [(part["title"], part["at"][0], len(part["names"])) for part in two] == [
        ("joints, rad, arm 1", 0, 6), ("gripper opening, arm 1", 6, 1),
        ("joints, rad, arm 2", 7, 6), ("gripper opening, arm 2", 13, 1),
    ]  # fmt: skip
    assert action_parts("ee_delta", 10, 1)[-1] == {"title": "action", "at": [7, 8, 9], "names": ["a8", "a9", "a10"]}
    assert action_parts(None, 2, 1) == [{"title": "action", "at": [0, 1], "names": ["a1", "a2"]}]
    frames = {(space, frame): [part.get("frame") for part in action_parts(space, width, 1, frame)]
              for space, width, frame in (("ee_pose", 8, "base"), ("ee_delta", 7, "tool"))}  # fmt: skip
    base, tool = "in the robot's base frame", "along the axes of the tool"
    assert frames == {("ee_pose", "base"): [base, base, None], ("ee_delta", "tool"): [tool, tool, None]}


def test_a_film_is_found_by_its_trial_and_served_in_ranges(ask: Viewer, tmp_path: Path) -> None:
    row = episode(0xABCDEF << 40, seed=3)
    run = write_run(tmp_path / "runs" / "a", [row, episode((0xABCDEF << 40) + 1, seed=4)])
    (run / "videos").mkdir()
    (run / "videos" / "control.stack_cube-seed3-failure-000abc.mp4").write_bytes(b"another")
    (run / "videos" / "control.stack_cube-seed3-failure-abcdef.mp4").write_bytes(b"0123456789")
    (run / "videos" / "control.stack_cube-seed3-failure-abcdef.txt").write_bytes(b"no film")
    path = f"/video/{ask.runs()['a']['id']}/{row['trial_id']}"
    assert ask(path).body == b"0123456789"
    part = ask(path, Range="bytes=2-5")
    assert (part.status, part.body, part.headers["content-range"]) == (206, b"2345", "bytes 2-5/10")
    assert part.headers["content-type"] == "video/mp4"
    (other,) = [one["trial_id"] for one in ask.episodes()["rows"] if one["seed"] == 4]
    assert ask(path.replace(row["trial_id"], other)).status == 404


@pytest.mark.parametrize("task", ["my tasks/put it there", "küche/öffnen", "a+b/c=d-e"])
def test_a_film_is_found_whatever_letters_its_task_has(task: str, tmp_path: Path) -> None:
    row = episode(1, task=task)
    run = write_run(tmp_path / "a", [row])
    (run / "videos").mkdir()
    (run / "videos" / film_name(row)).write_bytes(b"film")
    there = library.Library(tmp_path)
    (read,) = [there.run(id) for id in there.ids()]
    assert read is not None and read.video(row) == run / "videos" / film_name(row)


# Damage


def test_of_a_damaged_run_the_rest_is_shown_and_the_damage_told(ask: Viewer, tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs" / "half", [episode(1)], part="part-00001")
    good = (run / "episodes" / "part-00001.parquet").read_bytes()
    (run / "episodes" / "part-00002.parquet").write_bytes(good[:-200])
    (run / "episodes" / "part-00003.parquet").write_bytes(b"")
    pl.DataFrame({"trial_id": [1], "task": ["x"]}).write_parquet(run / "episodes" / "part-00004.parquet")
    wrong = pl.DataFrame([episode(9)], schema=SCHEMA).with_columns(seed=pl.lit("nine"))
    wrong.write_parquet(run / "episodes" / "part-00005.parquet")
    (run / "run.json").write_text("{")
    (run / "trajectories").rmdir()
    reported = ask.runs()["half"]
    assert reported["episodes"] == 1 and len(reported["problems"]) == 6
    for name in ("run.json", "part-00002", "part-00003", "part-00004", "part-00005", "no trajectories"):
        assert any(name in line for line in reported["problems"]), name
    assert str(tmp_path) not in str(reported["problems"])
    (row,) = ask.episodes()["rows"]
    shown = ask(f"/api/episode/{row['run']}/{row['trial_id']}").json
    assert [stage["name"] for stage in shown["stages"]] == [None, None]
    assert "missing" in ask(f"/api/curves/{row['run']}/{row['trial_id']}").json["problem"]


@pytest.mark.parametrize("text", ["[]", "null", "9", '{"schema_version": 99}', "\xff"])
def test_a_description_that_says_nothing_hides_no_episode(ask: Viewer, tmp_path: Path, text: str) -> None:
    run = write_run(tmp_path / "runs" / "odd", [episode(1, perturbations=[LATENCY])])
    (run / "run.json").write_bytes(text.encode("latin-1"))
    reported = ask.runs()["odd"]
    assert reported["episodes"] == 1 and len(reported["problems"]) == 1
    (row,) = ask.episodes()["rows"]
    assert row["variant"] == "actuator_latency=0.4"
    assert ask(f"/api/episode/{row['run']}/{row['trial_id']}").status == 200


def test_a_description_of_odd_values_hides_no_episode(ask: Viewer, tmp_path: Path) -> None:
    odd = {
        "tasks": {"control/stack_cube": {"stages": 3, "varies": "x", "never": None}},
        "policy_spec": [],
        "perturbations": 4,
    }
    run = write_run(tmp_path / "runs" / "odd", [episode(1)], about=odd)
    write_trajectory(run, episode(1)["trial_id"])
    (row,) = ask.episodes()["rows"]
    for what in ("episode", "curves"):
        assert ask(f"/api/{what}/{row['run']}/{row['trial_id']}").status == 200


def test_what_is_known_of_the_first_situation_only_is_told_as_an_example(ask: Viewer, tmp_path: Path) -> None:
    card = {"stages": ["red cube grasped"], "never": ["blue cube lifted"], "varies": ["attributes"]}
    row = episode(1)
    write_run(tmp_path / "runs" / "odd", [row, {**episode(2), "seed": 0}], about={"tasks": {row["task"]: card}})
    found = {}
    for one in ask.episodes()["rows"]:
        shown = ask.json(f"/api/episode/{one['run']}/{one['trial_id']}")
        found[one["seed"]] = shown["never"]
    assert found.pop(0) == [{"name": "blue cube lifted", "is_example": False}]
    assert found and all(never == [{"name": "blue cube lifted", "is_example": True}] for never in found.values())


def test_a_folder_of_parts_without_a_description_is_a_run(ask: Viewer, tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs" / "bare", [episode(1)])
    (run / "run.json").unlink()
    assert ask.runs()["bare"]["episodes"] == 1 and "no run.json" in ask.runs()["bare"]["problems"][0]


def test_a_damaged_trajectory_is_told(ask: Viewer, tmp_path: Path) -> None:
    rows = [episode(number) for number in range(4)]
    run = write_run(tmp_path / "runs" / "a", rows)
    whole = write_trajectory(run, rows[0]["trial_id"]).read_bytes()
    paths = [run / "trajectories" / f"{row['trial_id']}.npz" for row in rows]
    paths[0].write_bytes(whole[: len(whole) // 2])
    paths[1].write_bytes(b"not an archive")
    np.savez(paths[2], time_s=np.zeros(3), tool_in_world=np.zeros((2, 1, 7)), stage=np.zeros(3))
    np.savez(paths[3], time_s=np.array([{}, {}], dtype=object))
    id = ask.runs()["a"]["id"]
    for row in rows:
        answer = ask(f"/api/curves/{id}/{row['trial_id']}")
        assert answer.status == 200 and f"{row['trial_id']}.npz is damaged" in answer.json["problem"]


def test_a_damaged_index_of_a_trajectory_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    for index in ('{"hands":[],"joints":{},"things":[1]}', "[" * 100_000, "null", "{"):
        np.savez(
            path,
            time_s=np.zeros(1),
            tool_in_world=np.zeros((1, 1, 7)),
            stage=np.zeros(1),
            qpos=np.zeros((1, 9)),
            actions=np.zeros((0, 7)),
            index=np.array(index),
        )
        with pytest.raises(Unreadable, match="damaged"):
            curves(path, "ee_delta")


def test_readable_parts_are_put_together_as_by_load(tmp_path: Path) -> None:
    run = write_run(tmp_path, [episode(1, attempt=1, outcome="error"), episode(2)], part="part-00001")
    write_run(tmp_path, [episode(1, attempt=2)], part="part-00002")
    table, problems = load_readable(sorted((run / "episodes").iterdir()))
    assert problems == [] and table["attempt"].to_list() == [2, 1]


# Hostile names


def test_hostile_names_are_passed_on_as_text(ask: Viewer, tmp_path: Path) -> None:
    row = episode(1, task=HOSTILE, policy=HOSTILE, instructions=[{"step": 0, "text": HOSTILE}], failure_kind=HOSTILE)
    write_run(tmp_path / "runs" / "<img src=x onerror=alert(1)>", [row])
    write_run(
        tmp_path / "runs" / "half\udcff", [episode(2)], about={"tasks": {"control/stack_cube": {"stages": ["\ud800"]}}}
    )
    assert {"<img src=x onerror=alert(1)>", "half\\udcff"} == set(ask.runs())
    page = ask("/api/episodes")
    assert page.headers["content-type"] == "application/json"
    row = next(row for row in page.json["rows"] if row["kind"] == HOSTILE)
    assert row["task"] == HOSTILE and len(row["said"]) == 400
    assert ask.episodes(task=HOSTILE)["matching"] == 1
    for row in page.json["rows"]:
        assert ask(f"/api/episode/{row['run']}/{row['trial_id']}").status == 200
        assert ask(f"/video/{row['run']}/{row['trial_id']}").status == 404


def test_the_pages_never_make_markup_of_text() -> None:
    for path in PAGES.values():
        text = path.read_text()
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "onclick=",
            "http://",
            "https://",
        ):
            assert word not in text.replace("http://www.w3.org/2000/svg", ""), (path.name, word)
    assert {"index.html", "app.js", "style.css"} <= set(PAGES)


# Security


PATHS = (
    "/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "//etc/passwd",
    "/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e%2fapp.py", "/static//etc/passwd", "/static/app.py",
    "/static/..%5capp.py", "/static/app.js%00.py", "/static/", "/runs/secret.txt", "/video/../../secret.mp4",
)  # fmt: skip


def test_nothing_is_addressed_by_path(tmp_path: Path) -> None:
    # Over a real connection: no client tidies the path up on its way.
    with viewer(tmp_path) as address:
        for path in PATHS:
            connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)
            connection.request("GET", path)
            answer = connection.getresponse()
            assert (answer.status, answer.read()[:11]) in {(404, b"There is no"), (404, b"Not Found")}, path
            connection.close()


@pytest.mark.parametrize("word", ["../secret", "..%2f..%2fsecret", "%2e%2e", "/etc/passwd", "secret", "a%00", "."])
def test_runs_and_trials_are_looked_up(ask: Viewer, tmp_path: Path, word: str) -> None:
    run = write_run(tmp_path / "runs" / "a", [episode(1)])
    (tmp_path / "secret.npz").write_bytes(write_trajectory(run, "x").read_bytes())
    id = ask.runs()["a"]["id"]
    for what in ("api/episode", "api/curves", "video"):
        assert ask(f"/{what}/{id}/{word}").status == 404
        assert ask(f"/{what}/{word}/{episode(1)['trial_id']}").status == 404
    assert ask(f"/api/episodes?run={word}").status == 404


def test_a_trial_id_that_is_a_path_leads_nowhere(ask: Viewer, tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs" / "a", [])
    secret = write_trajectory(run, "x").rename(tmp_path / "secret.npz")
    absolute = str(secret.with_suffix(""))
    write_run(run, [episode(1, trial_id="../../../secret"), episode(2, trial_id=absolute), episode(3, trial_id="..")])
    for row in ask.episodes()["rows"]:
        answer = ask(f"/api/curves/{row['run']}/{quote(row['trial_id'], safe='')}")
        assert answer.status == 404 or "problem" in answer.json


def test_links_out_of_the_folder_are_not_followed(ask: Viewer, tmp_path: Path) -> None:
    outside = write_run(tmp_path / "outside", [episode(1)])
    film = outside / "control.stack_cube-seed1-failure-000000.mp4"
    film.write_bytes(b"secret")
    runs = tmp_path / "runs"
    (runs / "linked").symlink_to(outside)
    own = write_run(runs / "own", [episode(1)])
    (own / "episodes" / "part-00001.parquet").symlink_to(
        write_run(tmp_path / "more", [episode(2)]) / "episodes/all.parquet"
    )
    (own / "trajectories" / f"{1:016x}.npz").symlink_to(write_trajectory(outside, "x"))
    (own / "videos").mkdir()
    (own / "videos" / film.name).symlink_to(film)
    (runs / "bare" / "episodes").mkdir(parents=True)
    (runs / "bare" / "run.json").symlink_to(outside / "run.json")
    (runs / "films").mkdir()
    whole = write_run(runs / "films" / "b", [episode(1)])
    (whole / "videos").symlink_to(outside)
    found = ask.runs()
    assert {name: run["episodes"] for name, run in found.items()} == {"own": 1, "bare": 0, "films/b": 1}
    assert found["own"]["videos"] == found["films/b"]["videos"] == 0
    assert "no run.json" in found["bare"]["problems"][0]
    for name in ("own", "films/b"):
        assert ask(f"/video/{found[name]['id']}/{1:016x}").status == 404
    assert "outside" in ask(f"/api/curves/{found['own']['id']}/{1:016x}").json["problem"]


def test_a_folder_that_is_a_link_itself_can_be_viewed(tmp_path: Path) -> None:
    write_run(tmp_path / "disk" / "a", [episode(1)])
    (tmp_path / "runs").symlink_to(tmp_path / "disk")
    assert Viewer(tmp_path / "runs").runs()["a"]["episodes"] == 1


def test_only_pages_of_this_machine_are_answered(ask: Viewer) -> None:
    for host in ("127.0.0.1", "localhost", "localhost:7860", "[::1]:80", "LOCALHOST"):
        assert ask("/api/runs", Host=host).status == 200
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7860", "10.0.0.1", "", "[::1].evil"):
        assert ask("/api/runs", Host=host).status == 403


def test_every_answer_forbids_foreign_content(ask: Viewer) -> None:
    for path in ("/", "/static/app.js", "/api/runs", "/nothing"):
        headers = ask(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self'; img-src 'self' data:")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert ask("/", method="POST").status == 405
    assert ask("/", method="HEAD").status == 200


def test_from_elsewhere_the_token_is_needed(tmp_path: Path) -> None:
    ask = Viewer(tmp_path, token="right")
    for path in (
        "/",
        "/api/runs",
        "/?token=wrong",
        "/?token=",
        "/api/runs?token=righ",
        "/static/app.js",
        "/?token=ü",
    ):
        assert ask(quote(path, safe="/?=")).status == 403
    assert ask("/", Host="10.0.0.1").status == 403
    first = ask("/?token=right&x=1", Host="10.0.0.1")
    assert (first.status, first.headers["location"]) == (303, "/?x=1")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    assert ask("/api/runs", Cookie=cookie.partition(";")[0], Host="10.0.0.1").status == 200
    assert ask("/api/runs", Cookie=cookie.partition("=")[0] + "=wrong").status == 403
    assert ask("//evil.example/?token=right").headers["location"] == "/evil.example/"


def test_hosts_are_told_apart() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "robot.lan", "")))
    assert host_name("[::1]:80") == "::1" and host_name("A.b:1") == "a.b" and host_name("localhost") == "localhost"
    for odd in ("[::1].evil", "[::1]evil:80", "[::1", "x[::1]", "[::1%evil]", "localhost:80.evil", "a@localhost"):
        assert host_name(odd) == "", odd


# Following


def test_a_run_in_progress_is_followed(ask: Viewer, tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs" / "a", [episode(1)], part="part-00001")
    first = ask("/api/runs").json
    assert first["runs"][0]["is_live"] and first["runs"][0]["episodes"] == 1
    assert ask(f"/api/runs?version={first['version']}").status == 204
    write_run(run, [episode(2)], part="part-00002")
    second = ask(f"/api/runs?version={first['version']}").json
    assert second["runs"][0]["episodes"] == ask.episodes()["total"] == 2
    (run / "videos").mkdir()
    (run / "videos" / "control.stack_cube-seed1-failure-000000.mp4").write_bytes(b"film")
    third = ask(f"/api/runs?version={second['version']}").json
    assert third["runs"][0]["videos"] == 1 and ask.episodes(film="filmed")["matching"] == 2
    write_run(run, [episode(1), episode(2)], part="all")
    for part in (run / "episodes").glob("part-*"):
        part.unlink()
    assert not ask.runs()["a"]["is_unfinished"] and ask.episodes()["total"] == 2


def test_a_run_that_stopped_is_not_live(ask: Viewer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path / "runs" / "a", [episode(1)], part="part-00001")
    monkeypatch.setattr(library, "LIVE_S", -1.0)
    reported = ask.runs()["a"]
    assert reported["is_unfinished"] and not reported["is_live"]


def test_a_run_whose_process_is_gone_is_not_live(ask: Viewer, tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs" / "a", [episode(1)], part="part-00001")
    ended = subprocess.Popen(["true"])
    ended.wait()
    for process, host, is_live in (
        (os.getpid(), platform.node(), True), (ended.pid, platform.node(), False), (ended.pid, "another", True),
    ):  # fmt: skip
        (run / ".lock").write_text(f"process {process} on {host}")
        assert ask.runs()["a"]["is_live"] is is_live


def test_runs_that_there_is_no_time_for_are_read_later(
    ask: Viewer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "runs" / "a", [episode(1)])
    monkeypatch.setattr(library, "READING_S", -1.0)
    first = ask("/api/runs").json
    assert "episodes" not in first["runs"][0]
    assert ask.episodes(run=first["runs"][0]["id"])["total"] == 1
    assert ask(f"/api/runs?version={first['version']}").json["runs"][0]["episodes"] == 1


# The command


def test_a_port_in_use_is_named_unless_any_will_do() -> None:
    with open_port("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"port {port} of 127.0.0.1 is in use"):
            open_port("127.0.0.1", port)
    with open_port("127.0.0.1", None) as first, open_port("127.0.0.1", None) as second:
        assert first.getsockname()[1] != second.getsockname()[1]
    with pytest.raises(UserError, match='No interface "no such host"'):
        open_port("no such host", 0)


def test_the_command_tells_its_address_and_ends_quietly(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [episode(1)])
    words = [
        sys.executable,
        "-c",
        "from robodx.cli import main; main()",
        "view",
        str(tmp_path),
        "--no-browser",
        "--port",
        "0",
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        said = process.stdout.readline()
        assert said.startswith(f"Viewing {tmp_path} at http://127.0.0.1:")
        with urlopen(f"{said.split()[3]}api/runs", timeout=10) as answer:
            assert json.load(answer)["runs"][0]["episodes"] == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert process.stderr.read() == ""


def test_both_of_a_pair_are_offered_side_by_side(tmp_path: Path) -> None:
    """They are one situation, in which one thing was changed in the one, and a placebo in the other."""
    values = {1: "red", 2: "placebo"}
    rows = [
        episode(number, seed=7, interventions=[{"name": "target colour", "word": value}], success=number == 1)
        for number, value in values.items()
    ]
    write_run(tmp_path / "run", [*rows, episode(3, seed=8)])
    ask = Viewer(tmp_path)
    (run,) = ask("/api/runs").json["runs"]
    (other,) = ask(f"/api/episode/{run['id']}/{1:016x}").json["partners"]
    assert (other["trial_id"], other["variant"]) == (f"{2:016x}", "target colour=placebo")


def why_run(folder: Path) -> None:
    """A failed trial (1), the same changed (2) and with a placebo (3), another pair (4, 5), and why: 6 to 8."""
    told: dict[int, tuple[int | None, str, dict[str, str | int]]] = {
        1: (None, "screening", {}), 2: (1, "intervened", {"pair": 0, "arm": "treated"}),
        3: (1, "intervened", {"pair": 0, "arm": "placebo"}), 4: (1, "intervened", {"pair": 1, "arm": "treated"}),
        5: (1, "intervened", {"pair": 1, "arm": "placebo"}), 6: (1, "repeated", {}),
        7: (6, "substituted", {"substitution": "clean_sensors"}),
        8: (6, "substituted", {"substitution": "plain_words"}),
    }  # fmt: skip
    names = {number: f"{number:016x}" for number in told}
    for where, numbers in ((folder, range(1, 6)), (folder / "why", range(6, 9))):
        suite = "why" if where != folder else "diagnosis"
        write_run(where, [
            episode(number, suite=suite, pair_id="p", repeat=int(number > 5), success=number in (2, 5, 7))
            for number in numbers
        ])  # fmt: skip
        rows = [
            {"trial_id": names[number], "suite": suite, "variant": variant, "source_id": names.get(source or 0),
             "level": None, "factors": [
                 {"name": name, "text": value if isinstance(value, str) else None, "flag": None,
                  "number": None if isinstance(value, str) else float(value)} for name, value in factors.items()]}
            for number, (source, variant, factors) in told.items() if number in numbers
        ]  # fmt: skip
        write_design(where, pl.DataFrame(rows, schema=DESIGN_SCHEMA))


@pytest.mark.parametrize(("number", "first"), [
    (2, (3, "pair", "placebo")), (5, (4, "pair", "treated")), (7, (6, "pair", "source")), (6, (1, "pair", "source")),
    (1, (2, "pair", "intervened")),
])  # fmt: skip
def test_what_an_episode_was_run_against_is_offered_first(
    tmp_path: Path, number: int, first: tuple[int, str, str]
) -> None:
    why_run(tmp_path / "run")
    ask = Viewer(tmp_path)
    ids = {name: run["id"] for name, run in ask.runs().items()}
    reported = ask(f"/api/episode/{ids['run' if number < 6 else 'run/why']}/{number:016x}").json
    other = reported["partners"][0]
    assert (int(other["trial_id"], 16), other["relation"], other["role"]) == first
    assert len(reported["partners"]) == 7


def test_a_run_of_why_is_no_success_of_its_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    why_run(tmp_path / "run")
    told = Viewer(tmp_path).runs()
    assert {name: (run["success"], run["is_substituted"]) for name, run in told.items()} == {
        "run": (0.0, False), "run/why": (None, True),
    }  # fmt: skip
    monkeypatch.setattr(library, "READING_S", -1.0)
    assert {name: run["is_substituted"] for name, run in Viewer(tmp_path).runs().items()} == {
        "run": False, "run/why": True,
    }, "also before they are read"  # fmt: skip
    ask = Viewer(tmp_path)
    why = told["run/why"]["id"]
    listed = {int(row["trial_id"], 16): row["variant"] for row in ask.episodes(run=why)["rows"]}
    assert listed == {6: "clean", 7: "substituted", 8: "substituted"}
    rows = ask(f"/api/overview?run={why}").json["rows"]
    assert {row["variant"]: (row["solved"], row["n"]) for row in rows} == {"repeated": (0, 1), "substituted": (1, 2)}
