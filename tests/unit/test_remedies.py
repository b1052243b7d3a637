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
from robodx.analysis.findings.remedies import BY_TOPIC, GENERAL, advice, advice_on, remedy, topic
from robodx.interventions.base import FACTORS, INTERVENTIONS
from robodx.perturbations.base import PERTURBATIONS

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


@pytest.mark.parametrize("certainty", SAYS)
def test_advice_is_no_stronger_than_its_evidence(certainty: Certainty) -> None:
    said = advice(COLOUR, certainty)
    if certainty in ("cause", "needed", "sufficient"):
        assert said.startswith("Add demonstrations with objects of these colours")
    elif certainty in ("associated", "undecided"):
        assert said.startswith("If it is confirmed: add demonstrations")
    else:
        assert said == ""


def test_a_plugin_has_the_general_advice_or_its_own() -> None:
    theirs = Condition("moon_phase", ("full",))
    assert advice(theirs, "cause") == GENERAL[0].upper() + GENERAL[1:]
    assert advice(theirs, "cause", "Wait for the day.") == "Wait for the day."
    assert advice(theirs, "undecided", "Wait for the day.") == "If it is confirmed: wait for the day."
