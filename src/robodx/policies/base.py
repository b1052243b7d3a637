"""The policy contract, as the policies' own folder offers it; it is declared below all that speaks of policies."""

from robodx.policy_contract import (
    POLICIES,
    STATE,
    ActionChunk,
    Calibration,
    CameraRequest,
    EpisodeStart,
    Observation,
    Policy,
    PolicyEntry,
    PolicySpec,
    Privileged,
    make_policy,
    opened,
    policy,
)

__all__ = [
    "POLICIES", "STATE", "ActionChunk", "Calibration", "CameraRequest", "EpisodeStart", "Observation", "Policy",
    "PolicyEntry", "PolicySpec", "Privileged", "make_policy", "opened", "policy",
]  # fmt: skip
