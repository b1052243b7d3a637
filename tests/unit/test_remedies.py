"""What is advised about a weakness: something of its own for all that ships, and never more than is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from robodx.analysis.causes import SUBSTITUTES
from robodx.analysis.findings.base import SAYS, Certainty
from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.failure_modes import MOTOR
from robodx.analysis.findings.kinds.base import FINDING_KINDS
from robodx.analysis.findings.naming import FAILS, named
from robodx.analysis.findings.remedies import (
    BY_COMPONENT,
    BY_TOPIC,
    GENERAL,
    advice,
    advice_on,
    advice_on_factor,
    remedy,
    topic,
)
from robodx.interventions.base import FACTORS, INTERVENTIONS
from robodx.interventions.factors import FACTORS as VISUAL_FACTORS
from robodx.perturbations.base import PERTURBATIONS
from robodx.terminal.diagnosis import lines
from tests.reporting import diagnosis, finding

# All that a diagnosis of what ships may find to be a cause, by an attribute and a level of it.
LEVELS = {pair for one in INTERVENTIONS.entries() for levels in one.values.values() for pair in levels.items()}
CONDITIONS = [
    *(Condition(name, (level,)) for name, level in sorted(LEVELS)),
    *(Condition("stress", (f"{one.name}/v2",)) for one in PERTURBATIONS.entries() if one.is_stressor),
    Condition("clock", ("realtime",)),
]
# These tell what is seen, and of no condition.
SYMPTOMS = {"unstable control", "metamorphic inconsistency"}
COLOUR = Condition("target_colour", ("green",))


def test_whatever_an_intervention_or_a_stressor_changes_has_a_remedy_of_its_own() -> None:
    assert {remedy(topic(one)) for one in CONDITIONS} == {says for _, says in BY_TOPIC[:-1]}, "and none is for nothing"
    assert {one.factor for one in INTERVENTIONS.entries() if one.attributes} == set(FACTORS)


def test_every_kind_of_finding_is_advised_about() -> None:
    ways = [replace(FAILS, sort="type", name=name) for name in ("collision", MOTOR[0])]
    advised = {
        named(condition, mode).kind.name: advice(condition, "cause", named(condition, mode).kind.advice)
        for condition in (*CONDITIONS, Condition("family", ("control",)), Condition("grasps", ("2",)))
        for mode in (FAILS, *ways)
    }
    assert all(advised.values())
    assert {one.name for one in FINDING_KINDS.entries()} - SYMPTOMS <= set(advised)


def test_every_component_that_why_names_is_advised_about() -> None:
    assert all(advice_on(one.component) for one in SUBSTITUTES)
    assert advice_on("chance") == ""


def test_the_grounding_layer_is_advised_where_place_and_rank_tell_the_target() -> None:
    """Where it was shown to help; with negations an early version did harm."""
    for about in ("ordinal", "relation", "left and right"):
        assert "sgl:POLICY" in remedy(f"requires language/{about}"), about
    for about in ("requires language/negation", "requires language/synonym", "requires perception/colour", "phrasing"):
        assert "sgl" not in remedy(about), about
    assert not any("sgl" in says for says in BY_COMPONENT.values())


def test_a_visual_bias_is_advised_about_by_its_factor() -> None:
    found = {one.name: advice_on_factor(one.name) for one in VISUAL_FACTORS.entries()}
    assert all(says.startswith("If it is confirmed: ") for says in found.values())
    assert {name for name, says in found.items() if says.endswith(GENERAL)} == {"robot_colour"}
    assert "objects of these colours" in found["colour"] and "camera" in found["focal_length"]


@pytest.mark.parametrize("certainty", SAYS)
def test_advice_is_no_stronger_than_its_evidence(certainty: Certainty) -> None:
    said = advice(COLOUR, certainty)
    if certainty in ("cause", "needed", "sufficient"):
        assert said.startswith("Add demonstrations with objects of these colours")
    elif certainty in ("associated", "undecided"):
        assert said.startswith("If it is confirmed: add demonstrations")
    else:
        assert said == ""


def test_the_terminal_says_that_advice_is_untested() -> None:
    told = list(lines(diagnosis(finding(), finding(certainty="associated", advice="If it is confirmed: train."))))
    advised = [line.strip() for line in told if "dvice" in line]
    assert advised == ["advice, untested: Train it on negations.", "advice, untested: If it is confirmed: train."]


def test_a_plugin_has_the_general_advice_or_its_own() -> None:
    theirs = Condition("moon_phase", ("full",))
    assert advice(theirs, "cause") == GENERAL[0].upper() + GENERAL[1:]
    assert advice(theirs, "cause", "Wait for the day.") == "Wait for the day."
    assert advice(theirs, "undecided", "Wait for the day.") == "If it is confirmed: wait for the day."
