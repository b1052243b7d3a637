"""How much may be asked of a run; apart from the rest, for help texts to tell without importing it."""

from __future__ import annotations

# More would be planned for hours before the first step, and larger seeds cannot be stored.
MOST_SEEDS = 100_000
MOST_REPEATS = 1000
LAST_FIRST_SEED = 2**31
