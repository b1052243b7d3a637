"""A policy that is told a clearer instruction; all else it is shown, and all it answers, is as without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from robodx.grounding.refining import refined
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, Policy, PolicySpec, replies

if TYPE_CHECKING:
    from robodx.grounding.parser import SceneParser


class GroundedPolicy:
    """Refines each instruction once, by the scene in which it is first given, and tells it from then on."""

    def __init__(self, wrapped: Policy, parser: SceneParser) -> None:
        self.wrapped, self.parser = wrapped, parser
        self.spec = parser.spec(wrapped.spec)
        self._starts: dict[str, EpisodeStart] = {}
        # For each episode what is said in place of each instruction.
        self._said: dict[str, dict[str, str]] = {}
        self._told: dict[str, str] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            self._forget(start.episode_id)
            self._starts[start.episode_id] = start
        # What is seen is not known yet: the first words are those that were given.
        self.wrapped.reset([narrowed_start(start, self.wrapped.spec) for start in starts])

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        told = [self._tell(observation) for observation in observations]
        asking = [each for each in told if isinstance(each, Observation)]
        if len(asking) == len(told):
            return self.wrapped.act(asking)
        # A scene that could not be parsed ends its own episode; the policy is not asked about it.
        answers = iter(replies(self.wrapped, asking) if asking else ())
        return [next(answers) if isinstance(each, Observation) else each for each in told]

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            self._forget(episode_id)
        self.wrapped.finish(ids)

    def close(self) -> None:
        for part in (self.wrapped, self.parser):
            close = getattr(part, "close", None)
            if close is not None:
                close()

    def refined_instruction(self, episode_id: str) -> str | None:
        """What the policy was told last; None if that is what was given."""
        return self._told.get(episode_id)

    def _tell(self, observation: Observation) -> Observation | Exception:
        try:
            text = self._refined(observation)
        except Exception as error:
            return error
        if text == observation.instruction:
            self._told.pop(observation.episode_id, None)
        else:
            self._told[observation.episode_id] = text
        return replace(narrowed(observation, self.wrapped.spec), instruction=text)

    def _refined(self, observation: Observation) -> str:
        said = self._said.setdefault(observation.episode_id, {})
        given = observation.instruction
        if given not in said:
            scene = self.parser.parse(self._starts[observation.episode_id], observation)
            if scene is None:
                return given
            said[given] = refined(given, scene).text
        return said[given]

    def _forget(self, episode_id: str) -> None:
        for kept in (self._starts, self._said, self._told):
            kept.pop(episode_id, None)


def narrowed(observation: Observation, spec: PolicySpec) -> Observation:
    """What a policy with this spec is shown of an observation."""
    cameras = {camera.name: camera for camera in spec.cameras}
    return replace(
        observation,
        state={name: value for name, value in observation.state.items() if name in spec.state},
        images={name: picture for name, picture in observation.images.items() if name in cameras},
        depth={name: far for name, far in observation.depth.items() if name in cameras and cameras[name].depth},
        privileged=observation.privileged if spec.is_privileged else None,
    )


def narrowed_start(start: EpisodeStart, spec: PolicySpec) -> EpisodeStart:
    cameras = {camera.name for camera in spec.cameras}
    return replace(
        start,
        cameras={name: calibration for name, calibration in start.cameras.items() if name in cameras},
        privileged=start.privileged if spec.is_privileged else None,
    )
