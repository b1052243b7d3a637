"""The scene from the simulator: what a parser without mistakes would give."""

from __future__ import annotations

from dataclasses import replace

from robodx.grounding.parser import scene_parser
from robodx.grounding.scene import ParsedScene, parsed
from robodx.language.reference import looks_now
from robodx.policy_contract import EpisodeStart, Observation, PolicySpec


@scene_parser("sim")
class SimParser:
    """by the simulator's state: an upper bound for any parser."""

    def spec(self, own: PolicySpec) -> PolicySpec:
        return replace(own, is_privileged=True)

    def parse(self, start: EpisodeStart, observation: Observation) -> ParsedScene | None:
        shown = observation.privileged
        if shown is None:
            raise RuntimeError("the simulator's state is not shown: sgl+sim needs privileged observations")
        return parsed(looks_now(shown.world))
