"""Reads a text back into what it means: the inverse of the training phrasings, and of some everyday words besides.

It knows the training phrasings of every verb and the sentences of `phrasing.py` as they stand there, whatever
`Reference.words` says, and everyday synonyms. It does not know the test phrasings, rarer words, or sentences built
otherwise: those it refuses, and takes none wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar, get_args

from robodx.language.lexicon import EVERYDAY, KINDS, NUMBERS, ORDINALS, SIZES, plural_kind
from robodx.language.meaning import Clause, Exists, If, Meaning, Place, Relation
from robodx.language.phrasing import CHOICES, SIGNALS
from robodx.language.reference import (
    AFTER,
    FROM_YOU,
    Comparative,
    Measure,
    Rank,
    Reference,
    Side,
    Spatial,
    Superlative,
    Where,
)
from robodx.language.verbs import PHRASINGS
from robodx.sim.colours import PALETTE

T = TypeVar("T")
# A template's fields, and the words that fill them.
Fields = dict[str, str]


class NotUnderstood(ValueError):
    """A text, or a part of it, that cannot be read, or can be read in two ways."""


def read(text: str) -> Meaning:
    """What a text means."""
    words = CLOSING.sub("", _spelt(text))
    while (bare := OPENING.sub("", words)) != words:
        words = bare
    try:
        return Meaning(_without_pronouns(_parts(words)))
    except NotUnderstood as error:
        raise NotUnderstood(f"Cannot read {error}.") from None


def read_reference(text: str) -> Reference:
    """What a description means, with or without its article."""
    return _thing(_spelt(text))


def _spelt(text: str) -> str:
    return " ".join(text.lower().replace("don't", "do not").replace("isn't", "is not").split())


OPENING = re.compile(
    r"^(?:please|now|you should|your task is to|(?:can|could|would|will) you|i (?:want|would like) you to),? "
)
CLOSING = re.compile(r"(?:,? please)?[.?!]*$")


# Sentences.


def _parts(text: str) -> tuple[Clause | If, ...]:
    """The whole as one thing to do, or what stands before a joint and what comes after it."""
    joints = re.finditer(r", (?:then|and|but) ", text)
    ways = (partial(_sequence, text[: joint.start()], text[joint.end() :]) for joint in joints)
    return _only(text, [partial(_single, text), *ways])


# What "it" stands for is known when what comes before is.
_IT = Reference(said="it")


def _without_pronouns(parts: tuple[Clause | If, ...]) -> tuple[Clause | If, ...]:
    """With the target of the clause before in the place of "it"."""
    known: list[Clause | If] = []
    for part in parts:
        if any(clause.target is _IT for clause in ((part.then, part.otherwise) if isinstance(part, If) else (part,))):
            if isinstance(part, If) or not known or isinstance(known[-1], If):
                raise NotUnderstood('what "it" is')
            target = known[-1].target
            part = replace(part, target=target, once_lit=target if part.once_lit is _IT else part.once_lit)
        known.append(part)
    return tuple(known)


def _single(text: str) -> tuple[Clause | If, ...]:
    ways: list[Callable[[], Clause | If]] = [partial(_clause, text)]
    ways += [partial(_choice, found) for template in CHOICES["train"] for found in _matches(template, text)]
    return (_only(text, ways),)


def _sequence(before: str, after: str) -> tuple[Clause | If, ...]:
    return (*_single(before), *_parts(after))


def _choice(found: Fields) -> If:
    fact = found.get("fact") or f"is {found['bare_fact']}"
    return If(_fact(fact), _clause(found["then"]), _clause(found["otherwise"]))


def _clause(text: str) -> Clause:
    if found := re.match(r"(?:do not|never) ", text):
        return _negated(_clause(text[found.end() :]))
    if found := re.match(r"(\w+(?: up)?) no (.*)", text):
        return _negated(_clause(f"{found[1]} any {found[2]}"))
    if found := re.fullmatch(r"(.*) with your ([a-z]+) hand", text):
        return replace(_clause(found[1]), hand=found[2])
    ways = [partial(_signalled, fields) for template in SIGNALS["train"] for fields in _matches(template, text)]
    ways += [
        partial(_done, act, fields)
        for act in PHRASINGS
        for template in (*PHRASINGS[act].train, *PHRASINGS[act].read)
        for fields in _matches(template, text)
    ]
    return _only(text, ways)


def _negated(clause: Clause) -> Clause:
    if clause.is_negated:
        raise NotUnderstood(f'two negations of "{clause.action}"')
    return replace(clause, is_negated=True)


def _signalled(found: Fields) -> Clause:
    clause = _clause(found["clause"])
    return replace(clause, once_lit=clause.target if found["lamp"] == "its lamp" else _thing(found["lamp"]))


def _done(act: str, found: Fields) -> Clause:
    action, _, relation = act.partition(" ")
    place = _place(relation, found) if relation else None  # type: ignore[arg-type]
    return Clause(action, _IT if found["target"] == "it" else _thing(found["target"]), place)


def _place(relation: Relation, found: Fields) -> Place:
    if "distance" not in found:
        return Place(relation, _things(found["place"]))
    distance = re.fullmatch(r"(\d+(?:\.\d+)?) cm", found["distance"])
    if distance is None:
        raise NotUnderstood(f'"{found["distance"]}" as a distance')
    return Place(relation, distance_m=float(distance[1]) / 100)


def _fact(text: str) -> Exists:
    """What stands after "there": "is a red cube", "are at least two cubes", "is no sphere"."""
    found = re.fullmatch(r"(?:is|are) (?:(an?|no)|(exactly|at least|at most) (\w+)) (.*)", text)
    if found is None:
        raise NotUnderstood(f'"there {text}"')
    article, bound, number, words = found.groups()
    if article:
        return Exists(_described(words), 0, 0) if article == "no" else Exists(_described(words))
    if number not in NUMBERS:
        raise NotUnderstood(f'"{number}" as a number')
    count = NUMBERS.index(number)
    return Exists(_described(words), count if bound != "at most" else 0, count if bound != "at least" else None)


def _matches(template: str, text: str) -> Iterator[Fields]:
    """All ways in which a text can fill a template's fields."""
    names, literals = re.findall(r"\{(\w+)\}", template), re.split(r"\{\w+\}", template)

    def fill(at: int, index: int) -> Iterator[Fields]:
        if index == len(names):
            if at == len(text):
                yield {}
            return
        literal = literals[index + 1]
        ends = [hit.start() for hit in re.finditer(re.escape(literal), text)] if literal else [len(text)]
        for end in ends:
            if end > at:
                for rest in fill(end + len(literal), index + 1):
                    yield {names[index]: text[at:end]} | rest

    if text.startswith(literals[0]):
        yield from fill(len(literals[0]), 0)


def _only(text: str, ways: Iterable[Callable[[], T]]) -> T:
    """The one reading there is; where there is none, the shortest reason is the nearest to what is not known."""
    readings: list[T] = []
    reasons: list[str] = []
    for way in ways:
        try:
            reading = way()
        except ValueError as error:
            # Not understood, or nothing that can be meant: "between" one thing, "the second middle cube".
            reasons.append(str(error))
        else:
            readings += [reading] if reading not in readings else []
    if len(readings) > 1:
        raise NotUnderstood(f'"{text}" in one way: there are {len(readings)}')
    if not readings:
        raise NotUnderstood(min(reasons, key=len, default=f'"{text}"'))
    return readings[0]


# Descriptions.


class _Word(NamedTuple):
    """A word of a description, and which field of a reference it fills with what."""

    field: str
    value: Any


def _vocabulary() -> dict[str, _Word]:
    words = {word: _Word("kind", None) for word in ("object", "one", "anything")}
    for field, values in (("kind", KINDS), ("colour", tuple(PALETTE)), ("size", SIZES)):
        for value in values:
            for word in (value, *EVERYDAY.get(value, ())):
                words[word.lower()] = _Word(field, value)
                if field == "kind":
                    words[plural_kind(word).lower()] = _Word(field, value)
    words |= {"striped": _Word("is_striped", True), "plain": _Word("is_striped", False)}
    for value in (*get_args(Superlative), *get_args(Comparative)):
        words[value] = _Word("rank", Rank(value))
    # A number among several goes with the side that is named later.
    words |= {ordinal: _Word("n", n) for n, ordinal in enumerate(ORDINALS, start=1)}
    return words | {"last": _Word("n", -1), "next to last": _Word("n", -2)}


_WORDS = _vocabulary()


def _any_of(words: Iterable[str]) -> str:
    """A pattern for any of these; the longest first, for some begin like others."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def _of_field(*fields: str) -> str:
    return _any_of(word for word, (field, _) in _WORDS.items() if field in fields)


_WORD = re.compile(rf"({_any_of(_WORDS)})(?=[ ,]|$)")
_DETERMINER = re.compile(rf"^(?:the|any|an|a|every) (?:only )?(?:one (?=(?:{_of_field('kind')})\b))?")
_COLOUR, _OWN = _of_field("colour"), _of_field("colour", "size", "is_striped")
_PLAIN = rf"(?:{_COLOUR}|an? (?:{_of_field('kind')}))"
_NTH, _SIDE = _of_field("n"), _any_of(get_args(Side))
_OPPOSITE = {"left": "right", "right": "left"}
_RELATIONS = {
    said: relation
    for relation in (*get_args(Spatial), *get_args(Measure))
    for said in (relation, AFTER.get(relation, relation))
} | {"to the left of": "left of", "to the right of": "right of"}
_FROM_YOU = {said: by for by, said in FROM_YOU.items()}
_RELATED = re.compile(rf"(?:that is )?(?:({_NTH}) )?({_any_of(_RELATIONS)}) (the .*)")
_OTHER_THAN = re.compile(r"(?:other than|except|apart from|but) (.*)")


def _thing(text: str) -> Reference:
    """With or without its article."""
    return _described(_DETERMINER.sub("", text, count=1))


def _things(text: str) -> tuple[Reference, ...]:
    """ "the red cube", "the red cube, the green one and the blue one"."""
    joints = re.finditer(r"(?:,| and| or) (?=the )", text)
    ways = (partial(_several, text[: joint.start()], text[joint.end() :]) for joint in joints)
    return _only(text, [lambda: (_thing(text),), *ways])


def _several(before: str, after: str) -> tuple[Reference, ...]:
    return (_thing(before), *_things(after))


def _described(text: str) -> Reference:
    """Without its article: words before, what it is, and what is said of it after that."""
    fields: dict[str, Any] = {}
    rest = text
    while "kind" not in fields:
        found = _WORD.match(rest)
        if found is None or _WORDS[found[1]].field in fields:
            raise NotUnderstood(f'"{rest.split(" ")[0] or text}"')
        field, fields[field] = _WORDS[found[1]]
        rest = rest[found.end() :].lstrip(" ")
    n = fields.pop("n", None)
    if n is not None and "rank" in fields:
        fields["rank"], n = replace(fields["rank"], n=_from_first(n)), None
    return _specified(Reference(**fields), n, rest)


def _specified(reference: Reference, n: int | None, rest: str) -> Reference:
    """The reference with what is said after its kind; `n` is the ordinal before it, which must come to be used."""
    if not rest:
        if n is not None:
            raise NotUnderstood(f'which "{reference.words}"')
        return reference
    if found := _FROM_SIDE.match(rest):
        return _specified(_from_side(reference, n, found), None, rest[found.end() :].lstrip(" "))
    for pattern, specify in _SHORT:
        if found := pattern.match(rest):
            return _specified(specify(reference, found), n, rest[found.end() :].lstrip(" "))

    # What follows "and" is said of this thing; without it, of the thing named last.
    ends = [(len(rest), len(rest)), *(found.span() for found in re.finditer(" and ", rest))]
    return _only(rest, [partial(_specified_by, reference, n, rest[:end], rest[start:]) for end, start in ends])


def _specified_by(reference: Reference, n: int | None, phrase: str, rest: str) -> Reference:
    return _specified(*_related(reference, n, phrase), rest)


def _related(reference: Reference, n: int | None, text: str) -> tuple[Reference, int | None]:
    """Said by way of other things: "closest to the bowl", "other than the red cube"; and an ordinal not used for it."""
    if found := _RELATED.fullmatch(text):
        nth, relation, anchor = found[1], _RELATIONS[found[2]], _thing(found[3])
        if nth and (n is not None or relation not in get_args(Measure)):
            raise NotUnderstood(f'"{nth} {found[2]}"')
        if relation in get_args(Measure):
            number = _WORDS[nth].value if nth else n or 1
            return _with(reference, rank=Rank(relation, _from_first(number), anchor)), None
        return replace(reference, where=(*reference.where, Where(relation, anchor))), n
    if found := _OTHER_THAN.fullmatch(text):
        return _with(reference, but=_things(found[1])), n
    raise NotUnderstood(f'"{text}"')


def _from_first(n: int) -> int:
    if n < 0:
        raise NotUnderstood("which one is last")
    return n


def _with(reference: Reference, **fields: Any) -> Reference:
    for field in fields:
        if getattr(reference, field) not in (None, ()):
            raise NotUnderstood(f'two of {field} for "{reference.words}"')
    return replace(reference, **fields)


def _from_side(reference: Reference, n: int | None, found: re.Match[str]) -> Reference:
    side = found[1]
    if n is None:
        raise NotUnderstood(f'which "{found[0]}"')
    return _with(reference, rank=Rank(side, n) if n > 0 else Rank(_OPPOSITE[side], -n))  # type: ignore[arg-type]


def _numbered(reference: Reference, found: re.Match[str]) -> Reference:
    if found[1] not in NUMBERS[1:]:
        raise NotUnderstood(f'"{found[1]}" as a number')
    return _with(reference, rank=Rank(found[2], NUMBERS.index(found[1])))  # type: ignore[arg-type]


def _from_you(reference: Reference, found: re.Match[str]) -> Reference:
    nth = _WORDS[found[1]].value if found[1] else 1
    return _with(reference, rank=Rank(_FROM_YOU[found[2]], _from_first(nth)))  # type: ignore[arg-type]


def _of_you(reference: Reference, found: re.Match[str]) -> Reference:
    """ "The nearest cube to you"."""
    if reference.rank is None or reference.rank.by not in ("nearest", "farthest"):
        raise NotUnderstood(f'"{found[0]}"')
    return reference


def _own(reference: Reference, found: re.Match[str]) -> Reference:
    for word in filter(None, found.groups()):
        reference = _with(reference, **{_WORDS[word].field: _WORDS[word].value})
    return reference


def _without(reference: Reference, found: re.Match[str]) -> Reference:
    words = (_WORDS[word] for word in re.findall(rf"\b(?:{_of_field('colour', 'kind')})\b", found[1]))
    return _with(reference, but=tuple(Reference(**{word.field: word.value}) for word in words))


def _banded(reference: Reference, found: re.Match[str]) -> Reference:
    words = re.findall(rf"\b(?:{_COLOUR})\b", found[1])
    return _with(reference, bands=tuple(_WORDS[word].value for word in words))


# What is said after the kind without another thing, and what it adds; of these only the side takes an ordinal.
_FROM_SIDE = re.compile(rf"from (?:the|your) ({_SIDE})(?= |$)")
_SHORT: tuple[tuple[re.Pattern[str], Callable[[Reference, re.Match[str]], Reference]], ...] = tuple(
    (re.compile(rf"{pattern}(?= |$)"), specify)
    for pattern, specify in (
        (rf"number (\w+) counted from (?:the|your) ({_SIDE})", _numbered),
        (rf"(?:that is )?(?:({_NTH}) )?({_any_of(_FROM_YOU)})", _from_you),
        (r"(?:to|from) you", _of_you),
        (r"that differs in size", lambda reference, found: _with(reference, rank=Rank("odd"))),
        (rf"with ((?:{_COLOUR})(?:(?:, | and )(?:{_COLOUR}))*) bands in that order", _banded),
        (
            rf"(?:that is (?:not|neither)|, but no) ({_PLAIN}(?:(?:,? and not| or| nor) {_PLAIN})*)(?: either| one)?",
            _without,
        ),
        (rf"that is (?:both )?({_OWN})(?: (?:and|as well as) ({_OWN}))?", _own),
    )
)
