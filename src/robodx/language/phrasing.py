"""Says a meaning in words: a canonical sentence, and other phrasings of it for training and for testing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from robodx.language.lexicon import NUMBERS, article, plural_kind
from robodx.language.meaning import Action, Clause, Exists, If, Instruction, Meaning, Relation
from robodx.language.reference import Reference, listed

Split = Literal["train", "test"]


@dataclass(frozen=True)
class Phrasings:
    """Templates over {target}, {place} and {distance}; the first of `train` is the canonical one."""

    train: tuple[str, ...]
    test: tuple[str, ...]


# By action and relation. No two of a row share both their main verb and their clause order.
PHRASINGS: dict[tuple[Action, Relation | None], Phrasings] = {
    ("pick", None): Phrasings(
        ("pick up {target}", "lift {target}", "grab and raise {target}"),
        ("scoop up {target}", "hoist {target} into the air", "get a hold of and lift {target}"),
    ),
    ("put", "in"): Phrasings(
        ("put {target} in {place}", "place {target} inside {place}", "drop {target} into {place}"),
        ("into {place}, set {target}", "transfer {target} to {place}", "move {target} so that it rests in {place}"),
    ),
    ("put", "on"): Phrasings(
        ("put {target} on top of {place}", "stack {target} on {place}", "set {target} down onto {place}"),
        ("on top of {place}, place {target}", "rest {target} upon {place}", "move {target} onto {place}"),
    ),
    ("put", "beside"): Phrasings(
        ("put {target} right beside {place}", "place {target} directly next to {place}", "set {target} by {place}"),
        ("directly beside {place}, lay {target}", "move {target} right up to {place}", "bring {target} beside {place}"),
    ),
    ("push", "onto"): Phrasings(
        ("push {target} onto {place}", "slide {target} over to {place}", "shove {target} into the area of {place}"),
        ("onto {place}, nudge {target}", "move {target} along the table to {place}",
         "bring {target} onto {place} by pushing"),
    ),
    ("insert", "into"): Phrasings(
        ("insert {target} into {place}", "push {target} all the way into {place}", "fit {target} in {place}"),
        ("into {place}, slide {target}", "plug {target} into {place}", "drive {target} home in {place}"),
    ),
    ("press", None): Phrasings(
        ("press {target}", "push {target} down", "hit {target}"),
        ("depress {target}", "give {target} a push", "activate {target} by pressing it"),
    ),
    ("touch", None): Phrasings(
        ("touch {target}", "tap {target}", "make contact with {target}"),
        ("bring your fingers to {target}", "put a finger on {target}", "reach out and contact {target}"),
    ),
    ("put", "between"): Phrasings(
        ("put {target} midway between {place}", "place {target} in the middle of the gap between {place}",
         "set {target} halfway between {place}"),
        ("midway between {place}, lay {target}", "move {target} to the midpoint of {place}",
         "centre {target} between {place}"),
    ),
    ("put", "left of"): Phrasings(
        ("put {target} to the left of {place}", "place {target} just left of {place}",
         "set {target} left of {place}"),
        ("left of {place}, lay {target}", "move {target} until it is just left of {place}",
         "bring {target} left of {place}"),
    ),
    ("put", "right of"): Phrasings(
        ("put {target} to the right of {place}", "place {target} just right of {place}",
         "set {target} right of {place}"),
        ("right of {place}, lay {target}", "move {target} until it is just right of {place}",
         "bring {target} right of {place}"),
    ),
    ("put", "in front of"): Phrasings(
        ("put {target} in front of {place}", "place {target} just in front of {place}",
         "set {target} on your side of {place}"),
        ("in front of {place}, lay {target}", "move {target} until it is just in front of {place}",
         "bring {target} to the near side of {place}"),
    ),
    ("put", "behind"): Phrasings(
        ("put {target} behind {place}", "place {target} just behind {place}", "set {target} beyond {place}"),
        ("behind {place}, lay {target}", "move {target} until it is just behind {place}",
         "bring {target} to the far side of {place}"),
    ),
    ("move", "left"): Phrasings(
        ("move {target} {distance} to the left", "shift {target} left by {distance}",
         "displace {target} {distance} leftwards"),
        ("to the left by {distance}, slide {target}", "transfer {target} {distance} to your left",
         "bring {target} {distance} further left"),
    ),
    ("move", "right"): Phrasings(
        ("move {target} {distance} to the right", "shift {target} right by {distance}",
         "displace {target} {distance} rightwards"),
        ("to the right by {distance}, slide {target}", "transfer {target} {distance} to your right",
         "bring {target} {distance} further right"),
    ),
    ("move", "forward"): Phrasings(
        ("move {target} {distance} forward", "shift {target} {distance} away from you",
         "displace {target} forwards by {distance}"),
        ("forward by {distance}, slide {target}", "transfer {target} {distance} ahead",
         "bring {target} {distance} further away"),
    ),
    ("move", "back"): Phrasings(
        ("move {target} {distance} back", "shift {target} {distance} towards you",
         "displace {target} backwards by {distance}"),
        ("back by {distance}, slide {target}", "transfer {target} {distance} backwards",
         "bring {target} {distance} nearer"),
    ),
    ("roll", "onto"): Phrasings(
        ("roll {target} onto {place}", "send {target} rolling to {place}", "make {target} roll over to {place}"),
        ("onto {place}, set {target} rolling", "give {target} a push so that it rolls to {place}",
         "get {target} to stop on {place}"),
    ),
    ("stand", None): Phrasings(
        ("stand {target} upright", "set {target} on its end", "raise {target} until it stands"),
        ("turn {target} upright", "place {target} vertically on the table", "bring {target} into a standing position"),
    ),
    ("release", None): Phrasings(
        ("release {target}", "let go of {target}", "loosen your grip on {target}"),
        ("drop {target}", "open your hand to free {target}", "stop holding {target}"),
    ),
    ("leave", None): Phrasings(
        # Each of them asks for the thing when it is negated.
        ("leave {target} where it is", "let {target} stay where it is", "refrain from picking up {target}"),
        ("abstain from taking {target}", "decline to lift {target}", "avoid grasping {target}"),
    ),
}  # fmt: skip

# Around a clause that waits for a lamp, and around a choice; in each split's first, second and third phrasing.
SIGNALS = {
    "train": (
        "when {lamp} lights up, {clause}",
        "{clause} as soon as {lamp} lights up",
        "wait for {lamp} to light, then {clause}",
    ),
    "test": (
        "once {lamp} is on, {clause}",
        "{clause}, but only after {lamp} comes on",
        "hold until {lamp} shines, then {clause}",
    ),
}
CHOICES = {
    "train": (
        "if there {fact}, {then}; otherwise, {otherwise}",
        "{then} if there {fact}, else {otherwise}",
        "should there be {bare_fact}, {then}; if not, {otherwise}",
    ),
    "test": (
        "in case there {fact}, {then}, and if there {negated_fact}, {otherwise}",
        "{otherwise} unless there {fact}, in which case {then}",
        "check whether there {fact}: if so, {then}; if not, {otherwise}",
    ),
}


def say(*clauses: Clause) -> Instruction:
    """The canonical instruction for these clauses, done in order."""
    return phrase(Meaning(clauses), "train", 0)


def phrase(meaning: Meaning, split: Split, index: int) -> Instruction:
    """The same meaning in the split's `index`-th phrasing, counted around."""
    forbidden = [part for part in meaning.clauses if isinstance(part, Clause) and part.is_negated]
    text = _say_part(meaning.clauses[0], split, index, forbidden)
    for before, part in pairwise(meaning.clauses):
        text += f", {_joint(before, part)} {_say_part(part, split, index, forbidden)}"
    return Instruction(f"{text[0].upper()}{text[1:]}.", meaning)


def phrasing_count(meaning: Meaning, split: Split) -> int:
    clauses = [clause for part in meaning.clauses for clause in _clauses(part)]
    return min(len(getattr(_phrasings(clause), split)) for clause in clauses)


def _joint(before: Clause | If, part: Clause | If) -> str:
    """Things to do follow each other; what is not to be done goes beside what is."""
    is_negated, was_negated = (isinstance(each, Clause) and each.is_negated for each in (part, before))
    return "then" if not (is_negated or was_negated) else "and" if is_negated == was_negated else "but"


def _clauses(part: Clause | If) -> tuple[Clause, ...]:
    return (part.then, part.otherwise) if isinstance(part, If) else (part,)


def _phrasings(clause: Clause) -> Phrasings:
    return PHRASINGS[clause.action, clause.place.relation if clause.place else None]


def _say_part(part: Clause | If, split: Split, index: int, forbidden: Sequence[Clause]) -> str:
    if not isinstance(part, If):
        return _say_clause(part, split, index, forbidden)
    return CHOICES[split][index % len(CHOICES[split])].format(
        then=_say_clause(part.then, split, index, forbidden),
        otherwise=_say_clause(part.otherwise, split, index, forbidden),
        fact=say_fact(part.fact),
        negated_fact=_say_negated(part.fact),
        bare_fact=say_fact(part.fact).partition(" ")[2],
    )


def _say_clause(clause: Clause, split: Split, index: int, forbidden: Sequence[Clause]) -> str:
    templates: tuple[str, ...] = getattr(_phrasings(clause), split)
    template = templates[index % len(templates)]
    if clause.is_negated:
        # Before the verb, which follows the comma where the place is named first.
        front, comma, main = template.rpartition(", ")
        template = f"{front}{comma}do not {main}"
    place = clause.place
    text = template.format(
        target=f"{_determiner(clause, forbidden)} {clause.target.words}",
        place=_the(place.of) if place and place.of else "",
        distance=f"{100 * place.distance_m:g} cm" if place and place.distance_m else "",
    )
    if clause.once_lit is None:
        return text
    return SIGNALS[split][index % len(SIGNALS[split])].format(lamp=f"the {clause.once_lit.words}", clause=text)


def _determiner(clause: Clause, forbidden: Sequence[Clause]) -> str:
    """Of what is not so-and-so there may be several; and who forbids such ones of a kind asks for one of that kind."""
    target = clause.target
    if clause.is_negated:
        return "any" if target.but else "the"
    of_its_kind = (no for no in forbidden if (no.action, no.target.kind) == (clause.action, target.kind))
    is_one_of_several = target.rank is None and any(no.target.but for no in of_its_kind)
    return article(target.words) if is_one_of_several else "the"


def say_fact(fact: Exists) -> str:
    """What follows "there": "is a red cube", "are at least two cubes", "are exactly three cubes"."""
    words = fact.reference.words
    if fact.at_most == 0:
        return f"is no {words}"
    if (fact.at_least, fact.at_most) == (1, None):
        return f"is {article(words)} {words}"
    if fact.at_most is None or fact.at_least == fact.at_most:
        bound, count = "exactly" if fact.at_most else "at least", fact.at_least
    elif fact.at_least == 0:
        bound, count = "at most", fact.at_most
    else:
        raise ValueError(f"there are no words for between {fact.at_least} and {fact.at_most} of something")
    return f"is {bound} one {words}" if count == 1 else f"are {bound} {NUMBERS[count]} {plural(fact.reference)}"


def _say_negated(fact: Exists) -> str:
    words = fact.reference.words
    if fact.at_most == 0:
        return f"is {article(words)} {words}"
    if (fact.at_least, fact.at_most) == (1, None):
        return f"is no {words}"
    verb, _, rest = say_fact(fact).partition(" ")
    return f"{verb} not {rest}"


def plural(reference: Reference) -> str:
    kind = reference.kind or "object"
    return reference.words.replace(kind, plural_kind(kind), 1)


def _the(references: tuple[Reference, ...]) -> str:
    return listed([f"the {reference.words}" for reference in references])
