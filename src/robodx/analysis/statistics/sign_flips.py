"""Whether a skill is at fault and not a few tasks: the same direction in enough contexts, tested by flipping signs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A claim about a skill needs as many contexts, and the stated direction in such a share of them.
CONTEXTS = 8
DIRECTION = 0.75
# Up to so many contexts all flips are counted.
EXACT = 16
FLIPS = 10_000
ROUNDING = 1e-9


class SkillTest(NamedTuple):
    """What the means of paired differences in contexts say of the skill that the contexts share."""

    holds: bool
    p: float | None  # None: no context
    contexts: int
    share: float | None  # of contexts with a mean above zero


def skill_test(means: ArrayLike, level: float, rng: np.random.Generator) -> SkillTest:
    """One mean for each context, above zero in the stated direction: contexts count alike, whatever pairs they have."""
    seen = _checked(means)
    p = sign_flip_p(seen, rng)
    share = float((seen > ROUNDING).mean()) if len(seen) else None
    holds = p is not None and share is not None and len(seen) >= CONTEXTS and share >= DIRECTION and p <= level
    return SkillTest(holds, p, len(seen), share)


def sign_flip_p(means: ArrayLike, rng: np.random.Generator) -> float | None:
    """One-sided: the share of all ways to flip the signs of the means whose sum is at least that observed.

    Exact if, where the skill is not at fault, a mean is as likely to have either sign: as it is if treated and
    placebo could be exchanged in every context. Eight contexts give 1 / 256 at best. Beyond 16 contexts 10,000 flips
    are drawn, and the observed signs count as one more.
    """
    seen = _checked(means)
    if not len(seen):
        return None
    drawn = len(seen) > EXACT
    if drawn:
        signs = rng.choice([-1.0, 1.0], size=(FLIPS, len(seen)))
    else:
        signs = 1.0 - 2.0 * (np.arange(2 ** len(seen))[:, None] >> np.arange(len(seen)) & 1)
    as_large = int((signs @ seen >= seen.sum() - ROUNDING).sum())
    return (as_large + drawn) / (len(signs) + drawn)


def _checked(means: ArrayLike) -> NDArray[np.float64]:
    seen = np.asarray(means, dtype=np.float64)
    if seen.ndim != 1 or not np.isfinite(seen).all():
        raise ValueError(f"means {seen.tolist()}; give one finite number for each context")
    return seen
