"""What the screening suggests: conditions under which a policy fails more often, and what else goes along with each.

Three ways propose. The search takes what explains the failures best, sets those aside, and goes on with the rest. A
group lasso fits all conditions at once, those of one attribute together. A shallow tree splits twice. What the last two
select on most halves of the trials joins what the search found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.analysis.findings.conditions import LEAST_INSIDE, LEAST_OUTSIDE, Condition, Features, Mask, conditions

Floats = NDArray[np.float64]
# The log of the likelihood ratio of two failure rates to one, below which a condition is not worth a test.
LEAST_SCORE = 3.0
LEAST_EFFECT = 0.1
MOST_FOUND = 6
# A condition that explains failures nearly as well as the best, mostly the same ones, is its rival.
NEARLY = 0.5
ALIKE = 0.35
MOST_RIVALS = 4
# Halves of the trials on which lasso and tree select, and the share of them in which they must agree.
HALVES = 24
STABLE = 0.7
SHUFFLES = 400
# Where a trial stands in the tree of tasks says least.
GROUPS = ("family", "tier", "task")
PENALTIES = (0.12, 0.08)
STEPS = 40


class Suspect(NamedTuple):
    """A condition, how well it explains the failures that those before it do not, and what may be in its place."""

    condition: Condition
    score: float
    # On all trials at once, whatever was found before: what chance can be asked of.
    alone: float
    rivals: tuple[Condition, ...]
    # What happens more often under it, by that score: 0 is failing, n the n-th way of failing.
    outcome: int = 0


class Screened(NamedTuple):
    """Trials of a screening: their features, which failed, and all conditions that can be looked at."""

    trials: Sequence[Features]
    failed: Mask
    conditions: tuple[Condition, ...]
    # (trials, conditions)
    holds: Mask

    @classmethod
    def of(cls, trials: Sequence[Features], failed: Mask, own: Mapping[Condition, Mask] | None = None) -> Screened:
        """`own` are conditions that no feature tells."""
        found = {one: one.among(trials) for one in conditions(trials)} | dict(own or {})
        holds = np.array([*found.values()], dtype=np.bool_).reshape(len(found), len(trials)).T
        return cls(trials, failed, tuple(found), holds)


def suspects(screened: Screened, modes: Sequence[Mask] = ()) -> list[Suspect]:
    """The best first. `modes` are ways of failing: who fails in two ways may have two weaknesses."""
    if not screened.conditions or screened.failed.sum() < 2:
        return []
    stable = _stable(screened)
    found: list[Suspect] = []
    outcomes = _outcomes(screened, modes)
    everything, one_block = (
        np.ones(len(screened.failed), dtype=np.bool_),
        np.zeros(len(screened.failed), dtype=np.int64),
    )
    alone = np.array([_scores(screened.holds, outcome, everything, one_block) for outcome in outcomes])
    left = np.ones(len(screened.failed), dtype=np.bool_)
    block = np.zeros(len(screened.failed), dtype=np.int64)
    while len(found) < MOST_FOUND:
        scored = [_scores(screened.holds, outcome, left, block) for outcome in outcomes]
        scores = np.max(scored, axis=0)
        best = int(scores.argmax())
        if scores[best] < LEAST_SCORE:
            break
        outcome = outcomes[int(np.argmax([each[best] for each in scored]))]
        own = scored[int(np.argmax([each[best] for each in scored]))]
        best = _plainest(screened, own, left)
        found.append(_suspect(screened, best, own, alone, left))
        inside = screened.holds[:, best]
        left &= ~(inside & outcome)
        block = 2 * block + inside
    known = {one.condition for one in found} | {rival for one in found for rival in one.rivals}
    scores = _scores(screened.holds, screened.failed, everything, one_block)
    for place, condition in enumerate(screened.conditions):
        if condition in stable and condition not in known and scores[place] >= LEAST_SCORE:
            found.append(_suspect(screened, place, scores, alone, everything))
            known |= {condition, *found[-1].rivals}
    return found


def chance_of(screened: Screened, tasks: Sequence[str], modes: Sequence[Mask] = ()) -> Callable[[float], float]:
    """The chance that the best of all conditions scores so high, if what trials are like did not matter.

    Failures change places between tasks, with how they fail, for trials of a task fail alike whatever they are like.
    """
    rng = np.random.default_rng(0)
    groups: dict[int, list[list[int]]] = {}
    for task in dict.fromkeys(tasks):
        places = [place for place, each in enumerate(tasks) if each == task]
        groups.setdefault(len(places), []).append(places)
    # A task that is alone in its size has only its own trials to change places with.
    blocks = [np.array(same) if len(same) > 1 else np.array(same).reshape(-1, 1) for _, same in sorted(groups.items())]
    everything, one_block = np.ones(len(tasks), dtype=np.bool_), np.zeros(len(tasks), dtype=np.int64)

    @cache
    def best() -> Floats:
        found = np.zeros(SHUFFLES)
        for turn in range(SHUFFLES if screened.conditions else 0):
            places = np.arange(len(tasks))
            for block in blocks:
                places[block] = block[rng.permutation(len(block))]
            found[turn] = max(
                _scores(screened.holds, outcome[places], everything, one_block).max()
                for outcome in _outcomes(screened, modes)
            )
        return found

    return lambda score: float((1 + (best() >= score).sum()) / (1 + SHUFFLES))


def _suspect(screened: Screened, place: int, scores: Floats, alone: Floats, left: Mask) -> Suspect:
    """`alone` has a row for each outcome."""
    rivals = _rivals(screened, place, scores, left)
    of_place = alone[:, place]
    return Suspect(
        screened.conditions[place], float(scores[place]), float(of_place.max()), rivals, int(of_place.argmax())
    )


def _outcomes(screened: Screened, modes: Sequence[Mask]) -> list[Mask]:
    """That it fails, and each way in which it does."""
    return [screened.failed, *(screened.failed & mode for mode in modes)]


def _plainest(screened: Screened, scores: Floats, left: Mask) -> int:
    """Of those that hold in the very trials of the best, an attribute rather than a requirement or a word.

    And of requirements the narrowest: that more is required is not known.
    """
    best = int(scores.argmax())
    same = (screened.holds[left] == screened.holds[left, best][:, None]).all(axis=0)
    ways = [place for place in np.flatnonzero(same) if scores[place] >= scores[best] - 1e-9]
    return int(min(ways, key=lambda place: (_plainness(screened.conditions[place]), place)))


def _plainness(condition: Condition) -> tuple[int, int]:
    if condition.attribute in GROUPS:
        return 3, 0
    return 2 if condition.is_word else int(condition.requirement is not None), -condition.attribute.count("/")


def _rivals(screened: Screened, place: int, scores: Floats, left: Mask) -> tuple[Condition, ...]:
    """Others that explain nearly as much and hold in nearly the same trials, at most two of one attribute."""
    own = screened.holds[left, place]
    found: list[Condition] = []
    for other in np.argsort(-scores, kind="stable"):
        condition = screened.conditions[other]
        if scores[other] < max(NEARLY * scores[place], LEAST_SCORE) or len(found) == MOST_RIVALS:
            break
        is_same_attribute = condition.attribute == screened.conditions[place].attribute
        taken = sum(one.attribute == condition.attribute for one in found)
        if other != place and taken < 1 and not is_same_attribute and phi(own, screened.holds[left, other]) >= ALIKE:
            found.append(condition)
    return tuple(found)


def phi(a: Mask, b: Mask) -> float:
    """How far two conditions hold in the same trials, from -1 to 1."""
    if a.all() or b.all() or not a.any() or not b.any():
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


def _scores(holds: Mask, failed: Mask, among: Mask, block: NDArray[np.int64]) -> Floats:
    """Of each condition, the log likelihood ratio of two failure rates to one, within blocks of trials and summed."""
    total = np.zeros(holds.shape[1])
    effect_in, effect_out = np.zeros((2, 2, holds.shape[1]))
    for each in np.unique(block[among]):
        part = among & (block == each)
        x, y = holds[part], failed[part]
        n1, k1 = x.sum(axis=0), (x & y[:, None]).sum(axis=0)
        n0, k0 = len(y) - n1, y.sum() - k1
        effect_in += [k1, n1]
        effect_out += [k0, n0]
        total += np.where(k1 * n0 > k0 * n1, _ratio(k1, n1) + _ratio(k0, n0) - _ratio(k1 + k0, n1 + n0), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        effect = effect_in[0] / effect_in[1] - effect_out[0] / effect_out[1]
    is_there = (effect_in[1] >= LEAST_INSIDE) & (effect_out[1] >= LEAST_OUTSIDE)
    return np.where(is_there & (np.nan_to_num(effect) >= LEAST_EFFECT), total, 0.0)


def _ratio(k: NDArray[np.int64], n: NDArray[np.int64]) -> Floats:
    """The log likelihood of k of n at their own rate."""
    total = np.zeros(np.shape(n))
    for part in (k, n - k):
        total += np.where(part > 0, part * np.log(np.maximum(part, 1) / np.maximum(n, 1)), 0.0)
    return total


def _stable(screened: Screened) -> frozenset[Condition]:
    """What lasso or tree select on most halves of the trials."""
    return _stable_of(screened.conditions, screened.holds.T.tobytes(), screened.failed.tobytes())


# Every round of a diagnosis asks again of the same trials.
@lru_cache(maxsize=16)
def _stable_of(of: tuple[Condition, ...], held: bytes, failed: bytes) -> frozenset[Condition]:
    y_of_all = np.frombuffer(failed, dtype=np.bool_)
    n = len(y_of_all)
    x_of_all = np.frombuffer(held, dtype=np.bool_).reshape(len(of), n).T
    # Drawn once for all: the same trials always come to the same suspects.
    rng = np.random.default_rng(0)
    by_tree, by_lasso = Counter[int](), Counter[int]()
    for _ in range(HALVES):
        half = rng.permutation(n)[: n // 2]
        x, y = x_of_all[half], y_of_all[half]
        if 1 < y.sum() < len(y) - 1:
            by_tree.update(_tree(x, y))
            by_lasso.update(_lasso(x, y, of))
    return frozenset(
        condition for place, condition in enumerate(of) if max(by_tree[place], by_lasso[place]) >= STABLE * HALVES
    )


def _tree(x: Mask, y: Mask) -> set[int]:
    """The conditions of a tree of two levels that explains the failures best."""
    found: set[int] = set()
    parts = [np.ones(len(y), dtype=np.bool_)]
    for _ in range(2):
        parts = [split for part in parts for split in _split(x, y, part, found)]
    return found


def _split(x: Mask, y: Mask, part: Mask, found: set[int]) -> list[Mask]:
    scores = _scores(x, y, part, np.zeros(len(y), dtype=np.int64))
    best = int(scores.argmax())
    if scores[best] < LEAST_SCORE / 2:
        return []
    found.add(best)
    return [part & x[:, best], part & ~x[:, best]]


def _lasso(x: Mask, y: Mask, of: Sequence[Condition]) -> set[int]:
    """Conditions that a logistic regression keeps under a penalty for each attribute, those that raise failure."""
    names = {name: place for place, name in enumerate(dict.fromkeys(one.attribute for one in of))}
    group = np.array([names[one.attribute] for one in of])
    spread = x.std(axis=0)
    z = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    # The square of the largest singular value of z, by the smaller of its two products.
    largest = float(np.linalg.eigvalsh(z @ z.T if len(z) <= z.shape[1] else z.T @ z)[-1])
    step = 4 * len(y) / max(1.0, largest)
    weights, offset = np.zeros(z.shape[1]), float(np.log(y.mean() / (1 - y.mean())))
    counts = np.sqrt(np.bincount(group))
    for penalty in PENALTIES:
        for _ in range(STEPS):
            wrong = 1 / (1 + np.exp(-(z @ weights + offset))) - y
            offset -= step * float(wrong.mean())
            weights = weights - step * (z.T @ wrong) / len(y)
            sizes = np.sqrt(np.bincount(group, weights**2)) / counts
            shrunk = np.maximum(0.0, 1 - step * penalty / np.maximum(sizes, 1e-12))
            weights = weights * shrunk[group]
    return {int(place) for place in np.flatnonzero(weights > 0.05)}
