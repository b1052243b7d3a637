"""The cliff search as a run: it goes on where it was stopped, whoever works on it, and says when there is nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.statistics.psychometric import MINIMUM, Cliff
from robodx.cli import interrupts
from robodx.cli.commands import app
from robodx.errors import UserError
from robodx.records.schema import SCHEMA
from robodx.records.table import load
from robodx.records.trial import Trial
from robodx.registry import UnknownName
from robodx.running.request import Request
from robodx.running.run import Execution, run
from robodx.suites.base import SuiteRequest, find_suite
from robodx.suites.cliff import WAVE, Search
from robodx.terminal import cliff as cliff_text
from robodx.terminal.summary import print_summary

TASK = "primitive/press_switch"
NOTHING = pl.DataFrame(schema=SCHEMA)


def search(selector: str, policy: str = "expert", budget: int = 60) -> Search:
    return Search.of(SuiteRequest(policy, budget, within=find_suite(selector)[1]))


def judged(trials: list[Trial], stressor: str, breaks_at: float) -> pl.DataFrame:
    """Episodes of a policy that breaks at exactly this severity."""
    return pl.DataFrame(
        [
            {"trial_id": trial.id, "success": won, "outcome": "success" if won else "failure"}
            for trial in trials
            for won in (float(str(dict(trial.perturbations).get(stressor, 0.0))) < breaks_at,)
        ]
    )


def played(asked: Search, breaks_at: float) -> pl.DataFrame:
    done = NOTHING.select("trial_id", "success", "outcome")
    while trials := asked.next(done):
        done = pl.concat([done, judged(trials, asked.stressor.name, breaks_at)])
    return done


def test_a_sharp_cliff_is_found_and_enclosed() -> None:
    asked = search(f"cliff/packet_loss=1/{TASK}")
    done = played(asked, breaks_at=0.31)
    found = asked.read(done)
    assert found.is_found and found.low is not None and found.high is not None
    assert found.low < 0.31 < found.high
    assert found.n == len(done) < 60, "it stops when the interval is narrow"


def test_each_episode_is_a_situation_of_its_own_and_the_clean_variant_is_not_stressed() -> None:
    asked = search(f"cliff/packet_loss/{TASK}")
    first = asked.next(NOTHING)
    assert [trial.seed for trial in first] == list(range(WAVE))
    assert first[0].perturbations == () and first[-1].perturbations == (("packet_loss", 0.3),), "its last level"
    second = asked.next(judged(first, "packet_loss", 0.2))
    assert [trial.seed for trial in second] == list(range(WAVE, 2 * WAVE))


def test_part_of_a_wave_asks_for_the_same_wave_again() -> None:
    asked = search(f"cliff/packet_loss/{TASK}")
    first = asked.next(NOTHING)
    part = judged(first[:3], "packet_loss", 0.2)
    assert asked.next(part) == first
    assert asked.read(part).n == 3


def test_errors_say_nothing_and_use_up_the_budget() -> None:
    asked = search(f"cliff/packet_loss/{TASK}", budget=WAVE)
    first = asked.next(NOTHING)
    done = judged(first, "packet_loss", 1.0).with_columns(outcome=pl.lit("error"), success=pl.lit(False))
    assert asked.next(done) == [] and asked.read(done).n == 0


def test_the_budget_is_kept_when_it_is_no_multiple_of_a_wave() -> None:
    assert len(played(search(f"cliff/packet_loss=1/{TASK}", budget=13), breaks_at=0.5)) == 13


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (f"cliff/paket_loss/{TASK}", 'No perturbation "paket_loss". Did you mean "packet_loss"'),
        ("cliff/packet_loss/primitive/pres_switch", 'Did you mean "primitive/press_switch"'),
        ("cliff/packet_loss", "write cliff/STRESSOR/FAMILY/TASK"),
        (f"cliff/light_flicker/{TASK}", "ordered stressors are: action_repeat, "),
        (f"cliff/packet_loss=2/{TASK}", "must be 0 to 1, not 2"),
        (f"cliff/packet_loss=0/{TASK}", "must be above 0"),
        (f"cliff/packet_loss=v9/{TASK}", 'No level of packet_loss "v9"'),
    ],
)
def test_what_cannot_be_searched_is_refused(selector: str, message: str) -> None:
    with pytest.raises((UserError, UnknownName)) as reported:
        search(selector)
    assert message in str(reported.value)


def test_repeats_are_refused() -> None:
    with pytest.raises(UserError, match="has no --repeats"):
        Search.of(SuiteRequest("expert", 60, repeats=2, within=("packet_loss", *TASK.split("/"))))


def test_a_stopped_search_goes_on_to_the_same_answer_whoever_works_on_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = Request((f"cliff/packet_loss=1/{TASK}",), "expert", 12)
    whole = run(request, tmp_path / "whole")

    def stop(episode: object, *, done: int, total: int, solved: int) -> None:
        if done == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(request, tmp_path / "parts", observers=[stop])
    assert 0 < len(load(tmp_path / "parts")) < 12
    parts = run(request, tmp_path / "parts", Execution(workers=2))
    same = ["seed", "perturbations", "success", "trajectory_hash"]
    assert parts.select(same).equals(whole.select(same))
    assert print_summary(tmp_path / "parts", as_json=False)
    shown = capsys.readouterr().out
    assert "expert on primitive/press_switch under packet_loss" in shown and "Success without stress: " in shown
    assert shown.count("severity (of the commands)  success") == 1 and "perturbation  tasks" not in shown, (
        "what it found, once"
    )
    assert print_summary(tmp_path / "parts", as_json=True)
    assert json.loads(capsys.readouterr().out)["cliffs"][0]["n"] == 12


def test_a_stressor_without_effect_has_no_cliff(tmp_path: Path) -> None:
    selector = f"cliff/noise/{TASK}"
    found = search(selector).read(run(Request((selector,), "expert", 60), tmp_path / "run"))
    assert found.verdict == "no cliff" and found.n == MINIMUM
    assert (found.severity, found.low, found.high) == (None, None, None)


def test_a_policy_that_fails_anyway_is_not_testable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "stop_on_signals", lambda: None)
    options = ["--policy", "still", "--stressor", "packet_loss", "--episodes", "8", "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(app, ["cliff", TASK, *options, "--json"])
    assert result.exit_code == 0, result.output
    reported = json.loads(result.stdout)
    assert reported["verdict"] == "not testable"
    last = result.stderr.splitlines()[-1]
    assert last.startswith("8/8 episodes, 0 solved, ") and "unknown" not in last, "what is known at the end"
    options[options.index("8")] = "9"
    other = CliRunner().invoke(app, ["cliff", TASK, *options])
    assert "holds a search with --episodes 8, not 9" in str(other.exception)
    assert sum(point["n"] for point in reported["curve"]) == reported["n"] == len(load(tmp_path / "run")) == 8
    assert len(played(search(f"cliff/packet_loss/{TASK}"), breaks_at=-1.0)) == 2 * WAVE, "and that is soon clear"


def test_what_was_found_is_said_in_a_sentence() -> None:
    asked = search(f"cliff/packet_loss=1/{TASK}")
    text = "\n".join(cliff_text.lines(asked, played(asked, breaks_at=0.31)))
    assert "Cliff at packet_loss 0.3" in text and "Success without stress: " in text
    assert "severity (of the commands)" in text and "] of the commands: success is half" in " ".join(text.split())
    clean, fitted = re.search(r"^  0 +\d+/(\d+) +(\d+%)", text, re.MULTILINE).groups()  # type: ignore[union-attr]
    of_all = rf"without stress: {fitted} \[\d+, \d+\] \(fitted to all \d+ episodes, {clean} of them without stress"
    assert re.search(of_all, " ".join(text.split()))
    text = "\n".join(cliff_text.lines(asked, played(asked, breaks_at=2.0)))
    assert "No cliff up to packet_loss 1" in text
    text = "\n".join(cliff_text.lines(asked, played(asked, breaks_at=-1.0)))
    assert "Not testable: " in text
    few = search(f"cliff/packet_loss=1/{TASK}", budget=8)
    text = "\n".join(cliff_text.lines(few, played(few, breaks_at=0.31)))
    assert "in another folder" in text


def test_nothing_is_said_to_be_certain() -> None:
    assert [cliff_text.probability(p) for p in (1.0, 0.994, 0.97, 0.5, 0.004)] == [">99%", ">99%", "97%", "50%", "<1%"]


def test_where_it_is_undecided_the_estimate_is_told() -> None:
    found = Cliff(0.653, 0.395, None, False, 0.06, 0.0, Estimate(0.95, 0.69, 1.0, 16), 1.25, 16)
    assert found.verdict == "undecided"
    told = cliff_text.sentence(found, "actuator_latency", "s")
    assert told.startswith("Undecided: the estimate so far is 0.653 [0.395, 1.25+] s; the probability of no cliff")
    beyond = cliff_text.sentence(replace(found, severity=None, p_no_cliff=0.6), "actuator_latency", "s")
    assert beyond.startswith("Undecided: if there is a cliff, it is at 0.395 s or above; ")
