"""Write docs/vocabulary.md: the objects, colours, relations and verbs that there are, from the code that has them.

Run it after a change of these: make vocabulary
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import get_args

from pages import DOCS, rewrite

from robodx.language.lexicon import EVERYDAY, KINDS, ORDINALS, RARE, SIZES
from robodx.language.meaning import Clause, Exists, If, Meaning, Place, insert, once_lit, pick, press, put, touch
from robodx.language.phrasing import phrase, say
from robodx.language.reference import (
    Comparative,
    Measure,
    Rank,
    Reference,
    Side,
    Spatial,
    Superlative,
    Where,
    the,
)
from robodx.language.verbs import PHRASINGS
from robodx.sim import objects
from robodx.sim.colours import PALETTE, SHADES
from robodx.sim.scene import Thing

PAGE = DOCS / "vocabulary.md"
PART = "vocabulary"
# Of what is not there to be picked up; of all others it is said that they are picked up.
FIXTURES: dict[str, Clause] = {
    "block with a hole": insert("peg", "block with a hole"),
    "bin": put("sphere", "in", "bin"),
    "bowl": put("cube", "in", "bowl"),
    "crate": put("cube", "in", "crate"),
    "box": put("cube", "in", "box"),
    "charger": insert("charger", "receptacle"),
    "receptacle": insert("charger", "receptacle"),
    "disc": put("cube", "on", "disc"),
    "slot": touch(Reference("cube", rank=Rank("that fits", of=the("slot")))),
    "switch": press("switch"),
    "lamp": once_lit("lamp", press("switch")),
    "ramp": touch("ramp"),
    "conveyor": pick(Reference("cube", where=(Where("on", the("conveyor")),))),
    "kit tray": put("cross", "in", "kit tray"),
}
# What a verb is said of, where not of a cube; and where to, where not by the bowl.
TARGETS = {"press": "switch", "stand": "peg", "insert": "peg", "roll": "sphere", "push": "cube"}
PLACES = {"onto": "disc", "into": "block with a hole", "on": "blue cube"}
DISTANCE_M = 0.1
# What is said of things in a stack, and not of a bowl.
STACKED = ("on", "under")


def text() -> str:
    """The page's tables."""
    return "\n".join([*_objects(), *_colours(), *_descriptions(), *_verbs(), *_sentences()])


def kinds_said() -> dict[str, str]:
    return {kind: _said(FIXTURES.get(kind, pick(Reference(kind)))) for kind in KINDS}


def verbs_said() -> dict[str, str]:
    return {act: _said(_clause(act)) for act in PHRASINGS}


def descriptions_said() -> dict[str, dict[str, str]]:
    """By what they are about, each word with a sentence."""
    cube, bowl = "cube", the("bowl")
    ranks = [*get_args(Superlative), *get_args(Comparative)]
    return {
        "Size": {size: _said(pick(Reference(cube, size=size))) for size in SIZES},
        "Where it is": {
            relation: _said(
                pick(Reference(cube, where=(Where(relation, the("blue cube") if relation in STACKED else bowl),)))
            )
            for relation in get_args(Spatial)
        },
        "Which of several": {
            **{rank: _said(pick(Reference(cube, rank=Rank(rank)))) for rank in ranks},
            **{
                f"{ORDINALS[n - 1]} from the {side}": _said(pick(Reference(cube, rank=Rank(side, n))))
                for side in get_args(Side)
                for n in range(1, len(ORDINALS) + 1)
            },
            **{
                measure: _said(pick(Reference(cube, rank=Rank(measure, of=the("slot") if "fits" in measure else bowl))))
                for measure in get_args(Measure)
            },
        },
        "Pattern": {
            "striped": _said(pick(Reference(cube, is_striped=True))),
            "plain": _said(pick(Reference(cube, is_striped=False))),
            "bands": _said(pick(Reference("peg", bands=("red", "white", "blue")))),
        },
        "What it is not": {
            "not a colour": _said(pick(Reference(cube, but=(Reference(colour="red"),)))),
            "not a kind": _said(pick(Reference(but=(Reference(cube),)))),
            "neither … nor": _said(pick(Reference(cube, but=(Reference(colour="red"), Reference(colour="blue"))))),
            "other than": _said(pick(Reference(cube, but=(the("red cube"),)))),
        },
    }


def sentences_said() -> dict[str, str]:
    red, blue, bowl = the("red cube"), the("blue cube"), the("bowl")
    forbidden = Clause("pick", blue, is_negated=True)
    choice = If(Exists(red), pick(red), pick(blue))
    return {
        "one thing after another": _said(pick(red), put(red, "in", bowl)),
        "not this one": _said(pick(red), forbidden),
        "by what there is": phrase(Meaning((choice,)), "train", 0).text,
        "when a lamp lights up": _said(once_lit("lamp", pick(red))),
    }


def _objects() -> Iterator[str]:
    makers: dict[str, list[str]] = {}
    for name in objects.__all__:
        made = getattr(objects, name)
        if callable(made) and (kind := _kind_of(made)):
            makers.setdefault(kind, []).append(f"`{name}`")
    yield from ("## Objects", "", "| kind | made by | also called | for example |", "|---|---|---|---|")
    for kind, example in kinds_said().items():
        yield f"| {kind} | {', '.join(makers.get(kind, []))} | {_others(kind)} | {example} |"
    yield from ("", 'A description without a kind says "object": "the red object".', "")


def _colours() -> Iterator[str]:
    yield from (
        "## Colours",
        "",
        "| colour | RGB | also called | also painted as | for example |",
        "|---|---|---|---|---|",
    )
    for colour, (red, green, blue) in PALETTE.items():
        example = _said(touch(Reference("cube", colour)))
        shades = ", ".join(SHADES.get(colour, ()))
        paint = f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"
        yield f"| {colour} | `{paint}` | {_others(colour)} | {shades} | {example} |"
    yield ""


def _descriptions() -> Iterator[str]:
    yield from ("## Relations and other descriptions", "", "Left, right, near and far are as the robot sees them.", "")
    yield from ("| about | word | for example |", "|---|---|---|")
    for about, words in descriptions_said().items():
        for word, example in words.items():
            yield f"| {about} | {word} | {example} |"
    yield ""


def _verbs() -> Iterator[str]:
    yield from (
        "## Verbs", "",
        "Each has phrasings to train with, of which the first is the example, and others that are only said when a "
        "policy is evaluated.", "",
        "| verb | for example | other words, for training | only for evaluation |", "|---|---|---|---|",
    )  # fmt: skip
    for act, example in verbs_said().items():
        meaning = Meaning((_clause(act),))
        train, test = PHRASINGS[act].train, PHRASINGS[act].test
        others = [phrase(meaning, "train", index).text for index in range(1, len(train))]
        tests = [phrase(meaning, "test", index).text for index in range(len(test))]
        yield f"| {act} | {example} | {'<br>'.join(others)} | {'<br>'.join(tests)} |"
    yield from ("", f'In place of "pick up" one also says: {_others("pick up")}.', "")


def _sentences() -> Iterator[str]:
    yield from ("## Sentences", "", "| what is said | for example |", "|---|---|")
    for about, example in sentences_said().items():
        yield f"| {about} | {example} |"


def _said(*clauses: Clause) -> str:
    return say(*clauses).text


def _clause(act: str) -> Clause:
    action, _, relation = act.partition(" ")
    target = the(TARGETS.get(action, "red cube"))
    if not relation:
        return Clause(action, target)
    if relation in ("left", "right", "forward", "back"):
        return Clause(action, target, Place(relation, distance_m=DISTANCE_M))  # type: ignore[arg-type]
    of = (the("bowl"), the("bin")) if relation == "between" else (the(PLACES.get(relation, "bowl")),)
    return Clause(action, target, Place(relation, of))  # type: ignore[arg-type]


def _others(word: str) -> str:
    everyday, rare = EVERYDAY.get(word, ()), RARE.get(word, ())
    return ", ".join([*everyday, *(f"{one} (rare)" for one in rare)])


def _kind_of(maker: object) -> str | None:
    """What a builder makes, called with as little as it takes."""
    assert callable(maker)
    needed = [one for one in inspect.signature(maker).parameters.values() if one.default is inspect.Parameter.empty]
    made = maker(*(0.02 if one.name.endswith("_m") else "red" for one in needed))
    return made.kind if isinstance(made, Thing) else None


if __name__ == "__main__":
    rewrite(PAGE, PART, text())
    print(f"Wrote {PAGE}")
