"""A verb is one file: one of a plugin is said, read, scored, solved and named like those that ship."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.gerunds import GERUNDS, doing
from robodx.analysis.findings.naming import FAILS, named
from robodx.experts.base import PLANS
from robodx.language.meaning import Meaning, do, once_lit
from robodx.language.phrasing import phrase, say
from robodx.language.plain_wording import plainly, understood
from robodx.language.reading import NotUnderstood, read
from robodx.language.verbs import PHRASINGS
from robodx.policy_contract import make_policy
from robodx.records.episode import Episode
from robodx.records.trial import Trial
from robodx.registry import Registry, UnknownName, load_plugin
from robodx.running.rollout import rollout
from robodx.scoring.from_meaning import STAGES, looks, stages_for
from robodx.situations.requirements import requirements
from robodx.tasks.base import TASKS
from robodx.verbs.base import Sense, verb

PLUGIN = Path(__file__).parents[2] / "examples" / "my_verb.py"
REGISTRIES: tuple[Registry[object], ...] = (PHRASINGS, STAGES, PLANS, GERUNDS, TASKS)  # type: ignore[assignment]
PILLAR = "mine/fell_the_pillar"
TOPPLE = Meaning((do("topple", "purple cylinder"),))


@pytest.fixture
def registries() -> Iterator[None]:
    """What a test registers is gone after it."""
    with pytest.MonkeyPatch.context() as patch:
        for registry in REGISTRIES:
            patch.setattr(registry, "_entries", {name: registry[name] for name in registry})
        yield


@pytest.fixture
def topple(registries: None) -> Iterator[None]:
    """The verb of the example."""
    modules = set(sys.modules)
    load_plugin(str(PLUGIN))
    yield
    for name in set(sys.modules) - modules:
        if name.startswith("robodx_plugin_"):
            del sys.modules[name]


def played(policy: str) -> Episode:
    (finished,) = rollout([Trial(PILLAR, 1, policy, 0)], make_policy(policy))
    return finished.episode


def test_a_plugins_verb_is_said_and_read(topple: None) -> None:
    assert say(*TOPPLE.clauses).text == "Topple the purple cylinder."  # type: ignore[arg-type]
    assert phrase(TOPPLE, "test", 0).text == "Tip the purple cylinder over."
    clause = do("topple", "purple cylinder")
    for one in (clause, replace(clause, is_negated=True), once_lit("lamp", clause)):
        for index in range(3):
            assert read(phrase(Meaning((one,)), "train", index).text) == Meaning((one,))
    with pytest.raises(NotUnderstood):
        read(phrase(TOPPLE, "test", 0).text)


def test_without_the_plugin_its_verb_is_not_known() -> None:
    with pytest.raises(NotUnderstood, match='"topple the purple cylinder"'):
        read("Topple the purple cylinder.")
    with pytest.raises(UnknownName, match='No verb "topple"'):
        say(do("topple", "purple cylinder"))
    with pytest.raises(UnknownName, match=r'No verb "pres"\. Did you mean "press"'):
        say(do("pres", "switch"))


def test_a_plugins_verb_is_scored_required_and_said_plainly(topple: None) -> None:
    scene = TASKS[PILLAR].situation(0).scene
    (fallen,) = stages_for(TOPPLE, scene)
    assert "purple cylinder" in str(fallen)
    assert "motor/topple" in requirements([TOPPLE], scene, (), ())
    described = Meaning((do("topple", "leftmost cylinder"),))
    what = understood(described, looks(scene))
    assert what is not None
    plain = plainly(what, looks(scene))
    assert plain is not None and plain.text == "Topple the purple cylinder."


def test_a_plugins_verb_is_done_by_the_expert_and_not_by_itself(topple: None) -> None:
    assert played("expert").outcome == "success"
    assert played("still").outcome == "timeout"


def test_a_plugins_verb_is_named_in_findings_by_its_gerund(topple: None) -> None:
    assert doing("topple") == "toppling an object"
    name = named(Condition("requires motor/topple", ("yes",)), FAILS)
    assert name.kind.says(name.subject) == "It is weak at toppling an object"


def test_a_verb_of_a_plugin_that_is_not_loaded_stands_for_itself() -> None:
    assert doing("topple") == "topple an object" and doing("") == "acting on an object"


def test_every_verb_that_ships_can_be_done_and_is_named() -> None:
    done = {name for name in PHRASINGS if PHRASINGS[name].negates is None}
    assert done == set(PLANS)
    assert {name.partition(" ")[0] for name in done} == set(GERUNDS)
    assert set(STAGES) <= done
    assert {PHRASINGS[name].negates for name in set(PHRASINGS) - done} <= done


def test_a_verb_may_get_a_further_sense(registries: None) -> None:
    verb("push", Sense(("push {target} up to {place}",), ("shove {target} to {place}",), "beside"), gerund=None)
    meaning = Meaning((do("push", "red cube", "beside", "blue bin"),))
    assert read("Push the red cube up to the blue bin.") == meaning
    assert doing("push beside") == "pushing an object beside another"


def test_a_verb_that_forbids_another_is_that_one_negated(registries: None) -> None:
    verb("spare", Sense(("spare {target}",), ("keep off {target}",), negates="press"), gerund=None)
    scene = TASKS["primitive/press_switch"].situation(0).scene
    assert read("Spare the switch.").decided(looks(scene)) == ()
    assert read("Do not spare the switch.").decided(looks(scene)) == (do("press", "switch"),)
    assert "language/negation" in requirements([read("Spare the switch.")], scene, (), ())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Sense(("topple {thing}",), ("tip {target}",)), r'"topple \{thing\}" has to name \{target\}$'),
        (lambda: Sense(("topple {target}",), ("tip {target}",), "onto"), r"has to name \{target\} and \{place\}$"),
        (lambda: Sense(("roll {target}",), ("tip {target}",), "left"), r"has to name \{target\} and \{distance\}$"),
        (lambda: Sense(("topple {target}",), ()), "a phrasing to train with and one to test with"),
        (lambda: verb("knock over", gerund="knocking over"), 'one word, not "knock over"'),
        (lambda: verb("pick", Sense(("pick {target}",), ("p {target}",)), gerund=None), '"pick" is registered already'),
    ],
)
def test_a_wrong_declaration_of_a_verb_is_refused(registries: None, wrong: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wrong()  # type: ignore[operator]
