"""When intermittent faults occur: for some seconds in every period, at random times."""

from __future__ import annotations

from dataclasses import dataclass

from robodx.perturbations.base import Draws

# What lies between two spells on average: with spells of 0.25, 1 and 4 s a fault is there 11, 33 and 67% of the time.
# Short, for so are episodes: a fault that comes after the end is none.
GAP_S = 2.0


@dataclass(frozen=True)
class Intermittent:
    """One in every cycle of `length_s` and a gap, anywhere within its cycle: the longer, the more of the time.

    A spell depends on the draws and its cycle only, never on who asks or when.
    """

    length_s: float
    draws: Draws
    key: str = ""

    def left_s(self, time_s: float) -> float:
        """How long the spell that is on at this time goes on; 0 if none is."""
        cycle_s = self.length_s + GAP_S
        cycle = int(time_s // cycle_s)
        begin_s = cycle * cycle_s + GAP_S * self.draws.rng(self.key, cycle).random()
        return begin_s + self.length_s - time_s if begin_s <= time_s < begin_s + self.length_s else 0.0

    def is_on(self, time_s: float) -> bool:
        return self.left_s(time_s) > 0
