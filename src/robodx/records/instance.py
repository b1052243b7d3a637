"""An instance of a set that is checked before it is used: a situation by name, and the factor that it is there for."""

from __future__ import annotations

from dataclasses import dataclass

from robodx.records.values import Applied


@dataclass(frozen=True)
class Instance:
    """A seed of a task with interventions. Names are unique within a set; `factor` is what pass rates are told by."""

    name: str
    factor: str
    task: str
    seed: int
    interventions: tuple[Applied, ...] = ()
