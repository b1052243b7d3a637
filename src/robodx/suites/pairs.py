"""Pairs of trials that differ in one factor and its placebo, on fresh situations that are drawn by a condition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from robodx.analysis.findings.conditions import Condition, Features
from robodx.interventions.base import INTERVENTIONS, PLACEBO, NotApplicable, intervened
from robodx.records.design import Planned
from robodx.records.features import WORD
from robodx.records.trial import Trial
from robodx.situations.features import STANDING, features_of
from robodx.tasks.base import TASKS, Situation

SUITE = "diagnosis"
Effect = Literal["undo", "put in"]
# Fresh situations that are looked through for a condition, of each task and of the factorial.
PER_TASK = 3
GENERATED = "generated/factorial"
MOST_GENERATED = 400
# Ways to change a factor that are compared in a situation, and that are tried to find these.
WAYS = 6
MOST_TRIED = 24
MOTOR = "motor/"


class Fresh(NamedTuple):
    """A situation that was not screened."""

    task: str
    seed: int
    situation: Situation
    features: Features


@dataclass(frozen=True)
class Pair:
    """One situation twice: with a factor changed, and with its placebo; of stress, without it."""

    condition: Condition
    effect: Effect
    number: int
    source: Trial
    treated: Trial
    placebo: Trial
    intervention: str
    value: str
    # What else holds in all situations of its test.
    given: Condition | None = None
    # Known causes that do not hold there.
    without: tuple[Condition, ...] = ()

    def planned(self, tests: float, turn: int, first_seed: int) -> Iterator[Planned]:
        """Both, with what they are for; `tests` is how many were to be decided in this turn, fixed before the first.

        The first seed tells the diagnoses of a policy apart.
        """
        given = () if self.given is None else (("given", self.given.name),)
        name = self.condition.name if self.given is None else f"{self.condition.name} given {self.given.name}"
        for arm, trial in (("treated", self.treated), ("placebo", self.placebo)):
            yield Planned(
                trial,
                "intervened",
                self.source,
                factors=(
                    ("condition", self.condition.name), ("effect", self.effect), ("arm", arm),
                    ("pair", float(self.number)), ("intervention", self.intervention), ("value", self.value),
                    ("tests", tests), ("turn", float(turn)), ("first seed", float(first_seed)), *given,
                ),
                level=f"{name} · {self.effect} · {turn} · {self.number} · {arm}",
                suite=SUITE,
            )  # fmt: skip


def can_change(condition: Condition) -> bool:
    """Whether there is any intervention on what the condition is about."""
    return bool(_ways(condition, "undo") or _ways(condition, "put in"))


def can_undo(condition: Condition) -> bool:
    return bool(_ways(condition, "undo"))


@lru_cache(maxsize=4096)
def _ways(condition: Condition, effect: Effect) -> tuple[tuple[str, str], ...]:
    """Interventions and values that set its attribute to what it asks for, or to something else.

    Where none does, those that change it along with what they set; what comes of it is seen when it is done.
    """
    wants = effect == "put in"
    if (condition.requirement or "").startswith(MOTOR):
        # That an act is required is changed by asking for another.
        return _ways(Condition("act", ((condition.requirement or "").removeprefix(MOTOR),)), effect)
    entries = [entry for entry in INTERVENTIONS.entries() if entry.is_comparable]
    found = [
        (entry.name, value)
        for entry in entries
        for value, levels in entry.values.items()
        for attribute, level in levels.items()
        if (attribute == condition.attribute or attribute.startswith(f"{condition.attribute}/"))
        and (level in condition.levels) == wants
    ]
    entailing = [entry for entry in entries if condition.attribute in entry.entails]
    # What sets nothing is for those who compare more than success.
    along = [(entry.name, value) for entry in entailing for value, levels in entry.values.items() if levels]
    return tuple(dict.fromkeys(found or along))


@lru_cache(maxsize=2048)
def _laid_out(task: str, seed: int) -> Fresh:
    situation = TASKS[task].placed(seed)
    return Fresh(task, seed, situation, features_of(situation, TASKS[task].varies, STANDING))


def fresh_situations(tasks: Sequence[str], first_seed: int) -> Iterator[Fresh]:
    """Of the factorial and of each other task in turn, from a seed on; laid out once for all conditions."""
    others = [task for task in tasks if task != GENERATED]
    spread = [(task, first_seed + turn) for turn in range(PER_TASK) for task in others]
    generated = [(GENERATED, first_seed + turn) for turn in range(MOST_GENERATED)] if GENERATED in tasks else []
    # In turn, so that both are among the first, whatever is rare.
    for place in range(max(len(spread), len(generated))):
        for task, seed in (*generated[place : place + 1], *spread[place : place + 1]):
            yield _laid_out(task, seed)


def expert_needs(tasks: Sequence[str], trials: Sequence[Features]) -> Mapping[tuple[str, str], Features]:
    """What the expert mostly needs in a task with so many acts: of fresh situations it is known when it has run."""
    seen: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    for task, features in zip(tasks, trials, strict=True):
        own = seen.setdefault((task, features.get("acts", "")), {})
        for name, level in features.items():
            if name.startswith("expert_"):
                own.setdefault(name, Counter())[level] += 1
    return {key: {name: levels.most_common(1)[0][0] for name, levels in own.items()} for key, own in seen.items()}


def pairs(
    condition: Condition,
    effect: Effect,
    situations: Iterator[Fresh],
    trial: Callable[[str, int], Trial],
    imputed: Callable[[Fresh], Features],
    *,
    within: Callable[[Features], bool] = lambda features: True,
    apart_from: Sequence[Condition] = (),
    given: Condition | None = None,
    without: Callable[[], tuple[Condition, ...]] = tuple,
    has_words: bool = True,
) -> Iterator[Pair]:
    """One for each situation in which it holds (to undo it) or does not (to put it in), and can be changed.

    What is `given` holds in both trials, and nothing that they are to be `without`, which is asked anew for each. Of
    the ways to change it, the one that changes the fewest of those that it is to be told apart from. A policy that
    reads no words is not asked for anything by words.
    """
    wants = effect == "put in"
    turns = len(_ways(condition, effect))
    others = tuple(apart_from)
    number = looked_at = 0
    for fresh in situations if turns else ():
        features, absent = {**fresh.features, **imputed(fresh)}, without()
        if condition.holds(features) == wants or not within(features) or not _is_fit(features, given, absent):
            continue
        # Each intervention in turn: what two of them share is the cause.
        way = _way(condition, effect, fresh.task, fresh.seed, looked_at % turns, others, given, absent, has_words)
        looked_at += 1
        if way is not None:
            name, value = way
            source = trial(fresh.task, fresh.seed)
            treated, placebo = (replace(source, interventions=((name, each),)) for each in (value, PLACEBO))
            yield Pair(condition, effect, number, source, treated, placebo, name, value, given, absent)
            number += 1


# Every round asks again for those before it.
@lru_cache(maxsize=65536)
def _way(
    condition: Condition,
    effect: Effect,
    task: str,
    seed: int,
    first: int,
    apart_from: tuple[Condition, ...],
    given: Condition | None,
    without: tuple[Condition, ...],
    has_words: bool,
) -> tuple[str, str] | None:
    """The intervention that changes it there and leaves the most of the others, beginning with the first."""
    fresh, ways = _laid_out(task, seed), _ways(condition, effect)
    turned = [ways[(first + place) % len(ways)] for place in range(len(ways))]
    found = (
        (sum(one.holds(after) != one.holds(placebo) for one in apart_from), place, way)
        for place, way in enumerate(_varied(turned)[:MOST_TRIED])
        if (made := _made(condition, fresh, *way, effect == "put in")) is not None
        and all(_is_fit(each, given, without) for each in made)
        and (has_words or all(_words(each) == _words(fresh.features) for each in made))
        for after, placebo in [made]
    )
    _, _, best = min(islice(found, WAYS), default=(0, 0, None))
    return best


def _is_fit(features: Features, given: Condition | None, without: Sequence[Condition]) -> bool:
    return (given is None or given.holds(features)) and not any(one.holds(features) for one in without)


def variant_pairs(condition: Condition, sources: Iterable[Trial], change: Callable[[Trial], Trial]) -> Iterator[Pair]:
    """Situations with something done to the policy, each beside the same without it."""
    for number, source in enumerate(sources):
        yield Pair(
            condition, "put in", number, source, change(source), source, condition.attribute, condition.levels[0]
        )


def _varied(ways: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Of each intervention one value before the second of any."""
    turns: dict[str, int] = {}
    ranked = []
    for place, (name, value) in enumerate(ways):
        turns[name] = turns.get(name, -1) + 1
        ranked.append((turns[name], place, (name, value)))
    return [way for _, _, way in sorted(ranked)]


def _made(condition: Condition, fresh: Fresh, name: str, value: str, wants: bool) -> tuple[Features, Features] | None:
    """What both sides are like, if it can be done there, and only the first changes whether the condition holds."""
    after, placebo = (changed_features(fresh.task, fresh.seed, name, each) for each in (value, PLACEBO))
    if after is None or placebo is None:
        return None
    # What the expert needs is known when it has run.
    is_told = not condition.attribute.startswith("expert_")
    return None if is_told and not condition.holds(after) == wants != condition.holds(placebo) else (after, placebo)


def _words(features: Features) -> set[str]:
    return {name for name in features if name.startswith(WORD)}


@lru_cache(maxsize=8192)
def changed_features(task: str, seed: int, name: str, value: str) -> Features | None:
    """What a situation is like then; None where it cannot be done."""
    try:
        after = intervened(_laid_out(task, seed).situation, ((name, value),), seed, task)
    except NotApplicable:
        return None
    return features_of(after, TASKS[task].varies, STANDING)
