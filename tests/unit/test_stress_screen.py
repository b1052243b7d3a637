"""When it breaks, by a diagnosis alone: what its screening says of stress, with n and interval, as a screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from robodx.analysis.findings.base import StressSeen
from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.decisions import PairSeen, Tally
from robodx.analysis.findings.variants import stress_seen
from robodx.analysis.statistics.estimates import Estimate, wilson
from robodx.report import material as of_material
from robodx.report.page import report
from tests.reporting import capability, diagnosis, run_folder, stressed

NOISE, CLOCK = Condition("stress", ("noise/v2",)), Condition("clock", ("realtime",))


def pair(treated: bool, placebo: bool = True) -> PairSeen:
    return PairSeen("stress", "noise/v2", "a", "b", treated, placebo)


def test_what_was_solved_without_stress_counts() -> None:
    trials = (pair(False), pair(True), pair(False, False))
    noise, clock = stress_seen([Tally(NOISE, 1, put_in=trials), Tally(CLOCK, 1, put_in=(pair(True),))], [])
    assert noise == StressSeen("noise", "v2", wilson(1, 2), unsolved=1)
    assert (noise.lost, noise.name) == (1, "noise at v2")
    assert (clock.stressor, clock.level, clock.lost, clock.kept.n) == ("real time", None, 0, 1)


def test_pairs_that_were_run_after_it_are_told_with_what_they_decided() -> None:
    later = Tally(NOISE, 1, put_in=tuple(pair(False) for _ in range(12)))
    (noise,) = stress_seen([Tally(NOISE, 1, put_in=(pair(False),))], [later])
    assert noise.verdict == "effect" and 0 < noise.pairs <= 12
    assert noise.difference is not None and noise.difference.value == -1.0
    assert noise.difference.low == -1.0 and (noise.difference.high or 0.0) < 0.5, "the sides of the loss are exchanged"


SCREENED = (
    StressSeen("noise", "v2", wilson(0, 1), 0, 16, Estimate(-0.19, -0.65, 0.25, 16), "undecided"),
    StressSeen("resolution", "v2", wilson(1, 1), 0),
    StressSeen("payload", "v2", wilson(0, 0), 1),
    StressSeen("real time", None, wilson(3, 3), 0),
)


def test_that_it_loses_little_is_told_with_the_bound_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = Tally(NOISE, 1, put_in=tuple(pair(True) for _ in range(20)))
    (noise,) = stress_seen([Tally(NOISE, 1, put_in=(pair(False),))], [later])
    assert noise.verdict == "none" and noise.most_lost is not None and 0.1 < noise.most_lost < 0.2
    assert noise.difference is not None and (noise.difference.low or 0.0) < -noise.most_lost, "that has two sides"
    monkeypatch.setattr(of_material, "diagnose", lambda *_, **__: [diagnosis(stress=(noise,))])
    page = report([run_folder(tmp_path, capability())]).markdown()
    bound = f"at most {100 * noise.most_lost:.1f} points with 95% confidence, n = {noise.pairs}"
    assert f"it loses less than 20 points under noise at v2 ({bound})" in page


def test_a_diagnosis_answers_from_its_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_material, "diagnose", lambda *_, **__: [diagnosis(stress=SCREENED)])
    found = report([run_folder(tmp_path, capability())])
    breaks = " ".join(one["text"] for one in found.as_dict()["sections"]["glance"][0]["answers"]["When does it break?"])
    assert breaks == (
        "Screened under 2 stressors at level v2, in 2 trials that it solves without stress, it still solves 50% "
        "[9, 91] (n = 2). It failed under noise. Corrected for all that was tested, further pairs do not decide on "
        "noise at v2 (−19 points [−65, +25], n = 16). "
        "In real time it solves 100% [44, 100] of the trials that it solves when the world waits (n = 3). This is a "
        "screen: one trial each says little of any one stressor. To test each at three levels:"
    )
    data = found.as_dict()["sections"]["stress"]
    assert [one["stressor"] for one in data[0]["screen"]] == ["noise", "resolution", "payload", "real time"]
    assert "−19 \\[−65, +25\\]" in found.markdown() or "−19 [−65, +25]" in found.markdown()


def test_a_run_of_stress_goes_before_a_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_material, "diagnose", lambda *_, **__: [diagnosis(stress=SCREENED)])
    page = report([run_folder(tmp_path, stressed())]).html()
    assert "Under noise at v2, success drops" in page and "Screened under" not in page


def test_without_either_it_is_said_how_to_run_one(tmp_path: Path) -> None:
    assert "No stress test was run. To run one:" in report([run_folder(tmp_path, capability())]).html()


def test_what_was_lost_and_not_followed_up_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = (*SCREENED, StressSeen("motion_blur", "v2", wilson(0, 1), 0))
    monkeypatch.setattr(of_material, "diagnose", lambda *_, **__: [diagnosis(stress=seen)])
    page = report([run_folder(tmp_path, capability())]).markdown().replace("\\", "")
    assert "It failed under noise and motion_blur. Not followed up by pairs: motion_blur." in page


def test_what_further_pairs_decided_is_not_told_from_the_few_of_the_screen_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided = StressSeen("real time", None, wilson(2, 3), 1, 8, Estimate(0.25, -0.1, 0.6, 8), "none", most_lost=0.194)
    monkeypatch.setattr(of_material, "diagnose", lambda *_, **__: [diagnosis(stress=(decided,))])
    page = report([run_folder(tmp_path, capability())]).markdown()
    assert "it loses less than 20 points under real time" in page and "In real time it solves" not in page
