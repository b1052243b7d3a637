"""The limits of a request; a separate module, so that help texts can import it quickly."""

from __future__ import annotations

from robodx.errors import UserError

# More would be planned for hours before the first step, and larger seeds cannot be stored.
MOST_SEEDS = 100_000
MOST_REPEATS = 1000
MOST_TRIALS = 1_000_000
LAST_FIRST_SEED = 2**31
LAST_SEED = LAST_FIRST_SEED + MOST_SEEDS
# More would only fill the memory of any machine.
MOST_WORKERS = 1024
MOST_BATCH = 1024
MOST_GPUS = 1024.0
# An error that comes this often is none that passes.
MOST_RETRIES = 100
MOST_FILMS = 10_000
# Of a data set.
LAST_EPISODE = 2**31
LARGEST_PAGE_MB = 100_000.0
# Of a validation. Each set has fifteen hundred seeds of its own, of which the last must be one too.
MOST_CASES = 10_000
LAST_FIRST_SET = 1_400_000


def check_bounds(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UserError(f"{name} is {value}: it must be {least} to {most}")
