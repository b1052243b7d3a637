"""The limits of a request; a separate module, so that help texts can import it quickly."""

from __future__ import annotations

# More would be planned for hours before the first step, and larger seeds cannot be stored.
MOST_SEEDS = 100_000
MOST_REPEATS = 1000
LAST_FIRST_SEED = 2**31
