"""Failure modes: what can be seen to happen in an episode, from "it failed" to "it took the wrong colour"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from robodx.analysis.findings.conditions import Mask
from robodx.errors import UserError

Sort = Literal["mistaken", "type", "flag", "kind", "wrong thing", "failure", "relation", "value"]
# A detour says little by itself, and of one who failed nothing.
FLAGS = ("collision", "instability", "drop_and_regrasp")
TELLING_FLAGS = FLAGS[:2]
SAYS = {
    "collision": "it collides", "instability": "it shakes", "drop_and_regrasp": "it drops and regrasps the object",
    "grasp synthesis": "it misses the grasp", "grasp stability": "it loses the object it holds",
    "placement and release": "it misplaces the object", "control instability": "it fails with unstable motion",
    "trajectory sub-optimality": "it runs out of time while moving",
    "incomplete execution": "it stops before the task is done",
    "incorrect action sequence": "it acts against the instruction", "reference": "it chooses the wrong object",
    "wrong object": "it chooses the wrong object",
    "constraint": "it breaks a constraint of the instruction", "motor": "it fails to carry out the motion",
    "safety": "it exceeds a safety limit", "timeout": "it times out", "wrong thing": "it acts against the instruction",
    "invalid_action": "it sends an action that cannot be executed", "failure": "it fails",
}  # fmt: skip
MOTOR = ("grasp synthesis", "grasp stability", "placement and release")
# What tells a weakness wherever it happens. To fail or to stop somewhere is no weakness of anything in particular.
TELLING_TYPES = (*MOTOR, "collision", "control instability")


@dataclass(frozen=True)
class FailureMode:
    # A "flag" tells how it is done, also where it succeeds, a "relation" which metamorphic one its paths break, and a
    # "value" with which value of a visual factor it succeeds less often; all others tell how it fails.
    sort: Sort
    name: str
    has: Mask
    # What happens, as in "it fails".
    says: str
    # Whether it is a weakness by itself, whatever was required.
    is_telling: bool = False

    def __post_init__(self) -> None:
        if getattr(self.has, "dtype", None) != np.bool_:
            raise UserError(f'the failure mode "{self.name}" needs a boolean for each episode, not {self.has!r}')

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
        return FailureMode(sort, name, has, f"it chooses an object of the wrong {name}", is_telling=True)
    telling = {"type": TELLING_TYPES, "flag": TELLING_FLAGS, "wrong thing": ("wrong thing",)}
    return FailureMode(sort, name, has, SAYS.get(name, f"it fails ({name})"), name in telling.get(sort, ()))
