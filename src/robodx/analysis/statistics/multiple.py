"""Several tests at once: Holm's correction within a family."""

from __future__ import annotations

from collections.abc import Mapping


def holm(p_values: Mapping[str, float | None]) -> dict[str, float | None]:
    """Adjusted p-values by name. A test that could not be made (None) stays None and costs the others nothing."""
    made = sorted((p, name) for name, p in p_values.items() if p is not None)
    adjusted: dict[str, float | None] = dict.fromkeys(p_values)
    largest = 0.0
    for rank, (p, name) in enumerate(made):
        if not 0 <= p <= 1:
            raise ValueError(f"the p-value of {name} is {p}")
        largest = max(largest, min(1.0, p * (len(made) - rank)))
        adjusted[name] = largest
    return adjusted
