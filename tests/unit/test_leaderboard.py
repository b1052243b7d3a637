"""Leaderboards: who is compared on what, which ranks the evidence supports, and in which forms it is told."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from robodx.analysis.compare import Unlike, compare_tables
from robodx.analysis.leaderboard import Entrant, Leaderboard, leaderboard, ranks
from robodx.analysis.leaderboard_sentences import cautions, conclusion
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.statistics.paired import mcnemar_p
from robodx.analysis.wording import counted, listed, shortened
from robodx.records.schema import SCHEMA
from robodx.report.leaderboard import page, ranked, table, tex
from robodx.report.material import gather
from robodx.terminal.leaderboard import as_dict, lines
from tests.commands import call
from tests.reporting import ABOUT, episode, run_folder, stressed

HOSTILE = r"<img src=x onerror=alert(1)> & \input{/etc/passwd} $100% _#^~{}"


def outcomes(policy: str, said: str, *, task: str = "control/lift", **further: Any) -> list[dict[str, Any]]:
    """A letter a seed: s(uccess), f(ailure), e(rror), or . where it was not run."""
    return [
        episode(task, seed, success=letter == "s", policy=policy, **further)
        | ({"outcome": "error", "trajectory_hash": None} if letter == "e" else {})
        for seed, letter in enumerate(said)
        if letter != "."
    ]


def entrant(policy: str, rows: list[dict[str, Any]], **further: Any) -> Entrant:
    found = pl.DataFrame(rows, schema=SCHEMA)
    return Entrant(policy, found, found, **further)


def board(**said: str) -> Leaderboard:
    return leaderboard([entrant(policy, outcomes(policy, letters)) for policy, letters in said.items()])


def standings(found: Leaderboard) -> dict[str, str]:
    return {one.policy: one.rank for one in found.standings}


def test_ranks_are_ranges_that_the_tests_leave_open() -> None:
    found = board(good="s" * 38 + "ff", same="ff" + "s" * 38, bad="f" * 36 + "s" * 4, worst="f" * 40)
    assert standings(found) == {"good": "1–2", "same": "1–2", "bad": "3–4", "worst": "3–4"}
    assert conclusion(found) == "First is one of good and same: the tests do not tell these from the best."


def test_a_policy_that_is_told_from_all_others_is_first() -> None:
    found = board(worse="f" * 30 + "s" * 10, best="s" * 40)
    assert standings(found) == {"best": "1", "worse": "2"} and found.pairs[0].winner == "best"
    assert conclusion(found) == "best is first: the tests tell it from the other one."


def test_pairs_are_tested_as_compare_does_and_adjusted_for_their_number() -> None:
    said = {"a": "s" * 40, "b": "s" * 34 + "f" * 6, "c": "s" * 30 + "f" * 10}
    found = board(**said)
    alone = compare_tables(*(pl.DataFrame(outcomes(name, said[name]), schema=SCHEMA) for name in "ba")).overall
    pair = next(one for one in found.pairs if {one.first, one.second} == {"a", "b"})
    assert (pair.first, pair.difference, pair.p) == ("a", alone.difference, alone.p)
    expected = holm({"ab": mcnemar_p(0, 6), "ac": mcnemar_p(0, 10), "bc": mcnemar_p(0, 4)})
    assert pair.adjusted_p == expected["ab"]
    # Without the correction it would have been told apart.
    assert alone.p is not None and alone.p < 0.05 < (pair.adjusted_p or 0) and pair.winner is None


def test_only_trials_that_all_policies_have_are_compared() -> None:
    # On its own seeds the third is perfect; on those of all it is the worst.
    found = board(a="ssss", b="sfss....", c="ffff" + "s" * 20)
    assert found.trials == 4 and found.standings[-1].policy == "c" and found.standings[-1].success.value == 0
    assert {one.policy: one.unshared for one in found.standings} == {"a": 0, "b": 0, "c": 20}
    assert "Left out, because not every policy was run on these trials: 20 of c." in list(cautions(found))


def test_an_error_takes_the_trial_from_all_and_too_many_take_the_rank() -> None:
    found = board(a="s" * 40, b="s" * 20 + "f" * 19 + "e", c="e" * 10 + "s" * 30)
    assert standings(found) == {"a": "1", "b": "2", "c": "–"} and (found.trials, found.lost) == (39, 1)
    said = " ".join(cautions(found))
    assert "c has no rate and no rank: 10 trials ended in errors, more than 5% of the shared ones." in said
    assert "1 shared trial left out for all" in said
    with pytest.raises(Unlike, match=r"too many errors.*for b"):
        board(a="s" * 10, b="e" * 10)


def test_other_versions_of_a_task_are_named_and_not_compared() -> None:
    rows = [entrant(p, [*outcomes(p, "ssff"), *outcomes(p, "ss", task="control/push", task_version=version)])
            for p, version in (("a", 1), ("b", 2))]  # fmt: skip
    found = leaderboard(rows)
    assert found.tasks == 1 and found.other_versions == ("control/push: version 1 (a), 2 (b)",)
    with pytest.raises(Unlike, match=r"no situation was run with all of a and b .*version 1 \(a\), 2 \(b\)"):
        leaderboard([entrant(p, outcomes(p, "ss", task_version=version)) for p, version in (("a", 1), ("b", 2))])


def test_runs_without_a_common_trial_are_refused_with_who_shares_none() -> None:
    with pytest.raises(Unlike, match="none is shared by a and b or by b and c"):
        board(a="ssss", b="....ssss", c="ssss")
    with pytest.raises(Unlike, match="two policies or more, and these runs are of one: a"):
        board(a="ss")
    with pytest.raises(Unlike, match="at most 30 policies, not 31"):
        board(**{f"p{at}": "s" for at in range(31)})


def test_of_a_run_that_its_outcomes_ended_evidence_is_always_valid() -> None:
    said = ("s" * 40, "s" * 31 + "f" * 9)
    planned, early = (
        leaderboard([entrant(p, outcomes(p, letters), stopped=how) for p, letters in zip("ab", said, strict=True)])
        for how in ("planned", "together")
    )
    assert planned.pairs[0].winner == "a" and (early.pairs[0].p or 0) > (planned.pairs[0].p or 0)
    assert any("always-valid" in text for text in cautions(early))


def test_ranks_count_who_is_shown_to_be_above_and_below() -> None:
    assert ranks("abcd", [("a", "c"), ("a", "d"), ("b", "d")]) == {"a": (1, 2), "b": (1, 3), "c": (2, 4), "d": (3, 4)}
    assert ranks("ab", []) == {"a": (1, 2), "b": (1, 2)}


@pytest.mark.parametrize("boards", [6, pytest.param(200, marks=pytest.mark.thorough)])
def test_equal_policies_are_rarely_told_apart_however_many_there_are(boards: int) -> None:
    """Five policies alike: any of ten pairs is told apart in at most 5% of leaderboards."""
    wrong = 0
    # Without Holm's method it would be 3 of the first 6, and 51 of 200.
    for solved in np.random.default_rng(4).random((boards, 5, 40)) < 0.6:
        found = board(**{name: "".join(np.where(row, "s", "f")) for name, row in zip("abcde", solved, strict=True)})
        wrong += any(pair.winner for pair in found.pairs)
    assert wrong / boards <= 0.05


def folder(path: Path, policy: str, rows: list[dict[str, Any]], **request: Any) -> Path:
    about = {**ABOUT, "request": {**ABOUT["request"], "policy": policy, **request}}
    return run_folder(path, rows, about)


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    both = {"vision": "s" * 20, HOSTILE: "f" * 15 + "s" * 5, "=cmd()": "f" * 14 + "s" * 6}
    tasks = ("control/lift", "language/pick")
    return [
        str(folder(tmp_path / f"run{at}", policy, [row for task in tasks for row in outcomes(policy, said, task=task)]))
        for at, (policy, said) in enumerate(both.items())
    ]


def test_stressed_and_repeated_episodes_are_left_out(tmp_path: Path) -> None:
    paths = [folder(tmp_path / policy, policy, stressed(policy), selectors=["stress"]) for policy in ("a", "b")]
    found = ranked(gather(paths))
    assert found.variants == ("clean",) and found.trials == 8
    assert all(one.not_clean == one.episodes - 8 > 0 for one in found.standings)


def test_runs_of_one_policy_are_joined(tmp_path: Path) -> None:
    rows = outcomes("a", "s" * 6)
    parts = [folder(tmp_path / "a1", "a", rows[:3]), folder(tmp_path / "a2", "a", rows[3:])]
    found = ranked(gather([*parts, folder(tmp_path / "b", "b", outcomes("b", "f" * 6))]))
    assert found.trials == 6 and len(found.standings) == 2


def test_names_are_escaped_in_every_form(runs: list[str]) -> None:
    material = gather([Path(run) for run in runs])
    found = ranked(material)
    html = page(material, found).html()
    assert "<img src=x" not in html and "&lt;img src=x" in html and "https://" not in html
    assert r"\input{" not in tex(found) and r"\textbackslash{}input\{" in tex(found)
    assert standings(found)["vision"] == "1"


def test_csv_has_a_row_for_each_policy_and_no_formula(runs: list[str], tmp_path: Path) -> None:
    said = call("leaderboard", *runs, "--html", "board.html", "--csv", "-", cwd=tmp_path)
    wrote, header, rest = said.partition("rank,")
    back = pl.read_csv(io.StringIO(header + rest))
    assert back["policy"].to_list() == ["vision", "'=cmd()", HOSTILE]
    assert back["success"].to_list() == [1.0, 0.3, 0.25] and back["best_rank"].to_list() == [1, 2, 2]
    assert {"success.control.low", "success.language.n", "unshared"} <= {*back.columns}
    assert "Wrote board.html" in wrote and "</html>" in (tmp_path / "board.html").read_text()


def test_json_and_text_say_the_same(runs: list[str], tmp_path: Path) -> None:
    wrote, brace, rest = call("leaderboard", *runs, "--latex", "board.tex", "--json", cwd=tmp_path).partition("{")
    assert "Wrote board.tex" in wrote and r"\end{tabular}" in (tmp_path / "board.tex").read_text()
    said = json.loads(brace + rest)
    assert said["says"] == "vision is first: the tests tell it from each of the 2 others."
    assert [one["rank"] for one in said["standings"]] == ["1", "2–3", "2–3"] and said["unfinished"] == []
    assert [one["winner"] for one in said["pairs"]] == ["vision", "vision", None]
    text = call("leaderboard", *runs, cwd=tmp_path)
    assert text.splitlines()[-1] == said["says"] and "2–3" in text and "language" in text


def test_what_is_no_run_is_skipped_among_others(runs: list[str], tmp_path: Path) -> None:
    """As a shell makes it of runs/*, where pages and pictures lie, too."""
    (tmp_path / "board.html").write_text("a page")
    (tmp_path / "demo").mkdir()
    said = call("leaderboard", "board.html", *runs, "demo", cwd=tmp_path)
    assert "Skipped: board.html and demo are no run folders." in said and "vision is first" in said
    for given in (("demo",), ("board.html",), ("demo", "board.html")):
        assert f"{given[0]} is not a run folder" in call("leaderboard", *given, cwd=tmp_path, expect=2)
    assert "mistyped is not a run folder" in call("leaderboard", *runs, "mistyped", cwd=tmp_path, expect=2)


def test_errors_have_a_column_where_there_are_any(tmp_path: Path) -> None:
    for at, said in enumerate(("s" * 40, "s" * 39 + "e")):
        material = gather([folder(tmp_path / f"{at}{name}", name, outcomes(name, said if name == "a" else "f" * 40))
                           for name in "ab"])  # fmt: skip
        html = page(material, ranked(material)).html()
        standings = html.partition('id="leaderboard"')[2].partition("</section>")[0]
        assert ("errors</th>" in standings) == (at == 1) and "RoboDx leaderboard" in html
        assert 'data-sort="0"><bdi>0</bdi>' in standings or at == 0


def test_an_unfinished_run_is_told(runs: list[str], tmp_path: Path) -> None:
    (Path(runs[0]) / "episodes/all.parquet").rename(Path(runs[0]) / "episodes/part-00001.parquet")
    aside, brace, rest = call("leaderboard", *runs, "--json", cwd=tmp_path).partition("{")
    assert json.loads(brace + rest)["unfinished"] == [runs[0]] and f"{runs[0]} is not finished" in aside


def test_a_policy_that_reads_the_simulator_is_not_ranked() -> None:
    said = {"good": "s" * 34 + "f" * 6, "bad": "f" * 28 + "s" * 12}
    rivals = [entrant(policy, outcomes(policy, letters)) for policy, letters in said.items()]
    expert = entrant("expert", outcomes("expert", "s" * 40), is_privileged=True)
    found = leaderboard([expert, *rivals])
    # As many pairs are adjusted for as without it.
    assert standings(found) == {"good": "1", "bad": "2", "expert": "–"} and found.pairs == leaderboard(rivals).pairs
    assert conclusion(found) == "good is first: the tests tell it from the other one."
    text = [line for line in lines(found) if "expert" in line]
    assert text[0].split()[:4] == ["–", "expert", "(privileged)", "100%"]
    assert text[1].startswith("expert reads the simulator's state") and not any("no rate" in line for line in text)
    # A planted fault may put it below those that it would be a bound of.
    assert "bound" not in " ".join([*lines(found), tex(found)])
    assert "2 policies (and 1 that reads the simulator\\textquoteright{}s state, not ranked) on the same" in tex(found)
    assert r"-- & expert (privileged) & 100\%" in tex(found)
    last = table(found).row(2, named=True)
    assert (last["policy"], last["best_rank"], last["success"], last["is_privileged"]) == ("expert", None, 1.0, True)
    assert as_dict(found)["standings"][2]["rank"] == "–"
    with pytest.raises(Unlike, match=r"expert reads the simulator's state .* which leaves good: robodx compare"):
        leaderboard([expert, rivals[0]])


def test_runs_without_a_clean_episode_are_told_so(tmp_path: Path) -> None:
    def only_changed(policy: str) -> Entrant:
        rows = pl.DataFrame(outcomes(policy, "sf"), schema=SCHEMA)
        return Entrant(policy, rows, rows.clear())

    entrants = [only_changed("act"), only_changed("flow"), entrant("vision", outcomes("vision", "sf"))]
    with pytest.raises(Unlike, match=r"^act and flow have only stressed, repeated or changed situations") as several:
        leaderboard(entrants)
    assert "--seeds" not in str(several.value) and "vision" not in str(several.value)
    with pytest.raises(Unlike, match=r"^act has only stressed"):
        leaderboard([entrants[0], entrants[2]])


def test_logins_in_addresses_are_in_no_form(tmp_path: Path) -> None:
    addresses = {"openpi://me:secret@host:8000": "s" * 12, "openpi://you:secr@et@host:8000": "f" * 12}
    paths = [folder(tmp_path / f"{at}", policy, outcomes(policy, said))
             for at, (policy, said) in enumerate(addresses.items())]  # fmt: skip
    forms = [call("leaderboard", *paths, *options, cwd=tmp_path)
             for options in ((), ("--json",), ("--csv", "-"), ("--latex", "-"), ("--html", "board.html"))]  # fmt: skip
    forms += [(tmp_path / "board.html").read_text(), call("summary", *paths, cwd=tmp_path)]
    assert not [said for said in forms if "secr" in said or "et@" in said]
    # Who differs in the login alone stays apart.
    assert "openpi://…@host:8000 (2)" in forms[0] and "openpi://…@host:8000 is first" in forms[0]
    assert str(paths[1]) in forms[5]


def test_lists_and_counts_are_written_as_people_do() -> None:
    assert [listed("abc"[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert listed("abc", "or") == "a, b or c" and listed("abcdef", most=4) == "a, b, c and 3 more"
    assert counted(1, "trial") == "1 trial" and counted(1200, "trial") == "1,200 trials"
    assert shortened("x" * 40) == "x" * 40 and len(shortened("x" * 41)) <= 40


@pytest.mark.parametrize(
    ("options", "said"),
    [(("--json", "--csv", "-"), "exclude each other"), (("--html", "-"), "a page is not printed"),
     (("--csv", "x", "--latex", "./x"), "need a file each")],
)  # fmt: skip
def test_options_that_contradict_are_refused(
    runs: list[str], tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    assert said in call("leaderboard", *runs, *options, cwd=tmp_path, expect=2)
    assert not (tmp_path / "x").exists()


@pytest.mark.thorough
def test_pdflatex_compiles_a_leaderboard_with_hostile_names(tmp_path: Path) -> None:
    pdflatex = shutil.which("pdflatex")
    assert pdflatex, "install texlive-latex-base and texlive-latex-recommended for the thorough tests"
    names = [HOSTILE, "=cmd()", "a" * 200, "日本 é ß", r"}\end{table}\write18{touch owned}", "\\", "%", "two\nlines"]
    tasks = [f"family_{at}&%$/x" for at in range(7)]
    paths = [
        folder(tmp_path / f"{at}", name, [row for task in tasks for row in outcomes(name, "sfs", task=task)])
        for at, name in enumerate(names)
    ]
    body = tex(ranked(gather(paths)))
    document = f"\\documentclass{{article}}\\usepackage{{booktabs}}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (tmp_path / "paper.tex").write_text(document)
    done = subprocess.run(
        [pdflatex, "-halt-on-error", "-interaction=nonstopmode", "paper.tex"], cwd=tmp_path, capture_output=True
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 10_000 and not (tmp_path / "owned").exists()
