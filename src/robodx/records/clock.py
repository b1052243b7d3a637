"""How time passes during inference: not at all, by a declared latency, or by the measured one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robodx.errors import UserError

FORMS = "lockstep, realtime:SECONDS (as in realtime:0.1) or realtime:measured"
LONGEST_S = 10.0
# A latency that is a whole number of control steps must not become one more by rounding.
SLACK = 1e-9


@dataclass(frozen=True)
class Clock:
    """In real time the world moves on while the policy thinks: the last command holds until the chunk arrives."""

    is_realtime: bool = False
    # None: as long as each call really took, which no rerun can repeat.
    latency_s: float | None = 0.0

    @classmethod
    def parse(cls, text: str) -> Clock:
        if text == "lockstep":
            return cls()
        kind, _, latency = text.partition(":")
        if kind == "realtime" and latency == "measured":
            return cls(True, None)
        try:
            seconds = float(latency.removesuffix("s"))
        except ValueError:
            seconds = -1.0
        if kind != "realtime" or not 0 <= seconds <= LONGEST_S:
            raise UserError(f'No clock "{text}". There are: {FORMS}, with at most {LONGEST_S:g} seconds.')
        return cls(True, seconds)

    @property
    def is_reproducible(self) -> bool:
        return self.latency_s is not None

    def delay_steps(self, inference_s: float, hz: float, pause_s: float = 0.0) -> int:
        """Control steps that pass between an observation and the first action that answers it.

        A pause counts on any clock: for it no world waits.
        """
        seconds = pause_s
        if self.is_realtime:
            seconds += inference_s if self.latency_s is None else self.latency_s
        return math.ceil(seconds * hz - SLACK)
