"""Failure modes: what can be seen to happen in an episode, from "it failed" to "it took the wrong colour"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from robodx.analysis.findings.strata import Mask

Sort = Literal["mistaken", "type", "flag", "kind", "wrong thing", "failure"]
# A detour says little by itself, and of one who failed nothing.
FLAGS = ("collision", "instability", "drop_and_regrasp")
TELLING_FLAGS = FLAGS[:2]
SAYS = {
    "collision": "it collides", "instability": "it shakes", "drop_and_regrasp": "it drops things and takes them again",
    "grasp synthesis": "it does not get hold of things", "grasp stability": "it loses what it holds",
    "placement and release": "it puts things wrongly", "control instability": "it fails and shakes",
    "trajectory sub-optimality": "it takes too long", "incomplete execution": "it stops before it is done",
    "incorrect action sequence": "it does the wrong thing", "reference": "it takes the wrong thing",
    "constraint": "it breaks a rule of the instruction", "motor": "it fails at carrying it out",
    "safety": "it fails unsafely", "timeout": "it times out", "wrong thing": "it does the wrong thing",
    "invalid_action": "it asks for what cannot be done", "failure": "it fails",
}  # fmt: skip
MOTOR = ("grasp synthesis", "grasp stability", "placement and release")
# What tells a weakness wherever it happens. To fail or to stop somewhere is no weakness of anything in particular.
TELLING_TYPES = (*MOTOR, "collision", "control instability")


@dataclass(frozen=True)
class FailureMode:
    # A "flag" tells how it is done, also where it succeeds; all others tell how it fails.
    sort: Sort
    name: str
    has: Mask
    # What happens, as in "it fails".
    says: str
    # Whether it is a weakness by itself, whatever was required.
    is_telling: bool = False

    @property
    def is_choice(self) -> bool:
        """Whether it takes or does another thing than was asked for."""
        return self.sort in ("mistaken", "wrong thing")


def failure_modes(episodes: pl.DataFrame, of_kinds: Iterable[FailureMode] = ()) -> list[FailureMode]:
    """The most telling first; `of_kinds` are those that kinds of findings look for besides."""
    failed = ~episodes["success"].to_numpy()
    kinds, types = (episodes[name].fill_null("").to_numpy() for name in ("failure_kind", "failure_type"))
    flags = episodes["quality_flags"].to_list()
    mistaken = [{each["attribute"] for each in one or ()} for one in episodes["mistaken"].to_list()]
    is_confused = np.array([bool(one) for one in mistaken], dtype=np.bool_)
    confused = [
        _failure_mode("mistaken", name, failed & np.array([name in one for one in mistaken], dtype=np.bool_))
        for name in sorted(set().union(*mistaken))
    ]
    found = [
        *of_kinds,
        *confused,
        *(_failure_mode("type", name, failed & (types == name)) for name in sorted(set(types[failed]) - {""})),
        *(
            _failure_mode("flag", name, np.array([name in (each or ()) for each in flags], dtype=np.bool_))
            for name in FLAGS
        ),
        *(_failure_mode("kind", name, failed & (kinds == name)) for name in sorted(set(kinds[failed]) - {""})),
        # The kind is of one cause, and to collide may come first.
        _failure_mode(
            "wrong thing", "wrong thing", failed & (np.isin(kinds, ("reference", "constraint")) | is_confused)
        ),
        _failure_mode("failure", "failure", failed),
    ]
    return [one for one in found if one.has.any()]


def _failure_mode(sort: Sort, name: str, has: Mask) -> FailureMode:
    if sort == "mistaken":
        return FailureMode(sort, name, has, f"it takes a thing of another {name}", is_telling=True)
    telling = {"type": TELLING_TYPES, "flag": TELLING_FLAGS, "wrong thing": ("wrong thing",)}
    return FailureMode(sort, name, has, SAYS.get(name, f"it fails by {name}"), name in telling.get(sort, ()))
