"""A plugin: recorded commands played back by policies that ask for 128×128 pictures and look at none of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from robodx.policies.replay import ReplayPolicy
from robodx.policy_contract import CameraRequest, EpisodeStart, policy
from robodx.records.table import load
from robodx.records.trial import Trial

CAMERAS = ("front", "wrist")


@policy("camera_replay", takes="RUN")
class CameraReplay(ReplayPolicy):
    """`replay:RUN` with the cost of pictures."""

    def __init__(self, run: str) -> None:
        super().__init__(run)
        self.spec = replace(self.spec, cameras=tuple(CameraRequest(name) for name in CAMERAS))


@policy("trial_replay", takes="RUN")
class TrialReplay(ReplayPolicy):
    """Plays of each trial what was recorded of that very one, interventions included, and asks for one camera."""

    def __init__(self, run: str) -> None:
        super().__init__(run)
        self.spec = replace(self.spec, cameras=(CameraRequest(CAMERAS[0]),))
        recorded = map(Trial.of_row, load(Path(run)).iter_rows(named=True))
        self._recorded = {replace(trial, policy=f"trial_replay:{run}").id: trial.id for trial in recorded}

    def trial_for(self, start: EpisodeStart) -> str:
        return self._recorded[start.episode_id]
