"""A policy that now and then takes a moment longer."""

from __future__ import annotations

from robodx.perturbations.base import Perturbation, perturbation
from robodx.perturbations.intermittent import Intermittent


@perturbation(
    "inference_pauses",
    kind="execution",
    levels={"v1": 0.25, "v2": 1.0, "v3": 4.0},
    unit="s",
    most=20.0,
    anchor="Seconds. 0.25: a shared GPU is busy; 1: a network connects anew; 4: a model server loads its "
    "weights again.",
)
class InferencePauses(Perturbation):
    """Holds back the policy's replies for this many seconds, repeatedly; they arrive at the end of the pause."""

    def begin(self) -> None:
        self._intermittent = Intermittent(self.severity, self.draws)

    def pause_s(self, step: int) -> float:
        return self._intermittent.left_s(step * self.period_s)
