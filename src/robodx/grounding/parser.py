"""What a scene parser is; each one makes a policy `sgl+NAME:POLICY`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from robodx.grounding.grounded_policy import GroundedPolicy
from robodx.grounding.scene import ParsedScene
from robodx.policy_contract import EpisodeStart, Observation, Policy, PolicySpec, make_policy, policy
from robodx.registry import Registry


class SceneParser(Protocol):
    """Makes out the objects of a scene from what a policy is shown, or from what is asked for besides."""

    def spec(self, own: PolicySpec) -> PolicySpec:
        """A policy's own spec, and what the parser needs besides; the policy is shown no more than it asked for."""

    def parse(self, start: EpisodeStart, observation: Observation) -> ParsedScene | None:
        """None where nothing can be made out yet: it is asked again at the next query."""


PARSERS: Registry[Callable[[], SceneParser]] = Registry("scene parser", "grounding.parsers")


def scene_parser(name: str) -> Callable[[Callable[[], SceneParser]], Callable[[], SceneParser]]:
    """Register a parser, and the policy `sgl+NAME:POLICY`; the first line of its docstring completes "from …"."""

    def register(kind: Callable[[], SceneParser]) -> Callable[[], SceneParser]:
        PARSERS.add(name, kind)

        def make(wrapped: str, preset: str | None) -> Policy:
            return grounded(wrapped, preset, name)

        make.__doc__ = f"POLICY with its instruction made clearer {(kind.__doc__ or '').strip().splitlines()[0]}"
        # What a plugin's parser raises is told as the plugin's.
        make.__module__ = kind.__module__
        policy(f"sgl+{name}", takes="POLICY", takes_preset=True)(make)
        return kind

    return register


def grounded(wrapped: str, preset: str | None, parser: str) -> Policy:
    """A policy by name, told what this parser makes clearer."""
    # First: it may lack a setting, and a policy may take long to load.
    made = PARSERS[parser]()
    return GroundedPolicy(make_policy(wrapped, preset), made)
