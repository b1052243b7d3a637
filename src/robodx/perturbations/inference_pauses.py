"""A policy that now and then takes a moment longer."""

from __future__ import annotations

from robodx.perturbations.base import Perturbation, perturbation
from robodx.perturbations.intermittent import Intermittent


# A shared GPU, a network that sends again, a server that moves the model to another machine.
@perturbation("inference_pauses", kind="execution", levels={"v1": 0.25, "v2": 0.5, "v3": 1.0}, most=20.0)
class InferencePauses(Perturbation):
    """Holds back the policy's replies for this many seconds, repeatedly; they arrive at the end of the pause."""

    def begin(self) -> None:
        self._intermittent = Intermittent(self.severity, self.draws)

    def pause_s(self, step: int) -> float:
        return self._intermittent.left_s(step * self.period_s)
