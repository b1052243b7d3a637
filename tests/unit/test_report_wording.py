"""What the report says in words: of clean episodes and stressed ones apart, of what is drawn, of what is unsure."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from robodx.analysis.findings.base import PairEvidence
from robodx.analysis.statistics.estimates import NOTHING, Estimate
from robodx.analysis.stress import Degradation
from robodx.report import material as of_material
from robodx.report.blocks import Text
from robodx.report.breaking import _fall, breaks
from robodx.report.line import Line
from robodx.report.page import Report, report
from robodx.report.plots.curves import Curve, Level, curves
from robodx.report.sections.causes import first_sentence
from robodx.report.sections.findings import _of_association
from robodx.report.sentences import answers
from robodx.report.words import seconds
from tests.reporting import ABOUT, capability, diagnosis, episode, finding, run_folder, stressed

POLICIES = ("vision", "fault:colour_blind", "fault:releases_early")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The first breaks under stress; the others do not, and are weaker without."""
    folder = tmp_path_factory.mktemp("runs")
    paths = []
    for policy in POLICIES:
        is_first = policy == POLICIES[0]
        rows = capability(policy, seeds=2, fails="" if is_first else "language")
        rows += [
            row if is_first else {**row, "success": True, "outcome": "success"} for row in stressed(policy, seeds=4)
        ]
        paths.append(run_folder(folder / policy.replace(":", "-"), rows))
    return report(paths)


def section(found: Report, name: str) -> str:
    return re.sub(r"<[^>]+>", "", found.html().partition(f'<section id="{name}"')[2].partition("</section>")[0])


def test_stress_is_no_part_of_the_headline_and_has_a_table_of_its_own(compared: Report) -> None:
    sections = json.loads(compared.json())["sections"]
    by_family = {
        (one["policy"], one["family"]): one["success"]["value"] for one in sections["capability"] if one["tier"] is None
    }
    for found in sections["comparison"]:
        for row in found["rows"]:
            assert row["variant"] in (None, "clean")
            if row["kind"] == "family":
                assert row["rate_a"]["value"] == by_family[found["policy_a"], row["name"]]
                assert row["rate_b"]["value"] == by_family[found["policy_b"], row["name"]]
        assert {row["variant"] for row in found["under_stress"]["rows"] if row["kind"] == "task"} == {
            "noise=v1", "noise=v2", "noise=v3",
        }  # fmt: skip
    rates = {one["policy"]: one["success"]["value"] for one in sections["glance"]["policies"]}
    assert rates == {"vision": 1.0, "fault:colour_blind": 6 / 7, "fault:releases_early": 6 / 7}
    assert "86% against 100%" in sections["glance"]["verdicts"][0]
    assert "Under stress, by task and level" in compared.html()


def test_policies_that_were_only_stressed_are_compared_under_that_stress(tmp_path: Path) -> None:
    noise = [{"name": "noise", "severity": 25.0}]
    runs = [
        run_folder(tmp_path / who, [episode("control/a", seed, policy=who, perturbations=noise) for seed in range(5)])
        for who in ("a", "b")
    ]
    (verdict,) = json.loads(report(runs).json())["sections"]["glance"]["verdicts"]
    assert "on 5 pairs of the same situations under noise=v2" in verdict


def test_policies_keep_their_order_and_are_treated_alike(compared: Report) -> None:
    sections = json.loads(compared.json())["sections"]
    assert [one["policy"] for one in sections["glance"]["policies"]] == list(POLICIES)
    places = [re.search(rf"<h3><bdi>{name}</bdi></h3>", compared.html()) for name in POLICIES]
    starts = [place.start() for place in places if place is not None]
    assert len(starts) == len(POLICIES) and starts == sorted(starts)
    assert all(f"{name} by tier" in section(compared, "capability") for name in POLICIES)
    commands = re.findall(r"robodx why \S+", section(compared, "causes"))
    assert [command.rpartition("/")[2] for command in commands] == [one.replace(":", "-") for one in POLICIES]


def test_a_caption_explains_what_is_drawn_and_nothing_else(compared: Report, tmp_path: Path) -> None:
    together, alone = section(compared, "stress"), section(report([run_folder(tmp_path, stressed())]), "stress")
    assert "hollow diamond" in together and "hollow diamond" in alone
    assert "dotted line" not in together and "Shaded" not in together
    assert "The dotted line is success without stress." in alone and "Shaded" in alone
    assert "marked cliff" not in together + alone


def test_stress_on_pictures_is_not_drawn_of_a_policy_that_reads_none(tmp_path: Path) -> None:
    rows = [{**row, "perturbed_queries": 0} for row in stressed()]
    blind = run_folder(tmp_path / "blind", rows, {**ABOUT, "policy_spec": {"hz": 20.0, "cameras": []}})
    drawn = report([blind]).html().partition('<section id="stress"')[2].partition("</section>")[0]
    assert "<svg" not in drawn and drawn.count("noise") == 1
    assert "vision reads no pictures, so noise does not apply to it." in drawn
    (subject,) = of_material.gather([blind]).subjects
    assert [line.text for line in breaks(subject)] == ["vision reads no pictures, so noise does not apply to it."]


def test_the_legend_has_whole_names() -> None:
    level = Level("clean", 0.0, Estimate(1.0, 0.8, 1.0, 10))
    drawn = curves("noise", "", [Curve(name, [level], at) for at, name in enumerate(POLICIES)])
    assert all(re.search(rf'class="tick">{name}<', drawn) for name in POLICIES)


def test_versions_differ_only_where_runs_have_both(tmp_path: Path) -> None:
    def reported(*versions: dict[str, str]) -> str:
        runs = [
            run_folder(
                tmp_path / f"{place}-{len(list(tmp_path.iterdir()))}",
                [episode("control/easy", 0, policy=f"policy {place}")],
                {**ABOUT, "versions": one},
            )
            for place, one in enumerate(versions)
        ]
        return section(report(runs), "methods")

    drawn, blind = {"mujoco": "4.0", "gl_renderer": "llvmpipe"}, {"mujoco": "4.0", "gl_renderer": ""}
    assert "different versions" not in reported(drawn, blind)
    assert "Made with mujoco 4.0, gl_renderer llvmpipe." in reported(blind, drawn)
    assert "different versions (mujoco): their trajectories may differ" in reported(drawn, {**blind, "mujoco": "4.1"})


def test_findings_are_told_in_words_and_without_empty_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asks = "robodx diagnose vision"
    going = finding(certainty="associated", when="steps have an order", outside=NOTHING, undo=None, next_test=asks)
    told = diagnosis(finding(), going)
    monkeypatch.setattr(of_material, "diagnose", lambda *_, **__: [told])
    found = report([run_folder(tmp_path, capability())])
    reported = section(found, "findings")
    assert "when steps have an order" in reported and "requires language" not in found.html()
    assert "otherwise" not in reported and "n = 0" not in found.markdown()
    assert "A family that fails 59 points more often" in reported
    glance = section(found, "glance")
    assert finding().statement in glance
    advised = "1. That it fails when the instruction has a negation (caused by this). "
    advised += "Taking it away recovers about 30% of the failures seen, beyond the placebo."
    assert f"{advised} See the finding.Advice, untested: Train it on negations.Next test:" in glance
    assert "2. It is not decided whether it fails because steps have an order. See the finding." in glance
    assert f"To decide it: {asks}" in glance


def test_what_may_be_chance_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = diagnosis(finding(certainty="suspected", p=0.8, undo=None, advice=""))
    monkeypatch.setattr(of_material, "diagnose", lambda *_, **__: [told])
    glance = section(report([run_folder(tmp_path, capability())]), "glance")
    assert "nothing goes with its failures more than chance gives among so many attributes. It fails because" in glance
    assert "What to fix next?\nNothing is shown yet" in glance and "robodx diagnose vision --seeds 10" in glance


def test_what_its_own_pairs_speak_against_is_nothing_to_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken away, fewer succeed than with the placebo."""
    against = PairEvidence(6, 4, 5, Estimate(-0.17, -0.7, 0.4, 6), "undecided", 0.5, ("sentence length",))
    long = {"certainty": "undecided", "undo": against, "when": "the instruction is long"}
    with pytest.raises(ValueError, match="its pairs speak against its advice"):
        finding(**long)
    with pytest.raises(ValueError, match="its numbers do not say that it is suspected"):
        finding(certainty="suspected", effect=Estimate(0.03, -0.1, 0.1, 193), advice="")
    told = diagnosis(finding(), finding(**long, advice=""))
    monkeypatch.setattr(of_material, "diagnose", lambda *_, **__: [told])
    glance = section(report([run_folder(tmp_path, capability())]), "glance")
    assert "1. That it fails when the instruction has a negation" in glance and "2. " not in glance.partition("fix")[2]


def test_every_command_of_the_page_asks_for_the_policy_as_it_was_made(tmp_path: Path) -> None:
    given = {"policy": "openpi://box:8000", "preset": "droid", "plugins": []}
    request = {**ABOUT["request"], "policy": "my model"}
    rows = [episode("control/easy", seed, success=False, policy="my model") for seed in range(4)]
    found = report([run_folder(tmp_path, rows, {**ABOUT, "request": request, "is_named": True, "given": given})])
    commands = re.findall(r"robodx (?:run|diagnose) [^`]*", found.markdown())
    asked = "openpi://box:8000 --preset droid --name 'my model'"
    assert commands and not [one for one in commands if asked not in one and one != "robodx run … --video 1"]


def test_what_drops_is_told_at_a_level_at_which_it_does() -> None:
    """The trend goes down, and no level by itself is seen to harm; the last one even gains."""
    usual, rates = Estimate(0.8, 0.6, 0.9, 10), ((0.3, -0.5), (0.9, 0.1))
    rows = [
        Degradation(
            "p", "noise", "noise", "sensor", f"v{place}", None, ("a/b",), usual, Estimate(rate, 0.1, 0.95, 10),
            Estimate(drop, -0.9, 0.3, 10), 0.2, usual, usual, NOTHING, None, None, None, 0,
        )
        for place, (rate, drop) in enumerate(rates, start=1)
    ]  # fmt: skip
    assert _fall("noise", rows).startswith("Under noise at v1, success drops from 80% to 30%")


def test_a_drop_that_the_trend_does_not_confirm_is_not_called_no_drop(
    tmp_path: Path,
) -> None:
    (subject,) = of_material.gather([run_folder(tmp_path / "run", stressed(seeds=60))]).subjects
    (table,) = subject.stress
    trends = tuple(replace(one, p_holm=0.2) for one in table.trends)
    vars(subject)["stress"] = (replace(table, trends=trends),)
    assert [line.text for line in breaks(subject)] == [
        "Not decided for noise: the intervals at v2 and v3 lie below 0, but the trend over its levels does not confirm "
        "it (p = 0.2)."
    ]


RECOVERS = "plain_words (the instruction in plain words) recovers"
FEW = f"{RECOVERS} 5 of 5 failed trials it applies to and adds 5 of 5, but 5 trials are too few to be sure"


@pytest.mark.parametrize(
    ("failed", "again", "expected"),
    [
        (5, 5, f"{FEW}. Run more seeds, then:"),
        (30, 5, f"{FEW}. Run more of them again:"),
        (
            12,
            12,
            f"{RECOVERS} 12 of 12 failed trials it applies to and adds 12 of 12: the component that fails there is",
        ),
        (6, 0, "No single substitution is shown to recover many of the failures:"),
    ],
)
def test_what_recovers_much_of_a_few_trials_is_told(tmp_path: Path, failed: int, again: int, expected: str) -> None:
    """Of so many failures, so many were asked about; with 0, six were and nothing recovered."""
    run = run_folder(tmp_path, [episode("language/easy", seed, success=False) for seed in range(failed)])
    variants: list[list[dict[str, Any]]] = [[], [{"name": "plain_words", "severity": 1.0}]]
    rows = [
        episode("language/easy", seed, success=bool(variant) and again > 0, perturbations=variant, queries=1)
        for seed in range(again or 6)
        for variant in variants
    ]
    run_folder(run / "why", rows, {**ABOUT, "perturbations": {"plain_words": {"kind": "substitution"}}})
    (subject,) = of_material.gather([run]).subjects
    (reported,) = first_sentence(subject)
    assert reported.text.startswith(expected)
    command = "" if isinstance(reported, Text) else reported.command
    assert command == (f"robodx why {run}{' --episodes 20' if failed > again else ''}" if FEW in expected else "")
    why = next(one for one in answers(subject) if one.question == "Why?")
    assert Line(reported.text, command) in why.lines


def test_names_of_episodes_break_at_their_joints(tmp_path: Path) -> None:
    found = report([run_folder(tmp_path, [episode("control/stack_cube", 0, success=False)])])
    assert '<h4 title="control/stack_cube"><bdi>control/<wbr>stack_<wbr>cube</bdi></h4>' in found.html()


@pytest.mark.parametrize(
    ("gain", "is_undone", "would"),
    [(0.4, True, "decide it"), (-0.17, True, "rule it out"), (-0.4, False, "decide it"), (0.2, False, "rule it out")],
)
def test_pairs_to_go_are_told_to_be_for_the_claim_or_against_it(gain: float, is_undone: bool, would: str) -> None:
    """Taking a cause away gains success, bringing it about costs success."""
    pairs = PairEvidence(6, 4, 5, Estimate(gain, -0.7, 0.7, 6), "undecided", 0.5, ("sentence length",), pairs_more=4)
    one = finding(
        certainty="undecided", undo=pairs if is_undone else None, put_in=None if is_undone else pairs, advice=""
    )
    assert f"About 4 more pairs like these would {would}." in _of_association(one)


def test_the_seconds_of_a_sum_of_physics_steps_are_those_of_the_films() -> None:
    summed = 0.0
    for steps in range(1, 400):
        for _ in range(25):
            summed += 0.002
        assert seconds(summed) == f"{steps / 20:.1f} s"
