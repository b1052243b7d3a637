"""Metamorphic tests as they are told: in the summary, in the report with its figures, and as inconsistencies."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from robodx.analysis.findings.diagnose import diagnose, diagnose_runs
from robodx.analysis.findings.inconsistencies import inconsistencies
from robodx.analysis.findings.kinds.base import FINDING_KINDS
from robodx.analysis.metamorphic.measuring import measured, write_measured
from robodx.analysis.metamorphic.rates import metamorphic_table
from robodx.analysis.metamorphic.words import NAMES, claim, label
from robodx.analysis.summary import Summary
from robodx.cli.commands import app
from robodx.records.design import Planned
from robodx.records.pairs import FILE
from robodx.records.table import load
from robodx.registry import UnknownName
from robodx.report.page import report
from robodx.report.plots.sweeps import Line, sweep
from robodx.report.plots.venn import Pair, distance, lens, scale_of, venns
from robodx.terminal.metamorphic import conclusions, lines
from tests.metamorphic import PATTERNS, MadeRun, line, pair, pairs_table

SEEDS = 20


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Repeats are a centimetre apart. Distractors break most, brightness nothing, and a negation is ignored."""
    return made(tmp_path_factory.mktemp("metamorphic") / "run", "somebody", SEEDS)


def made(folder: Path, policy: str, seeds: int) -> Path:
    run = MadeRun(folder, policy)
    for seed in range(seeds):
        path = line((0.3, 0.0, 0.4), (0.5, 0.01 * seed, 0.1))
        off = np.array([0.0, 0.0, 0.01])
        source = run.source(seed, path)
        run.follow_up(source, "MR0", path + off)
        far = seed < 0.8 * seeds
        run.follow_up(
            source, "MR2", path + (25 * off if far else off), success=seed % 2 == 0, failure_type="grasp synthesis"
        )
        run.follow_up(source, "MR3", path + off / 2)
        run.follow_up(source, "MR4", path + off / 4, success=False)
    return run.write()


def summary_of(run: Path, *options: str) -> str:
    called = CliRunner().invoke(app, ["summary", str(run), *options], catch_exceptions=False)
    assert called.exit_code == 0, called.output
    return called.stdout


def shown(pairs: pl.DataFrame) -> list[str]:
    return [one.name for one in inconsistencies(pairs)]


def test_the_summary_tells_each_relation_beside_repeats_and_the_oracle(run: Path) -> None:
    told = summary_of(run)
    (distractor,) = (text for text in told.splitlines() if re.match(r"MR2 distractor\s+80%", text))
    assert "80% [58, 92]" in distractor and "< 0.001" in distractor
    (brightness,) = (text for text in told.splitlines() if re.match(r"MR3 brightness\s+0%", text))
    assert "1.000" in brightness
    assert re.search(r"MR2 distractor\s+2\s+8\s+8\s+2\s+50%", told), "oracle only, both, relation only, neither"
    assert "Calibrated tolerances: carrier/pick_up 2.0 cm." in told
    assert max(map(len, told.splitlines())) <= 120
    assert not (run / FILE).exists(), "reading writes nothing"


def test_the_summary_ends_in_a_sentence_with_the_result(run: Path, tmp_path: Path) -> None:
    ended = summary_of(run).split("\nsomebody breaks ", 1)[1].split()
    assert " ".join(ended) == (
        "1 of 2 relations that expect an equivalent path, by more than 5 points beyond its own noise: MR2 distractor "
        "in 80% [58, 92] of 20 situations. Not shown to break: MR3 brightness in 0% [0, 16] of 20 situations. "
        "somebody breaks 1 of 1 relation that expects another path, in more than 5% of situations: MR4 negation in "
        "100% [84, 100] of 20 situations."
    )
    assert [name.split()[-2] for name in shown(measured(run, load(run)))] == ["MR4", "MR2"], "as findings say"
    few = summary_of(made(tmp_path / "few", "somebody", 5))
    assert " ".join(few[few.index("No verdict on 2 relations") :].split()) == (
        "No verdict on 2 relations, because fewer than 19 situations of a task were repeated. At the strict level "
        "somebody violates MR2 distractor in 80% [38, 96] of 5 situations, "
        "MR3 brightness in 0% [0, 43] of 5 situations."
    )


def test_a_missing_verdict_has_its_own_reason() -> None:
    rows = [pair("MR0", seed, 0.01) for seed in range(20)]
    rows += [pair("MR2", seed, None if seed < 5 else 0.5) for seed in range(20)]
    rows += [pair("MR3", seed, 0.01) for seed in range(50, 60)]
    rows += [pair("MR1", seed, 0.01, task="carrier/put_in") for seed in range(10)]
    told = list(conclusions(metamorphic_table(pairs_table(*rows))))
    no_distance = "because in 5 of 20 pairs of MR2 distractor an episode ended in an error or has no trajectory."
    assert f"No verdict on 1 relation, {no_distance}" in told
    for reason, relation in (
        ("fewer than 19 situations of a task were repeated", "MR1 synonym"),
        ("none of the situations in which they can be judged was repeated (MR0)", "MR3 brightness"),
    ):
        (sentence,) = (one for one in told if reason in one)
        assert sentence.startswith("No verdict on 1 relation, ") and f"violates {relation} in 0% " in sentence


def test_a_relation_that_only_the_correction_leaves_open_says_so() -> None:
    rows = [pair("MR0", seed, 0.01) for seed in range(20)]
    # Variation is violated by what stays; of many relations none is shown by four of twenty.
    for name in ("MR4", "MR4+MR1", "MR4+MR2", "MR4+MR3", "MR4+MR8"):
        rows += [pair(name, seed, 0.0 if seed < 4 else 0.5, pattern="variation") for seed in range(20)]
    (first, kept) = conclusions(metamorphic_table(pairs_table(*rows)))
    assert first == "somebody breaks none of 5 relations that expect another path, in more than 5% of situations."
    assert kept.startswith(
        "Not shown to break: MR4 negation in 20% [8, 42] of 20 situations (p = 0.08 after correction"
    )


def test_repeats_of_what_had_succeeded_are_no_sample_of_their_task(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "run")
    path = line((0.3, 0.0, 0.4), (0.5, 0.0, 0.1))
    for seed in range(5):
        source = run.source(seed, path + 0.01 * seed)
        run.follow_up(source, "MR0", path + 0.01 * seed + 0.002, success=seed > 2)
    told = summary_of(run.write())
    assert "perturbed" not in told and "perturbation" not in told and "of the 5 that are a sample" in told
    assert "Success 100% [57, 100], of one task (n = 5). By episode: 5 of 5 solved." in told
    assert re.search(r"MR0 repeat\s+3\s+0\s+0\s+2", told), "what they did stands beside the relations"


def test_a_source_that_also_tries_another_again_is_a_source(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "run")
    path = line((0.3, 0.0, 0.4), (0.5, 0.0, 0.1))
    again = run.follow_up(run.source(0, path), "MR0", path + 0.01)
    run.planned.append(Planned(again, "source"))
    found = Summary(run.episodes).episodes
    assert found["is_base"].to_list() == [True, True] and found["variant"].to_list() == ["", ""]


def test_the_summary_as_json_has_all_of_it(run: Path) -> None:
    found = json.loads(summary_of(run, "--json"))["metamorphic"]
    assert found["distance"] == "frechet" and {one["relation"] for one in found["sweeps"]} == {
        "MR0", "MR2", "MR3", "MR4",
    }  # fmt: skip
    (one,) = (
        each for each in found["violations"]
        if (each["relation"], each["level"], each["task"]) == ("MR2", "calibrated", "carrier/pick_up")
    )  # fmt: skip
    assert (one["pairs"], one["violating"]) == (20, 16)
    assert found["failure_types"][0]["violating"]["calibrated"] == 8


def test_another_distance_may_be_chosen(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "run")
    path = line((0.0, 0.0, 0.0), (0.4, 0.0, 0.0))
    for seed in range(4):
        # Away from it in the middle, and there in the end.
        source = run.source(seed, path)
        run.follow_up(source, "MR2", line((0.0, 0.0, 0.0), (0.2, 0.35 + 0.01 * seed, 0.0), (0.4, 0.0, 0.0)))
    run.write()
    far, near = (summary_of(run.folder, "--distance", word) for word in ("hausdorff", "endpoint"))
    assert re.search(r"MR2 distractor\s+100% \[51, 100\]", far) and "by Hausdorff distance" in far
    assert re.search(r"MR2 distractor\s+0% \[0, 49\]", near)
    wrong = CliRunner().invoke(app, ["summary", str(run.folder), "--distance", "frechett"])
    assert isinstance(wrong.exception, UnknownName) and 'Did you mean "frechet"' in str(wrong.exception)


def test_a_run_without_pairs_says_nothing_of_them(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "run")
    run.source(0, line((0.0, 0.0, 0.0), (0.1, 0.0, 0.0)))
    run.write()
    assert "metamorphic" not in summary_of(run.folder)
    assert json.loads(summary_of(run.folder, "--json"))["metamorphic"] is None
    assert "Metamorphic tests" not in report([run.folder], videos="none").html()
    assert list(lines(None)) == []


def test_with_too_few_repeats_the_strict_level_is_told_and_it_says_so(tmp_path: Path) -> None:
    few = made(tmp_path / "few", "somebody", 5)
    told = " ".join(summary_of(few).split())
    assert "Too few situations were repeated (MR0) to calibrate, 19 are needed: carrier/pick_up (5)." in told
    assert "So n, difference and p are of the strict level." in told
    page = report([few], videos="none").html()
    assert "at the strict level" in page and "no verdict" in page
    assert "Too few situations were repeated to calibrate on carrier/pick_up (5): 19 a task are needed." in page
    assert "So the strict level is told first." in page


def test_a_level_that_some_tasks_lack_is_not_told_of_all_and_n_is_of_the_level_told() -> None:
    rows = [pair(name, seed, 0.01 if name == "MR0" else 0.05) for name in ("MR0", "MR2") for seed in range(20)]
    part = [pair("MR2", seed, 0.05, task="carrier/put_in") for seed in range(30)]
    told = list(lines(metamorphic_table(pairs_table(*rows, *part))))
    (distractor,) = (text.split() for text in told if re.match(r"MR2 distractor\s+0%", text))
    assert "50" in distractor[-3:] and "100%" in distractor, "of fifty situations at the strict level"
    text = " ".join(" ".join(told).split())
    assert "carrier/put_in (0). So n, difference and p are of the strict level, and what is calibrated is of" in text
    assert "(strict level) flag" in text
    all_of_it = list(lines(metamorphic_table(pairs_table(*rows, *(one | {"task": "carrier/put_in"} for one in rows)))))
    (distractor,) = (text.split() for text in all_of_it if re.match(r"MR2 distractor\s+0%", text))
    assert "40" in distractor[-3:]


def test_the_report_has_a_section_with_its_figures(run: Path) -> None:
    page = report([run], videos="none").html()
    (section,) = re.findall(r'<section id="metamorphic".*?</section>', page, re.DOTALL)
    assert "at the calibrated level" in section and "Calibrated tolerance: 2.0 cm on carrier/pick_up." in section
    assert section.count("MR2 distractor") >= 4 and section.count('class="venn c1"') >= 4
    assert section.count('class="reference c0"') == 2, "repeats beside the two that are to stay, not beside MR4"
    assert "2 by the oracle only, 8 by both, 8 by the relation only, 2 by neither" in section


def test_several_policies_stand_beside_each_other_at_a_level_that_all_have(run: Path, tmp_path: Path) -> None:
    other = made(tmp_path / "other", "another", 5)
    page = report([run, other], videos="none").html()
    (section,) = re.findall(r'<section id="metamorphic".*?</section>', page, re.DOTALL)
    assert "at the strict level" in section and "Lines: solid: somebody; dashed: another." in section
    assert "somebody: Calibrated tolerance" in section and "another: Too few situations were repeated" in section
    assert 'class="reference' not in section


def test_merged_shards_are_measured_as_one_run(tmp_path: Path) -> None:
    """A shard may have the pairs that it measured; of the merged run they are all measured anew."""
    path = line((0.0, 0.0, 0.0), (0.1, 0.0, 0.0))
    shards = []
    for number in range(2):
        shard = MadeRun(tmp_path / f"shard {number}")
        for seed in range(10 * number, 10 * number + 10):
            source = shard.source(seed, path + 0.01 * seed)
            shard.follow_up(source, "MR0", path + 0.01 * seed + 0.002)
            shard.follow_up(source, "MR2", path + 0.01 * seed + (0.2 if number else 0.002))
        shards.append(shard.write())
        write_measured(shards[-1], load(shards[-1]))
    said = ["merge", *map(str, shards), "--out", str(tmp_path / "whole")]
    called = CliRunner().invoke(app, said, catch_exceptions=False)
    assert called.exit_code == 0 and not (tmp_path / "whole" / FILE).exists()
    told = summary_of(tmp_path / "whole")
    assert "Calibrated tolerances: carrier/pick_up 2.0 cm." in told, "neither shard has nineteen repeats"
    assert re.search(r"MR2 distractor\s+50% \[30, 70\].*\s20$", told, re.MULTILINE)
    assert "Too few situations" in summary_of(shards[0])


def test_runs_of_one_policy_are_put_together(run: Path, tmp_path: Path) -> None:
    half = MadeRun(tmp_path / "half")
    source = half.source(100, line((0.0, 0.0, 0.0), (0.1, 0.0, 0.0)))
    half.follow_up(source, "MR2", line((0.0, 0.0, 0.0), (0.1, 0.0, 0.0)))
    half.write()
    page = report([run, half.folder], videos="none").html()
    (section,) = re.findall(r'<section id="metamorphic".*?</section>', page, re.DOTALL)
    assert "of 21" in section


def test_inconsistencies_are_claimed_where_violations_exceed_repeats(run: Path) -> None:
    (found,) = diagnose_runs([run])
    told = {one.name: one for one in found.symptoms if one.name.startswith("metamorphic")}
    assert list(told) == [
        "metamorphic inconsistency: MR4 negation", "metamorphic inconsistency: MR2 distractor",
    ]  # fmt: skip
    distractor = told["metamorphic inconsistency: MR2 distractor"]
    assert distractor.statement.startswith("Its path changes when an unrelated object is added: 16 of 20 pairs violate")
    assert "MR0, the same trials run again, exceeds the tolerance in 0% [0, 16]" in distractor.statement
    assert "80 [51, 92] points more, p < 0.001" in distractor.statement
    source, follow_up = distractor.examples
    stored = {path.stem for path in (run / "trajectories").glob("*.npz")}
    assert {source, follow_up} <= stored and source != follow_up
    assert told["metamorphic inconsistency: MR4 negation"].statement.startswith(
        "Its path stays the same when the instruction is negated: 20 of 20 pairs violate"
    )
    assert "metamorphic inconsistency" in FINDING_KINDS
    assert "metamorphic inconsistency: MR2 distractor" in report([run], videos="none").html()


@pytest.mark.parametrize(
    ("relation", "violating", "is_claimed"),
    [("MR2", 3, False), ("MR2", 12, True), ("MR4", 3, False), ("MR4", 12, True), ("MR5", 3, False), ("MR5", 12, True)],
)
def test_a_few_violations_are_no_inconsistency(relation: str, violating: int, is_claimed: bool) -> None:
    good, bad = {"MR2": (0.0, 0.5), "MR4": (0.5, 0.0), "MR5": (0.1, 0.5)}[relation]
    rows = [pair("MR0", seed, 0.01) for seed in range(30)]
    rows += [pair(relation, seed, bad if seed < violating else good) for seed in range(30)]
    assert bool(shown(pairs_table(*rows))) == is_claimed


def test_what_a_noisy_policy_does_anyway_is_no_inconsistency() -> None:
    rng = np.random.default_rng(3)
    rows = [pair(relation, seed, float(rng.uniform(0, 0.5))) for relation in ("MR0", "MR2") for seed in range(40)]
    assert shown(pairs_table(*rows)) == []


def test_without_a_calibrated_level_nothing_is_claimed() -> None:
    rows = [pair("MR0", seed, 0.0) for seed in range(10)] + [pair("MR2", seed, 0.5) for seed in range(10)]
    assert shown(pairs_table(*rows)) == [] and shown(pairs_table()) == []


def test_a_run_that_outcomes_ended_claims_none(run: Path) -> None:
    source = MadeRun(run.parent / "again")
    pairs = pairs_table(*(pair(name, seed, 0.5 * (name == "MR2")) for name in ("MR0", "MR2") for seed in range(30)))
    source.source(0, line((0.0, 0.0, 0.0), (0.1, 0.0, 0.0)))
    (planned,) = diagnose(source.episodes, {}, pairs=pairs)
    (ended,) = diagnose(source.episodes, {"request": {"until_width": 0.1}}, pairs=pairs)
    assert len(planned.symptoms) == 1 and not ended.symptoms
    assert Summary(source.episodes, {"request": {"until_width": 0.1}}, pairs).metamorphic is None


def test_relations_have_words() -> None:
    assert label("MR2") == "MR2 distractor" and label("MR1 & MR3") == "MR1 & MR3 synonym, brightness"
    assert claim("MR1 & MR3", "consistency").startswith("Its path is not as the relation asks when the verb")
    assert {claim(name, PATTERNS.get(name, "consistency")).split(" when ")[0] for name in NAMES} == {
        "Its path changes", "Its path stays the same", "Its path changes too little or too much",
        "Its path is not mirrored", "Its path does not move along", "It moves",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "good", "bad", "told"),
    [
        ("consistency", 0.0, 0.5, "Its path changes when mine is applied"),
        ("variation", 0.5, 0.0, "Its path stays the same when mine is applied"),
        ("relocation", 0.1, 0.5, "Its path changes too little or too much when mine is applied"),
    ],
)
def test_what_violates_a_relation_of_ones_own_is_told_by_its_pattern(
    pattern: str, good: float, bad: float, told: str
) -> None:
    rows = [pair("MR0", seed, 0.01) for seed in range(30)]
    rows += [pair("mine", seed, bad if seed < 20 else good, pattern=pattern, moved_m=0.1) for seed in range(30)]
    (found,) = inconsistencies(pairs_table(*rows))
    assert label("mine") == "mine" and found.statement.startswith(f"{told}: 20 of 30 pairs violate mine")


@pytest.mark.parametrize(
    ("first", "second", "both"), [(10, 10, 0), (10, 10, 10), (10, 10, 4), (40, 10, 10), (30, 5, 2)]
)
def test_circles_and_their_overlap_are_to_scale(first: int, second: int, both: int) -> None:
    a, b = (math.sqrt(size / math.pi) for size in (first, second))
    assert lens(a, b, distance(a, b, both)) == pytest.approx(both, abs=0.01)


def test_circles_of_all_levels_fit_into_their_columns() -> None:
    pairs = [Pair("strict", 50, 0, 50, 0), Pair("low", 0, 3, 0, 97), Pair("calibrated", 0, 0, 0, 0)]
    drawn = venns("MR2", ("the oracle", "the relation"), pairs, scale_of(pairs, len(pairs)))
    found = re.findall(r'cx="([\d.]+)" cy="[\d.]+" r="([\d.]+)"', drawn)
    circles = [(float(x), float(r)) for x, r in found]
    assert len(circles) == 4 and "no verdict" in drawn
    (left, r), (right, s) = circles[:2]
    assert left >= r and right + s <= 110 and right - left == pytest.approx(r + s, abs=0.05)
    assert math.pi * r**2 / 50 == pytest.approx(math.pi * circles[2][1] ** 2 / 3, rel=0.05)


def test_a_sweep_is_drawn_from_the_first_to_the_last_tolerance() -> None:
    one = Line("a", (0.0, 0.25, 0.5), (1.0, 0.5, 0.0))
    drawn = sweep("MR2", "n = 3", [one, Line("b", (0.0, 0.5), (1.0, 1.0), is_reference=True)], {"low": 0.3}, "m")
    reference, own = re.findall(r'points="([^"]*)"', drawn)
    xs, ys = zip(*(map(float, place.split(",")) for place in own.split()), strict=True)
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.11) and ys[0] < ys[1] < ys[2]
    assert reference.split()[0] == own.split()[0] and "MR2: a 100% at 0; b 100% at 0" in drawn
