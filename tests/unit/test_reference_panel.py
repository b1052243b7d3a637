"""The reference panel: what the changes behind a cause do to other policies, and when a diagnosis says so."""

from __future__ import annotations

from pathlib import Path

import pytest
import reference_panel
from reference_panel import PANEL, Unit, counted, sampled, write

from robodx.analysis.findings.base import PanelLoss
from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.decisions import PairSeen, Tally
from robodx.analysis.findings.panel import Asked, harder, losses, read
from robodx.interventions.base import INTERVENTIONS, PLACEBO
from robodx.report.sections.findings import Card
from robodx.terminal.diagnosis import lines
from tests.reporting import diagnosis, finding

IMPRECISE, NOISY = "an imprecise expert", "a noisy expert"
# Four pairs each: with the negation all but one fail that succeed otherwise; without it all succeed.
TABLE = [
    Asked("negation", "do not", "vision", 4, 1, 4),
    Asked("negation", "none", "vision", 4, 4, 2),
    Asked("negation", "do not", IMPRECISE, 4, 3, 4),
    Asked("negation", "none", IMPRECISE, 4, 4, 4),
    # Of a policy that ran only one of the changes.
    Asked("negation", "none", NOISY, 4, 4, 4),
    Asked("negation", "do not", NOISY, 0, 0, 0),
]
HARD = (PanelLoss("vision", 0.45, 8), PanelLoss(IMPRECISE, 0.30, 8), PanelLoss(NOISY, -0.05, 6))
SAYS = (
    "Harder for most policies: of the reference panel vision loses 45 points (n = 8), an imprecise expert 30 (n = 8), "
    "a noisy expert gains 5 (n = 6)."
)


def seen(value: str, intervention: str = "negation") -> PairSeen:
    return PairSeen(intervention, value, "treated", "placebo", True, False)


def tally(undo: int, put_in: int, others: int = 0) -> Tally:
    unknown = (seen("strong", "stress"),) * others
    condition = Condition("requires language/negation", ("yes",))
    return Tally(condition, 1, (seen("none"),) * undo, (seen("do not"),) * put_in + unknown)


def test_what_is_lost_is_gained_by_undoing_and_lost_by_putting_in() -> None:
    found = {one.policy: (one.lost, one.pairs) for one in losses(tally(3, 1), TABLE)}
    # The noisy one has too few pairs.
    assert found == {"vision": ((3 * 0.5 + 0.75) / 4, 8), IMPRECISE: (0.25 / 4, 8)}


def test_a_policy_that_ran_less_than_half_of_the_changes_says_nothing() -> None:
    table = [row._replace(pairs=3 * row.pairs) for row in TABLE]
    assert [one.policy for one in losses(tally(2, 1), table)] == ["vision", IMPRECISE, NOISY]
    assert [one.policy for one in losses(tally(1, 2), table)] == ["vision", IMPRECISE]
    assert losses(tally(1, 1, others=2), TABLE)
    assert losses(tally(1, 1, others=3), TABLE) == ()


def test_what_is_done_to_a_policy_has_no_panel() -> None:
    assert losses(tally(0, 0, others=4)) == losses(tally(0, 0)) == ()


def test_only_what_two_policies_lose_by_is_called_harder() -> None:
    assert harder(HARD) == SAYS
    assert harder((PanelLoss("vision", 0.9, 8), PanelLoss(IMPRECISE, 0.19, 8), PanelLoss(NOISY, 0.0, 8))) == ""
    assert harder(()) == ""


def test_a_cause_that_is_hard_for_others_says_so_wherever_it_is_shown() -> None:
    hard, other = finding(panel=HARD), finding(panel=HARD[:1])
    assert SAYS in " ".join(" ".join(lines(diagnosis(hard))).split())
    assert SAYS in Card(hard, 1).markdown()
    assert SAYS in Card(hard, 1).html()
    assert not any("Harder" in line for line in (*lines(diagnosis(other)), Card(other, 1).markdown()))
    assert diagnosis(other).as_dict()["findings"][0]["panel"] == ({"policy": "vision", "lost": 0.45, "pairs": 8},)


def test_the_shipped_table_is_of_what_is_registered() -> None:
    table = read()
    assert table
    for one in table:
        entry = INTERVENTIONS[one.intervention]
        assert one.value in entry.values and entry.is_comparable and one.policy in PANEL
        assert 0 <= max(one.treated, one.placebo) <= one.pairs
    assert len({one[:3] for one in table}) == len(table)


def test_pairs_with_an_error_are_not_counted() -> None:
    ended: dict[str, tuple[bool, bool | None]] = {"a": (True, False), "b": (True, True), "c": (True, None)}
    known = {
        Unit(task, 1, "negation", value, "vision"): success
        for task, both in ended.items()
        for value, success in zip(("none", PLACEBO), both, strict=True)
    }
    plan = {("negation", "none"): [(task, 1) for task in ended]}
    assert counted(("negation", "none", "vision"), plan, known) == Asked("negation", "none", "vision", 2, 2, 1)


def test_rows_of_what_is_gone_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_panel, "TABLE", tmp_path / "panel.csv")
    gone = [Asked("once there", "a", "vision", 4, 1, 4), Asked("negation", "once there", "vision", 4, 1, 4)]
    write([*gone, *TABLE])
    assert sorted(read(tmp_path / "panel.csv")) == sorted(TABLE)


def test_a_sample_of_values_stays_when_others_come() -> None:
    few, of_more = sampled("abcdefgh", 4), sampled("abcdefghijkl", 4)
    stayed = [one for one in of_more if one in "abcdefgh"]
    assert len(few) == len(of_more) == 4 and stayed == few[: len(stayed)] != []
