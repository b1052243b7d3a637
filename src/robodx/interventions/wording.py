"""Other words for what a situation asks for: ways to say it, and of these the one that changes the least besides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from itertools import islice, permutations

import numpy as np

from robodx.interventions.base import Levels, NotApplicable
from robodx.interventions.changing import changed, heard
from robodx.interventions.describing import in_words_of
from robodx.language.meaning import Clause, If, Instruction, Meaning
from robodx.language.phrasing import Split, phrase, phrasing_count, wordings
from robodx.language.reading import CLOSING, OPENING
from robodx.language.reference import Reference, Where, listed
from robodx.records.features import NO, WORD
from robodx.scoring.events import Dim, NewInstruction, SwitchLamp
from robodx.situations.features import features_of
from robodx.tasks.base import Situation

# What other wordings change along with what they set: the words themselves.
IN_WORDS = (f"{WORD}*", "words", "verb", "phrasing")
# Of as many ways to say it the one is taken that changes the least.
MOST_COMPARED = 6
# And of ways to do as much without setting anything.
MOST_PLACEBOS = 3
# What a word weighs beside another attribute; who says "object" leaves out what a thing is.
WORD_WEIGHT = 0.02
VAGUE, VAGUE_WEIGHT = f"{WORD}object", 1.5
# Whether the features that a situation has now, and those that it had, are as they shall be.
Fits = Callable[[Mapping[str, str], Mapping[str, str]], bool]
SPLITS: tuple[Split, ...] = ("train", "test")


def words_in(text: str) -> list[str]:
    """As the recorded attributes have them; what is filled into a template is none."""
    return re.findall(r"[a-z']+", re.sub(r"{\w+}", "", text).lower())


@dataclass(frozen=True)
class Manner:
    """How something is said, whatever it is: "Could you please grab …?"."""

    opening: str
    closing: str
    # In a phrasing of all its verbs; or by a template of its one verb.
    phrasing: tuple[Split, int] | None = None
    template: str | None = None

    def say(self, meaning: Meaning) -> Instruction:
        single = meaning.clauses[0] if len(meaning.clauses) == 1 else None
        if self.template is not None and isinstance(single, Clause) and not single.is_negated and not single.once_lit:
            core = _filled(self.template, single)
        else:
            text = phrase(meaning, *(self.phrasing or ("train", 0))).text
            core = f"{text[0].lower()}{text[1:-1]}"
        # Nobody says "could you if there is a bowl" or "please do not fail to".
        is_bare = any(isinstance(part, If) or part.is_negated or part.once_lit for part in meaning.clauses)
        text = f"{core}." if is_bare else f"{self.opening}{core}{self.closing}"
        return Instruction(f"{text[0].upper()}{text[1:]}", meaning)


PLAIN = Manner("", ".", ("train", 0))


def manner_of(instruction: Instruction) -> Manner:
    """The way it is said; of a sentence that is built otherwise, the plain way with the same verb if there is one."""
    text, meaning = instruction.text, instruction.meaning
    opening = ""
    while found := OPENING.match(text[len(opening) :].lower()):
        opening += text[len(opening) : len(opening) + found.end()]
    end = CLOSING.search(text)
    assert end is not None
    core, closing = text[len(opening) : end.start()], end[0]
    for split in SPLITS:
        for index in range(phrasing_count(meaning, split)):
            if phrase(meaning, split, index).text[:-1].lower() == core.lower():
                return Manner(opening, closing, (split, index))
    first = meaning.clauses[0]
    if isinstance(first, If):
        first = first.then
    if len(meaning.clauses) == 1 and not isinstance(meaning.clauses[0], If) and not first.is_negated:
        for template in (*first.phrasings.train, *first.phrasings.test, *first.phrasings.read):
            if _pattern(template).fullmatch(core.lower()):
                return Manner(opening, closing, template=template)
    # Of a sentence that is built otherwise the words around are not known; its verb may be.
    known = [*first.plain.phrasings.train, *first.plain.phrasings.read]
    said = [each for each in known if re.search(rf"\b{re.split(' ?{', each)[0]}\b", text.lower())]
    return replace(PLAIN, template=max(said, key=len, default=None))


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """With something that has an article where things are told: "take the cube", and not "take hold of"."""
    parts = re.split(r"({\w+})", template.lower())
    thing = r"(?:the|an?|any|one|it|whichever)\b.*"
    fields = {"{target}": thing, "{place}": thing, "{distance}": r"[\d.]+ cm"}
    return re.compile("".join(fields.get(part, re.escape(part)) for part in parts))


def _filled(template: str, clause: Clause) -> str:
    place = clause.place
    return template.format(
        target=f"the {clause.target.words}",
        place=listed([f"the {each.words}" for each in place.of]) if place and place.of else "",
        distance=f"{100 * place.distance_m:g} cm" if place and place.distance_m else "",
    )


# Meanings.


def exchanged(meaning: Meaning, new: Mapping[Reference, Reference]) -> Meaning:
    """With other descriptions in place of some, also where others are told by way of them."""

    def reference(old: Reference) -> Reference:
        if old in new:
            return new[old]
        rank = old.rank
        if not old.where and not old.but and (rank is None or rank.of is None):
            return old
        return replace(
            old,
            where=tuple(Where(where.relation, reference(where.of)) for where in old.where),
            but=tuple(reference(each) for each in old.but),
            rank=replace(rank, of=reference(rank.of)) if rank is not None and rank.of is not None else rank,
        )

    def clause(old: Clause) -> Clause:
        place = old.place and replace(old.place, of=tuple(reference(each) for each in old.place.of))
        once_lit = old.once_lit and reference(old.once_lit)
        return replace(old, target=reference(old.target), place=place, once_lit=once_lit)

    return Meaning(
        tuple(
            replace(part, then=clause(part.then), otherwise=clause(part.otherwise))
            if isinstance(part, If)
            else clause(part)
            for part in meaning.clauses
        )
    )


def redescribed(situation: Situation, old: Reference, new: Iterable[Reference]) -> Iterator[Instruction]:
    """The same instruction with each of these descriptions in place of one, said in the same way."""
    meaning = situation.instruction.meaning
    stated = [each for part in meaning.clauses for clause in _clauses(part) for each in clause.references]
    if old not in stated:
        # What is meant follows from several parts: it is said as what is to be done.
        meaning = Meaning(heard(situation).clauses)
    manner = manner_of(situation.instruction)
    for each in new:
        said = each if each.said else in_words_of(each, old)
        if said != old or said.said != old.said:
            yield manner.say(exchanged(meaning, {old: said}))


def _clauses(part: Clause | If) -> tuple[Clause, ...]:
    return (part.then, part.otherwise) if isinstance(part, If) else (part,)


def is_changing(situation: Situation) -> bool:
    """Whether things change by themselves, so that what is told by place or looks may be another later."""
    return any(not isinstance(event.effect, NewInstruction | SwitchLamp | Dim) for event in situation.events)


def refuse_if_changing(situation: Situation) -> None:
    """Refuse where another description might come to mean another thing."""
    if is_changing(situation):
        raise NotApplicable("things move or change by themselves, so that another description may mean another thing")


# Ways to say the same meaning.

OPENINGS = (
    ("", "."), ("please ", "."), ("", ", please."), ("now ", "."), ("now ", ", please."), ("can you ", "?"),
    ("you should ", "."), ("could you please ", "?"), ("I want you to ", "."), ("your task is to ", "."),
    ("I would like you to ", "."), ("now your task is to ", "."), ("now I would like you to ", "."),
    ("now I would like you to ", ", please."),
)  # fmt: skip


def rephrased(instruction: Instruction, splits: Sequence[Split] = ("train",)) -> Iterator[Instruction]:
    """In the phrasings of its verbs, opened and closed as it is; or in a task's own sentences."""
    manner = manner_of(instruction)
    own = [each for split in splits if getattr(instruction, split) for each in wordings(instruction, split)]
    yield from (each for each in own if each.text != instruction.text)
    for split in splits:
        if not getattr(instruction, split):
            for index in range(phrasing_count(instruction.meaning, split)):
                said = Manner(manner.opening, manner.closing, (split, index)).say(instruction.meaning)
                if said.text != instruction.text:
                    yield said


# What is said instead between what is done one after the other, and of what is not to be done.
JOINTS = (", then ", ", and ")
FORBIDDING = ("do not ", "never ", "don't ")


def resaid(instruction: Instruction) -> Iterator[Instruction]:
    """With other words between its clauses, for what is forbidden, or for its one verb."""
    clauses = instruction.meaning.clauses
    are_done = all(isinstance(part, Clause) and not part.is_negated for part in clauses)
    for sayings in (JOINTS, FORBIDDING):
        for now, other in permutations(sayings, 2):
            count = len(re.findall(now, instruction.text, re.IGNORECASE))
            # What is listed may be joined in the same way as what is done.
            if count and (sayings != JOINTS or (are_done and count == len(clauses) - 1)):
                text = re.sub(now, other, instruction.text, flags=re.IGNORECASE)
                yield replace(instruction, text=f"{text[0].upper()}{text[1:]}")
    first = clauses[0]
    if len(clauses) == 1 and isinstance(first, Clause) and are_done and not first.phrasings.negates:
        manner = manner_of(instruction)
        for template in first.phrasings.read:
            yield replace(manner, template=template).say(instruction.meaning)


def reopened(instruction: Instruction) -> Iterator[Instruction]:
    """With and without words of courtesy around it."""
    manner = manner_of(instruction)
    for opening, closing in OPENINGS:
        said = replace(manner, opening=opening, closing=closing).say(instruction.meaning)
        if said.text != instruction.text:
            yield said


# Which of them to take.


def told(situation: Situation, ways: Iterable[Instruction], levels: Levels, rng: np.random.Generator) -> Situation:
    """Of these ways to say it the one that has these levels and changes the least besides."""

    def fits(now: Mapping[str, str], was: Mapping[str, str]) -> bool:
        return all(now.get(attribute, NO) == level for attribute, level in levels.items())

    return least_changed(_meaning_the_same(situation, ways), situation, fits, rng)


def keeping(
    situation: Situation,
    ways: Iterable[Instruction],
    attributes: Sequence[str],
    rng: np.random.Generator,
    along: tuple[str, ...] = (f"{WORD}*", "words"),
) -> Situation:
    """A placebo: one of these ways or another opening, with which nothing changes but this; or another phrasing."""

    def only(allowed: tuple[str, ...]) -> Fits:
        return lambda now, was: all(
            name not in attributes and any(fnmatchcase(name, each) for each in allowed) for name in _changes(was, now)
        )

    said = situation.instruction
    for each, allowed in ((ways, along), (reopened(said), along), (rephrased(said), IN_WORDS)):
        try:
            return least_changed(_meaning_the_same(situation, each), situation, only(allowed), rng, MOST_PLACEBOS)
        except NotApplicable:
            continue
    raise NotApplicable("there are no other words here that would leave all else as it is")


def least_changed(
    ways: Iterable[Situation],
    situation: Situation,
    fits: Fits,
    rng: np.random.Generator,
    most: int = MOST_COMPARED,
) -> Situation:
    """Of the first situations that fit the one with the fewest changed attributes; which of equals is drawn."""
    was = features_of(situation)
    found: list[tuple[float, Situation]] = []
    for after in islice(ways, 2 * most):
        now = features_of(after)
        if fits(now, was):
            found.append((_distance(was, now), after))
        if len(found) == most:
            break
    if not found:
        raise NotApplicable("there are no other words here that would tell the same in that way")
    least = min(distance for distance, _ in found)
    best = [after for distance, after in found if distance == least]
    return best[int(rng.integers(len(best)))]


def _meaning_the_same(situation: Situation, ways: Iterable[Instruction]) -> Iterator[Situation]:
    acts = heard(situation).acts
    for said in ways:
        if said.text == situation.instruction.text:
            continue
        try:
            after = changed(situation, instruction=said)
        except NotApplicable:
            continue
        if heard(after).acts == acts:
            yield after


def _distance(was: Mapping[str, str], now: Mapping[str, str]) -> float:
    changes = _changes(was, now)
    vague = VAGUE_WEIGHT if VAGUE in changes and VAGUE in now else 0.0
    return vague + sum(WORD_WEIGHT if name.startswith(WORD) else 1.0 for name in changes)


def _changes(was: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return [name for name in {**was, **now} if was.get(name) != now.get(name)]
