"""The report: one page from records alone, whatever the records hold."""

from __future__ import annotations

import json
import os
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import polars as pl
import pytest

from robodx.analysis.findings.base import CAUTION, Diagnosis, Excluded, Symptom
from robodx.analysis.findings.subject import Because
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.statistics.psychometric import severities
from robodx.analysis.summary import Summary
from robodx.errors import UserError
from robodx.records.about import UnreadableRun, read_about
from robodx.records.derived_design import derived
from robodx.records.design import Planned, design_table, write_design
from robodx.records.table import load
from robodx.records.trial import Trial
from robodx.report import material as of_material
from robodx.report.blocks import Missing
from robodx.report.cliffs import searches
from robodx.report.page import FILE_NAME, Report, report, write, write_report
from robodx.report.plots.radar import Series, radar
from robodx.report.plots.svg import Scale
from robodx.report.sections.methods import command
from robodx.report.sentences import answers
from robodx.report.videos import films
from robodx.report.viewer_links import view_command
from robodx.report.words import code, escaped, plain, short
from tests.reporting import ABOUT, capability, diagnosis, episode, finding, run_folder, stressed

GOLDEN = Path(__file__).parents[1] / "golden"
HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "../../etc/passwd", "x" * 4000, "名前 ✓ émoji 🤖",
    "\u202egnirts desrever", "two\nlines\r\nand\ttabs\x00", "a|b`c`*d*_e_[f](g)", "{{ 7 * 7 }}{% raw %}",
    "</style></svg>",
)  # fmt: skip
VOID = {"meta", "link", "input", "br", "img", "wbr"}


class Checked(HTMLParser):
    """A page whose elements must be closed in order; it counts them and keeps what could do something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.ids: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(found: Report) -> Checked:
    page = Checked(found.html())
    assert page.tags.count("script") == page.tags.count("style") == page.tags.count("h1") == 1
    assert len(page.ids) == len(set(page.ids))
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    links = [value or "" for name, value in page.attributes if name in ("href", "src")]
    # To nothing but the viewer on this machine, and there only by a click.
    assert not [link for link in links if re.match(r"(?!data:|http://127\.0\.0\.1:7860/#)[a-z]+:|//", link)]
    assert {link[1:] for link in links if link.startswith("#")} <= set(page.ids)
    return page


def names(found: Report) -> set[str]:
    return {section.name for section in found.sections}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = capability()
    for row in rows:
        if row["family"] == "language":
            row["requirements"] = ["language/negation"] if row["tier"] == "hard" else ["language/order"]
            if not row["success"]:
                row["mistaken"] = [{"attribute": "colour", "asked": "red", "chosen": "blue"}]
    return run_folder(tmp_path_factory.mktemp("run"), rows + stressed())


@pytest.fixture
def small(tmp_path: Path) -> Path:
    rows = [episode("control/easy", seed, success=seed > 2) for seed in range(4)]
    return run_folder(tmp_path / "small", rows)


@pytest.fixture(scope="module")
def found(run: Path) -> Report:
    return report([run])


def test_a_page_has_every_section_that_has_data(found: Report) -> None:
    checked(found)
    assert names(found) >= {
        "glance", "findings", "capability", "stress", "causes", "failures", "language", "confusion", "motion",
        "latency", "gallery", "tasks", "methods",
    }  # fmt: skip
    assert not names(found) & {"comparison", "cliffs"}
    page = found.html()
    assert "breaks from v2 on" in page
    assert "robodx why" in page, "what to run where a section has no data"
    assert "Under noise at v2, success drops from 100% to 12% [2, 47]" in plain(page)


def test_the_numbers_are_those_of_the_summary(found: Report, run: Path) -> None:
    summary = Summary(load(run), read_about(run))
    expected = json.loads(json.dumps(summary.everything(None)))
    reported = json.loads(found.json())
    assert reported["schema_version"] == 3
    assert reported["sections"]["tasks"] == expected["rows"]
    assert reported["sections"]["stress"] == [expected["stress"]]
    assert reported["sections"]["failures"] == expected["failures"]
    by_tier = {(one["family"], one["tier"]): one["success"] for one in reported["sections"]["capability"]}
    assert by_tier["language", "hard"]["value"] == 0.5 and by_tier["language", "hard"]["n"] == 4
    assert reported["sections"]["confusion"] == [
        {"policy": "vision", "attribute": "colour", "asked": "red", "chosen": "blue", "count": 4}
    ]


def test_runs_of_one_policy_are_one_diagnosis(found: Report, tmp_path: Path) -> None:
    parts = run_folder(tmp_path / "a", capability()), run_folder(tmp_path / "b", stressed())
    joined = report(parts)
    assert [one.policy for one in joined.material.subjects] == ["vision"]
    assert len(joined.material.subjects[0].episodes) == len(found.material.subjects[0].episodes)
    assert json.loads(joined.json())["sections"]["tasks"] == json.loads(found.json())["sections"]["tasks"]


def test_a_trial_that_went_differently_in_two_runs_is_told(tmp_path: Path) -> None:
    first = run_folder(tmp_path / "a", capability())
    second = run_folder(tmp_path / "b", [{**row, "trajectory_hash": "other"} for row in capability()[:3]])
    assert "3 trials of vision ended differently" in report([first, second]).material.problems[0]


# What each of them fails in.
COMPARED = {"expert": "", "deaf": "language", "blind": "perception"}


def test_several_policies_are_compared_in_pairs(tmp_path: Path) -> None:
    expert = run_folder(tmp_path / "expert", capability("expert", seeds=8, fails=""))
    vision = run_folder(tmp_path / "vision", capability("vision", seeds=8))
    both = report([expert, vision])
    checked(both)
    assert both.title == "vision against expert"
    (comparison,) = json.loads(both.json())["sections"]["comparison"]
    overall = comparison["rows"][-1]
    assert comparison["is_paired"] and overall["verdict"]["word"] == "regressed"
    assert "vision is worse than expert" in both.markdown()


def test_a_page_that_compares_shows_a_failure_of_each_and_says_why_before_it_is_unfolded(tmp_path: Path) -> None:
    runs = [run_folder(tmp_path / name, capability(name, seeds=8, fails=fails)) for name, fails in COMPARED.items()]
    page = report(runs).html()
    closed = re.findall(r"<summary>([^<]*)<span class=\"told\">([^<]*)</span>", page)
    assert [summary.split(":")[0] for summary, _ in closed] == list(COMPARED)
    assert all(why.startswith("Why? ") for _, why in closed)
    pictured = page.split('<div class="pictures">')[1].split("</div>\n<details")[0]
    assert re.findall(r"<b><bdi>(\w+)</bdi></b>", pictured) == ["deaf", "blind"], "of those that fail"
    assert page.count("By family, tier and task") == 1, "the first pair is open"
    assert [one for one in COMPARED if f"robodx why {tmp_path / one}" in page] == ["deaf", "blind"]


def test_what_fails_without_an_input_is_shown_last(tmp_path: Path) -> None:
    blind = {"perturbations": [{"name": "frozen_state", "severity": 1.0}], "suite": "diagnosis"}
    rows = [episode("control/a", 0, success=False, **blind), episode("control/b", 0, success=False)]
    shown = report([run_folder(tmp_path / "run", rows)]).material.shown
    assert list(shown) == [rows[1]["trial_id"], rows[0]["trial_id"]]


def test_policies_without_a_shared_task_are_shown_beside_each_other(tmp_path: Path) -> None:
    runs = (
        run_folder(tmp_path / "a", [episode("control/a", 0, policy="a")]),
        run_folder(tmp_path / "b", [episode("control/b", 0, policy="b")]),
    )
    both = report(runs)
    checked(both)
    assert "cannot be compared" in both.html()


@pytest.mark.parametrize("version", [1, 2])
def test_old_runs_have_a_page(version: int) -> None:
    old = report([GOLDEN / f"run-v{version}"])
    checked(old)
    assert not names(old) & {"language", "confusion"}
    assert old.json() and old.markdown()


def test_hostile_names_are_shown_as_text(tmp_path: Path) -> None:
    policy = " ".join(HOSTILE)
    rows = [
        episode(
            f"control/{name}",
            seed,
            success=seed > 0,
            policy=policy,
            instructions=[{"step": 0, "text": name}],
            failure_kind=name,
            failure_evidence={"step": 1, "object": name, "condition": name, "says": name},
            requirements=[f"language/{name}"],
            mistaken=[{"attribute": name, "asked": name, "chosen": name}],
            perturbations=[{"name": name, "severity": 1.0}] if seed else [],
        )
        for name in HOSTILE
        for seed in range(2)
    ]
    request = {**ABOUT["request"], "policy": policy, "selectors": list(HOSTILE)}
    about = {**ABOUT, "request": request, "not_applicable": list(HOSTILE), "versions": {"robodx": policy}}
    found = report([run_folder(tmp_path / "run", rows, about)])
    page = checked(found)
    assert not set(page.tags) & {"img", "iframe", "object", "base"}
    shown = found.html()
    assert "<script>alert" not in shown and "{{ 7 * 7 }}" in shown
    assert not {"\u202e", "\x00"} & set(shown)
    written = re.sub(r"(`+).+?\1(?!`)", "", found.markdown())
    assert "<script" not in written and "<img" not in written and not re.search(r"(?<!\\)\[f\]", written)
    assert json.loads(found.json())["policies"] == [policy]


def test_tables_in_markdown_keep_their_columns(tmp_path: Path) -> None:
    name = "control/a|b"
    table = report([run_folder(tmp_path / "run", [episode(name, 0)])]).markdown().partition("## All tasks")[2]
    widths = {
        len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines() if line.startswith("|") and "control" in line
    }
    header = next(line for line in table.splitlines() if line.startswith("| task"))
    assert widths == {header.count("|")}


def test_a_damaged_part_is_told_and_the_rest_is_shown(tmp_path: Path) -> None:
    run = run_folder(tmp_path, capability(), part="part-00001")
    (run / "episodes" / "part-00002.parquet").write_bytes(b"PAR1 half a file")
    found = report([run])
    checked(found)
    assert any("part-00002.parquet is damaged" in reported for reported in found.material.problems)
    assert any("is not finished" in reported for reported in found.material.problems)
    assert "Some data could not be read" in found.html() and len(found.material.subjects[0].episodes) == 24


def test_without_its_description_a_run_is_shown_all_the_same(tmp_path: Path) -> None:
    run = run_folder(tmp_path, stressed(seeds=3))
    (run / "run.json").write_text("{ half of i")
    found = report([run])
    checked(found)
    assert any("run.json is damaged" in reported for reported in found.material.problems)


def test_what_is_no_run_or_empty_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UnreadableRun, match="is not a run folder"):
        report([tmp_path])
    with pytest.raises(UserError, match="no episodes to report on"):
        report([run_folder(tmp_path / "empty", [])])


def test_errors_are_apart_and_too_many_leave_no_rate(tmp_path: Path) -> None:
    lost = {"outcome": "error", "success": False, "error": "Traceback\nConnectionError: gone", "failure_kind": None}
    rows = [row | lost if row["seed"] == 0 else row for row in capability()]
    found = report([run_folder(tmp_path, rows)])
    checked(found)
    page = found.html()
    assert "Unknown: too many episodes ended in errors" in page and "6 × ConnectionError: gone" in page
    assert json.loads(found.json())["sections"]["glance"][0]["success"]["value"] is None


def test_adaptive_runs_have_no_intervals_of_a_fixed_n(tmp_path: Path) -> None:
    about = {**ABOUT, "request": {**ABOUT["request"], "until_width": 0.2}}
    found = report([run_folder(tmp_path, capability(), about)])
    checked(found)
    assert "always-valid" in found.html() and "The requested interval width is not reached yet" in found.html()
    assert all(one["share"]["low"] is None for one in json.loads(found.json())["sections"]["failures"][0]["kinds"])


def test_a_search_for_a_cliff_is_read_from_records(tmp_path: Path) -> None:
    asked = [0.0] * 12 + [*severities(75.0)[8:16]] * 3
    rows = [
        episode("primitive/pick_cube", seed, success=severity < 25, suite="cliff", tier=None,
                perturbations=[{"name": "noise", "severity": severity}] if severity else [])
        for seed, severity in enumerate(asked)
    ]  # fmt: skip
    about = {**ABOUT, "request": {**ABOUT["request"], "selectors": ["cliff/noise/primitive/pick_cube"], "seeds": 60}}
    found = report([run_folder(tmp_path, rows, about)])
    checked(found)
    (search,) = searches(found.material.subjects[0])
    assert search.found.severity is not None and 20 < search.found.severity < 30
    assert re.search(r"On primitive/pick_cube, noise at [\d.]+ \[[\d., ]+\] of 255 halves its success", found.html())
    assert command(found.material.runs[0]) == (
        "robodx cliff primitive/pick_cube --policy vision --stressor noise --episodes 60"
    )


TREATED, PLACEBO = "negation-plain", "negation-placebo"


def changed(trial: str, value: str, *, success: bool) -> dict[str, Any]:
    """An episode of a pair; only one of them has a negation."""
    has_it = value == "placebo"
    return episode(
        "language/pair", 9, success=success, trial_id=trial, trajectory_hash=trial,
        interventions=[{"name": "negation", "word": value}],
        instructions=[{"step": 0, "text": "Pick up the cube that is not red." if has_it else "Pick up the blue cube."}],
        requirements=["language/negation"] if has_it else ["language"],
    )  # fmt: skip


@pytest.fixture
def paired(run: Path, tmp_path: Path) -> Path:
    """The run with one pair that was filmed."""
    rows = load(run).drop("design").to_dicts()
    pair = [changed(TREATED, "no", success=True), changed(PLACEBO, "placebo", success=False)]
    folder = run_folder(tmp_path / "paired", [*rows, *pair])
    (folder / "videos").mkdir()
    for row in pair:
        (folder / "videos" / f"language.pair-seed9-{row['outcome']}-{row['trial_id'][:6]}.mp4").write_bytes(b"film")
    return folder


def test_causes_are_pairs_and_associations_have_rivals_and_symptoms_are_apart(
    paired: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cause = finding(pair=(PLACEBO, TREATED), because="plain_words recovers 9 of 10: it is a matter of <language>")
    going = finding(
        certainty="associated", subject="order", statement="It fails more often when steps have an order: …",
        when="steps have an order", rivals=("there are 2 acts",), undo=None, p=0.01, advice="",
        next_test="robodx diagnose vision",
    )  # fmt: skip
    chance = finding(certainty="suspected", subject="size", when="the target is small", undo=None, p=0.4, advice="")
    symptom = Symptom("unstable control", "It shakes in 9 of 10 episodes.", Estimate(0.9, 0.6, 1.0, 10), (), "Hold it.")
    excluded = Excluded("the target is blue", "target_colour", ("blue",), 14, 14)
    told = diagnosis(cause, going, chance, symptoms=(symptom,), excluded=(excluded,))
    monkeypatch.setattr(of_material, "diagnose", lambda *_, **__: [told])
    found = report([paired])
    checked(found)
    page = found.html()
    whole = page.partition('<section id="findings"')[2].partition("</section>")[0]
    parts = ["Causes", CAUTION, cause.statement.partition(". ")[0], "Not decided", going.statement, chance.when]
    places = [whole.index(one) for one in [*parts, "Symptoms", "It shakes", "Excluded as a cause of 20 points or more"]]
    assert places == sorted(places)
    films = re.findall(r'<article id="(episode-\d+)" class="episode">\s*<div class="screen"[^>]*><video', whole)
    assert films == ["episode-1", "episode-2"], "the one that fails first"
    assert "It fails where the instruction has a negation, and succeeds where that is not so." in whole
    assert "Also different: the instruction." in whole and "left is on the right" in whole
    assert "+88 [+40,\u00a0+100]" in whole and "8 of 8" in whole and "1 of 8" in whole
    assert "It may as well be that there are 2 acts, or something about these trials that is not recorded." in whole
    assert 'To decide it: <code class="command">robodx diagnose vision</code>' in whole
    assert whole.count("Advice, untested: ") == 2 and '<p class="advice">Advice, untested: Hold it.</p>' in whole
    assert page.count("Why: <bdi>plain_words recovers 9 of 10: it is a matter of &lt;language&gt;</bdi>.") == 1
    gallery = page.partition('<section id="gallery"')[2]
    assert "language/<wbr>pair" not in gallery and 'id="episode-3"' in gallery
    (reported,) = json.loads(found.json())["sections"]["findings"]
    assert [one["certainty"] for one in reported["findings"]] == ["cause", "associated", "suspected"]
    text = found.markdown()
    assert f"1. **{cause.statement}** (caused by this)" in text and "Undo: 8 pairs, success +88 points" in text
    assert "(90% [60, 100])\n  Advice, untested: Hold it." in text
    assert text.count(r"Why: plain\_words recovers 9 of 10: it is a matter of &lt;language&gt;.") == 1


def test_a_changed_situation_is_no_sample_of_its_task(paired: Path, run: Path) -> None:
    """Not of one that was set to another level, nor of one that was run to decide on stress."""
    decides = Planned(Trial("control/easy", 1, "vision", 99), "intervened", suite="diagnosis")
    row = episode("control/easy", 99, success=False, trial_id=decides.trial.id)
    run_folder(paired, [*load(paired).drop("design").to_dicts(), row])
    purpose = design_table([decides])
    trials = (decides.trial.id, TREATED, PLACEBO)
    write_design(
        paired, pl.concat([derived(load(run), ABOUT), *(purpose.with_columns(trial_id=pl.lit(one)) for one in trials)])
    )
    assert report([paired]).material.problems == ()
    with_pair, without = (json.loads(report([each]).json())["sections"] for each in (paired, run))
    for name in ("tasks", "capability", "failures", "language", "confusion", "motion", "latency", "stress"):
        assert with_pair[name] == without[name], name
    assert with_pair["glance"][0]["success"] == without["glance"][0]["success"]


def test_findings_are_explained_by_the_runs_that_were_asked_why_and_can_be_read(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = run_folder(tmp_path / "damaged", capability())
    heard = []

    def because_of(runs: list[Path]) -> Because:
        if damaged in runs:
            raise UnreadableRun("damaged")
        return lambda trial_ids: f"{runs[0].name} says {trial_ids[0]}"

    def diagnose(
        episodes: object, about: object, because: Because, *, is_whole: bool, pairs: object
    ) -> list[Diagnosis]:
        heard.append(because(["this"]))
        return []

    monkeypatch.setattr(of_material, "because_of", because_of)
    monkeypatch.setattr(of_material, "diagnose", diagnose)
    assert of_material.gather([damaged, small]).subjects[0].diagnosis is None
    assert heard == ["small says this"]


def test_films_are_carried_up_to_a_size_and_linked_beyond(small: Path, tmp_path: Path) -> None:
    (small / "videos").mkdir()
    for seed in (0, 1, 3):
        (small / "videos" / f"control.easy-seed{seed}-failure-vision.mp4").write_bytes(b"film" * 250)
    page = tmp_path / "out" / "page.html"
    carried = report([small], page=page, embed_mb=0.0025)
    assert carried.html().count('src="data:video/mp4;base64,') == 2, "the third would be too much"
    (linked,) = [film for film in carried.material.players.values() if not film.is_embedded]
    assert (page.parent / unquote(linked.source)).resolve().is_file()
    assert "<video" not in report([small], page=page, videos="none").html()


def test_a_film_outside_of_the_run_is_neither_carried_nor_linked(small: Path, tmp_path: Path) -> None:
    (small / "videos").mkdir()
    secret, own = tmp_path / "secret.mp4", small / "own.mp4"
    secret.write_bytes(b"secret")
    own.write_bytes(b"own")
    (small / "videos" / "control.easy-seed0-failure-vision.mp4").symlink_to(secret)
    (small / "videos" / "control.easy-seed1-failure-vision.mp4").symlink_to(own)
    assert list(report([small]).material.films) == ["vision-control/easy-1-0-"]


def test_a_film_whose_path_is_no_text_is_linked_by_its_bytes(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"run-\xff")
    folder.mkdir()
    (folder / "film.mp4").write_bytes(b"film")
    (found,) = films([("trial", folder / "film.mp4")], "link", page=tmp_path / FILE_NAME, most_bytes=0).values()
    assert found.source == "run-%FF/film.mp4"


def test_commands_can_be_copied_whatever_the_policy_is_called(tmp_path: Path) -> None:
    policy = "it's; rm -rf $HOME"
    rows = [episode("control/easy", seed, policy=policy, tier=None, requirements=[]) for seed in range(3)]
    found = report([run_folder(tmp_path / "run", rows)])
    shown = [block for section in found.sections for block in section.content.blocks if isinstance(block, Missing)]
    commands = [shlex.split(one.command) for one in shown if "--policy" in one.command]
    assert {words[2] for words in commands} == {"capability", "stress", "language"}
    assert all(words[words.index("--policy") + 1] == policy for words in commands)


def test_plugins_are_given_by_their_files(tmp_path: Path) -> None:
    request = {**ABOUT["request"], "plugins": [["my tasks.py", "0123"]]}
    made = run_folder(tmp_path / "run", capability(), {**ABOUT, "request": request})
    assert command(report([made]).material.runs[0]).endswith("--plugin 'my tasks.py'")


def test_a_family_stands_out_from_the_mean_and_not_from_another_family(tmp_path: Path) -> None:
    rates = {
        "control": (3, 3),
        "language": (18, 20),
        "perception": (18, 20),
        "robustness": (4, 20),
        "spatial": (18, 20),
        # The lowest, of which nothing is known.
        "carrier": (0, 2),
    }
    rows = [episode(f"{name}/easy", s, success=s < k) for name, (k, n) in rates.items() for s in range(n)]
    even = [row for row in rows if row["family"] not in ("robustness", "carrier")]

    def reported(path: Path) -> str:
        (subject,) = of_material.gather([path]).subjects
        return next(answers(subject)).lines[1].text

    assert reported(run_folder(tmp_path / "weak", rows)) == (
        "Its weakest family is robustness, with 20% [8, 42] success (carrier is lower, with 0% [0, 66], but 2 "
        "situations are too few to be sure)."
    )
    known = [row for row in rows if row["family"] != "carrier"]
    assert (
        reported(run_folder(tmp_path / "known", known)) == "Its weakest family is robustness, with 20% [8, 42] success."
    )
    assert reported(run_folder(tmp_path / "even", even)).startswith(
        "No family stands out: the lowest is spatial, with 90% [70, 97] success, the highest"
    )


def test_real_time_beside_a_world_that_waits_is_no_part_of_what_it_can_do(tmp_path: Path) -> None:
    rows = [episode("control/easy", seed) for seed in range(4)]
    rows += [{**row, "trial_id": f"hasty-{row['trial_id']}", "clock": "realtime:0.1", "success": False} for row in rows]
    (subject,) = report([run_folder(tmp_path / "run", rows)]).material.subjects
    assert (subject.success.value, subject.success.n) == (1.0, 4)


def test_a_page_is_written_whole_and_is_always_the_same(small: Path, tmp_path: Path) -> None:
    out = write_report([small], tmp_path / "new" / FILE_NAME)
    assert out.read_text() == report([small], page=out).html()
    assert [path.name for path in out.parent.iterdir()] == [FILE_NAME]
    with pytest.raises(UserError, match="is a folder"):
        write(tmp_path, "text")


def test_a_page_goes_through_links_and_into_pipes_and_replaces_neither(tmp_path: Path) -> None:
    link, target, pipe = tmp_path / "link.html", tmp_path / "target.html", tmp_path / "pipe"
    link.symlink_to(target)
    write(link, "text")
    assert link.is_symlink() and target.read_text() == "text"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write(pipe, "text")
    reader.join(10)
    assert read == ["text"] and pipe.is_fifo()


def test_a_page_may_carry_as_many_films_as_there_are(small: Path) -> None:
    assert report([small], embed_mb=float("inf")).html()


def test_a_radar_draws_no_line_over_what_was_not_measured() -> None:
    whole, broken = (
        radar("policy", ["a", "b", "c"], [Series("easy", rates)]) for rates in ([1.0, 0.5, 0.0], [1.0, None, 0.0])
    )
    assert whole.count("profile") == 1 and "polygon" in whole
    assert broken.count('class="profile') == 1 and broken.count("<circle") == 3


def test_stress_and_isolation_are_no_axes_of_the_capability_radar(tmp_path: Path) -> None:
    beside = [episode(f"{family}/a", seed) for family in ("adaptability", "pursuit", "isolation") for seed in range(2)]
    page = report([run_folder(tmp_path / "a", [*capability(), *beside])]).html()
    drawn = page[page.index("vision by tier") :]
    drawn = drawn[: drawn.index("</svg>")]
    assert "perception" in drawn and not any(row["family"] in drawn for row in beside)


def test_names_are_written_so_that_markdown_shows_them() -> None:
    assert escaped("100% [−12, +3]") == "100% [−12, +3]"
    assert escaped("[a](b)") == "\\[a](b)" and escaped("# a") == "\\# a" and escaped("1. a") == "1\\. a"
    assert code("a`b") == "``a`b``"
    assert short("x" * 100, 11) == "xxxxx…xxxxx"
    assert plain("a\u202eb\n c\x07") == "a\\u202eb c\\u0007"
    assert plain("openpi://me:secret@host:8000") == "openpi://…@host:8000"
    assert plain("openpi://me:secr@et@host:8000") == "openpi://…@host:8000"


def test_scales_have_round_ticks() -> None:
    assert Scale(0.0, 1.0).ticks() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert Scale(1.0, 100.0, True).ticks() == [1.0, 10.0, 100.0]


def test_the_viewer_of_several_runs_is_that_of_the_folder_they_are_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert view_command(Path("runs/demo/a")) == "robodx view runs/demo/a"
    assert view_command(Path("runs/demo/a"), Path("runs/demo/b b")) == "robodx view runs/demo"
    assert view_command(Path("/x y/a"), Path("/x y/b")) == "robodx view '/x y'"
