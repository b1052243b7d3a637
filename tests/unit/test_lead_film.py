"""The film that a page begins with shows the first finding, and says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from robodx.analysis.findings import evidence
from robodx.analysis.findings.base import Finding
from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.decisions import PairSeen, Tally
from robodx.analysis.findings.failure_modes import failure_modes
from robodx.records.schema import SCHEMA
from robodx.report import material
from robodx.report.page import report
from tests.reporting import diagnosis, episode, finding, run_folder

SWITCH = {"events": [{"step": 10, "time_s": 0.5, "kind": "event", "object": "the instruction becomes", "other": "",
                      "value": 0.0}]}  # fmt: skip


def failed(name: str, failure_type: str, **further: Any) -> dict[str, Any]:
    return episode(f"a/{name}", 0, success=False, trial_id=name, failure_type=failure_type, **further)


def framed(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA)


def flipped(name: str, *changed: str) -> PairSeen:
    return PairSeen(
        "room", "strange", name, f"{name} placebo", False, True, frozenset((one, "", "") for one in changed)
    )


def test_a_pair_is_shown_that_fails_as_the_finding_says_and_in_which_nothing_happens_by_itself() -> None:
    paired = framed(
        failed("switch", "collision", **SWITCH), failed("other way", "wrong object"), failed("typical", "collision")
    )
    mode = next(one for one in failure_modes(paired) if one.name == "collision")
    tally = Tally(Condition("room familiar", ("no",)), 1,
                  put_in=(flipped("switch", "a"), flipped("other way", "a"), flipped("typical", "a", "b")))  # fmt: skip
    assert evidence.shown_best(tally, paired, mode) == ("typical", "typical placebo")
    # Where all are alike in this, the one in which least differs; and where there is nothing better, what there is.
    alike = Tally(tally.condition, 1, put_in=(flipped("typical", "a", "b"), flipped("like it", "a")))
    both = pl.concat([paired, framed(failed("like it", "collision"))])
    assert evidence.shown_best(alike, both, mode) == ("like it", "like it placebo")
    switched = Tally(tally.condition, 1, put_in=(flipped("switch", "a"),))
    assert evidence.shown_best(switched, paired, mode) == ("switch", "switch placebo")
    assert evidence.shown_best(Tally(tally.condition, 1), paired, mode) is None


def test_examples_of_a_finding_begin_with_the_most_typical_one_and_have_one_of_each_task() -> None:
    seen = framed(
        failed("a switch", "collision", **SWITCH), failed("b other way", "wrong object"),
        failed("c typical", "collision"), {**failed("c typical", "wrong object"), "trial_id": "c again"},
    )  # fmt: skip
    mode = next(one for one in failure_modes(seen) if one.name == "collision")
    assert evidence.examples(seen, mode) == ["c typical", "b other way", "a switch"]


def lead(folder: Path, monkeypatch: pytest.MonkeyPatch, *findings: Finding, filmed: str = "") -> str:
    """The figure at the top of a page, with films of these episodes."""
    names = ("alone", "first", "second", "fails")
    rows = [episode(f"a/{name}", 0, success=False, trial_id=f"{name:_<6}") for name in names]
    rows.append(episode("a/solved", 0, trial_id="solved"))
    made = run_folder(folder, rows)
    (made / "videos").mkdir()
    for name in filmed.split():
        (made / "videos" / f"a.{name}-seed0-failure-{name:_<6}.mp4").write_bytes(b"film")
    monkeypatch.setattr(material, "diagnose", lambda *_, **__: [diagnosis(*findings)])
    return report([made]).html().partition('<figure class="picture">')[2].partition("</figure>")[0]


FIRST = finding(when="the room is strange", examples=("first_",))
SECOND = finding(when="the target is red", certainty="undecided", examples=("second",))


def test_the_lead_film_is_of_the_first_finding_and_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = lead(tmp_path, monkeypatch, FIRST, SECOND, filmed="alone first second")
    assert "Do first." in page and "data-film" in page
    assert (
        '<a href="#finding-1-1">Shows the first finding: it fails when the room is strange (caused by this)</a>' in page
    )


def test_the_failing_side_of_a_pair_leads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = finding(pair=("fails_", "solved"), examples=("first_",), when="the room is strange")
    assert "Do fails." in lead(tmp_path, monkeypatch, pair, filmed="first fails solved")


@pytest.mark.parametrize(("filmed", "asked", "says"), [
    ("alone second", "Do second.", "Shows a finding: it fails when the target is red (undecided)"),
    ("alone", "Do first.", "Shows the first finding: it fails when the room is strange (caused by this)"),
])  # fmt: skip
def test_a_film_of_no_finding_never_stands_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filmed: str, asked: str, says: str
) -> None:
    page = lead(tmp_path, monkeypatch, FIRST, SECOND, filmed=filmed)
    assert asked in page and says in page and ("data-film" in page) == ("second" in filmed)


def test_what_is_shown_is_not_called_the_first_finding_where_that_has_no_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suspect = finding(certainty="suspected", advice="", examples=("first_",))
    page = lead(tmp_path, monkeypatch, suspect, SECOND, filmed="second")
    assert "Do second." in page and "Shows a finding: it fails when the target is red" in page


def test_without_a_finding_it_is_a_trial_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = lead(tmp_path, monkeypatch, finding(certainty="suspected", advice="", examples=("first_",)), filmed="alone")
    assert "Do alone." in page and "A trial that failed" in page and "finding" not in page
