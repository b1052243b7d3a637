"""Words that follow looks: what described a thing before describes it after, in the same sort of sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from robodx.interventions.base import NotApplicable
from robodx.language.lexicon import EVERYDAY, RARE, article, plural_kind
from robodx.language.meaning import Clause, If, Instruction, Meaning
from robodx.language.phrasing import phrase, phrasing_count
from robodx.language.reference import Reference, Seen, Unresolved, candidates

Rewrite = Callable[[Reference], Reference]


@dataclass(frozen=True)
class NewLook:
    """That a thing is of another colour, kind or pattern than it was, as words for it say."""

    thing: str
    field: Literal["colour", "kind", "is_striped"]
    was: str | bool
    now: str | bool

    @property
    def words(self) -> tuple[str, str]:
        """Before and after."""
        return _word(self.was), _word(self.now)

    def of(self, reference: Reference) -> Reference:
        """What names the old look names the new one."""
        if getattr(reference, self.field) != self.was:
            return reference
        said = None if reference.said is None else _exchanged(reference.said, [self])
        return replace(reference, said=said, **{self.field: self.now})  # type: ignore[arg-type]


def _word(level: str | bool) -> str:
    return level if isinstance(level, str) else "striped" if level else "plain"


def redescribed(instruction: Instruction, seen: Seen, looks: Sequence[NewLook]) -> Instruction:
    """With the new looks in every description that fits one of the things as it was seen before."""

    def followed(reference: Reference) -> Reference:
        names = _fitting(reference, seen)
        inner = _inside(reference, followed)
        return next((new for look in looks if look.thing in names if (new := look.of(inner)) != inner), inner)

    def everywhere(reference: Reference) -> Reference:
        inner = _inside(reference, everywhere)
        return next((new for look in looks if (new := look.of(inner)) != inner), inner)

    meaning = _rewritten(instruction.meaning, followed)
    if meaning == instruction.meaning:
        return instruction
    for split, index in _phrasings(instruction.meaning):
        if phrase(instruction.meaning, split, index).text == instruction.text:
            return phrase(meaning, split, index)
    # A sentence of the task's own: word by word, which is right if each of the words is meant to follow.
    if _rewritten(instruction.meaning, everywhere) != meaning:
        raise NotApplicable("the sentence cannot be put so that its words still fit")
    text, *others = (_exchanged(each, looks) for each in (instruction.text, *instruction.train, *instruction.test))
    train = len(instruction.train)
    return Instruction(text, meaning, tuple(others[:train]), tuple(others[train:]))


def described(meaning: Meaning, seen: Seen) -> list[tuple[str, ...]]:
    """Which things fit each description in the words, also those of what something is told by, or is not."""
    found: list[tuple[str, ...]] = []

    def note(reference: Reference) -> Reference:
        found.append(_fitting(reference, seen))
        return _inside(reference, note)

    _rewritten(meaning, note)
    return found


def _fitting(reference: Reference, seen: Seen) -> tuple[str, ...]:
    try:
        return tuple(candidates(reference, seen))
    except Unresolved:
        return ()


def _rewritten(meaning: Meaning, change: Rewrite) -> Meaning:
    def clause(part: Clause) -> Clause:
        place = part.place and replace(part.place, of=tuple(change(reference) for reference in part.place.of))
        return replace(part, target=change(part.target), place=place, once_lit=part.once_lit and change(part.once_lit))

    def either(part: If) -> If:
        fact = replace(part.fact, reference=change(part.fact.reference))
        return If(fact, clause(part.then), clause(part.otherwise))

    return Meaning(tuple(either(part) if isinstance(part, If) else clause(part) for part in meaning.clauses))


def _inside(reference: Reference, change: Rewrite) -> Reference:
    rank = reference.rank
    return replace(
        reference,
        where=tuple(replace(where, of=change(where.of)) for where in reference.where),
        but=tuple(change(other) for other in reference.but),
        rank=rank if rank is None or rank.of is None else replace(rank, of=change(rank.of)),
    )


def _phrasings(meaning: Meaning) -> Iterator[tuple[Literal["train", "test"], int]]:
    splits: tuple[Literal["train", "test"], ...] = ("train", "test")
    return ((split, index) for split in splits for index in range(phrasing_count(meaning, split)))


def _exchanged(text: str, looks: Sequence[NewLook]) -> str:
    """With other words for the looks, all at once; a rare word for a rare one, where there is one."""
    words: dict[str, str] = {}
    for look in looks:
        was, now = look.words
        words |= {was: now} | _synonyms(EVERYDAY, was, now) | _synonyms(RARE, was, now)
        if look.field == "kind":
            words |= {plural_kind(old): plural_kind(new) for old, new in list(words.items())}
    longest_first = sorted(words, key=len, reverse=True)
    pattern = rf"(?:\b(an?) )?(?<![\w-])({'|'.join(map(re.escape, longest_first))})(?![\w-])"

    def other(match: re.Match[str]) -> str:
        new = words[match[2]]
        return f"{article(new)} {new}" if match[1] else new

    return re.sub(pattern, other, text)


def _synonyms(words: Mapping[str, tuple[str, ...]], was: str, now: str) -> dict[str, str]:
    new = words.get(now) or EVERYDAY.get(now) or (now,)
    return {old: new[place % len(new)] for place, old in enumerate(words.get(was, ()))}
