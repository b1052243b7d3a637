"""A policy at the other end of a wire: a preset in between, and what the server says checked against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import uuid4

from robodx.errors import UserError
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, Policy, PolicySpec
from robodx.spaces import InvalidAction
from robodx.wires.agreement import fitting, mismatches
from robodx.wires.base import Request, ServerInfo, Wire, WireError
from robodx.wires.preset import BadPreset, Preset, summary
from robodx.wires.preset_files import find_preset, read_preset


class _Episode(NamedTuple):
    """One under way, and what the server knows it by."""

    remote_id: str
    start: EpisodeStart | None
    # Of the wire, when it began.
    losses: int


class RemotePolicy:
    """Speaks to a server in the words of its preset."""

    def __init__(self, wire: Wire, preset: Preset, server_info: ServerInfo | None = None) -> None:
        self.wire, self.preset, self.server_info = wire, preset, server_info or ServerInfo()
        self.spec = preset.spec
        self._episodes: dict[str, _Episode] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            # One that was broken off may come again.
            self.finish([start.episode_id])
            # A trial that is tried again, perhaps by another process, is another episode to the server.
            remote_id = f"{start.episode_id}-{uuid4().hex[:8]}"
            self.wire.start(remote_id, start.instruction)
            self._episodes[start.episode_id] = _Episode(remote_id, start, self.wire.losses)

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        settling = self.preset.settle_steps
        chunks: dict[str, ActionChunk | Exception] = {
            one.episode_id: self.preset.resting(settling - one.step) for one in observations if one.step < settling
        }
        asking = [one for one in observations if one.step >= settling]
        requests = [self._request(one) for one in asking]
        replies = self.wire.ask(requests)
        for one, (_, request), reply in zip(asking, requests, replies, strict=True):
            episode = self._episodes.get(one.episode_id)
            try:
                if isinstance(reply, Exception):
                    raise type(reply)(f"{reply}. RoboDx sent {summary(request)}") from reply
                if episode is not None and episode.losses != self.wire.losses:
                    raise WireError("the connection to the policy server was lost while the episode was under way")
                chunks[one.episode_id] = self.preset.chunk(reply)
            except InvalidAction as error:
                wrong = InvalidAction(f"{error}. The preset {self.preset.name} expects {self.preset.expects}")
                wrong.__cause__ = error
                chunks[one.episode_id] = wrong
            except WireError as error:
                chunks[one.episode_id] = error
        return [chunks[one.episode_id] for one in observations]

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            episode = self._episodes.pop(episode_id, None)
            if episode is not None:
                self.wire.finish(episode.remote_id)

    def close(self) -> None:
        self.wire.close()

    def _request(self, observation: Observation) -> tuple[str, Request]:
        # Servers that need no reset can be asked without one.
        episode = self._episodes.get(observation.episode_id) or _Episode(observation.episode_id, None, 0)
        return episode.remote_id, self.preset.request(replace(observation, episode_id=episode.remote_id), episode.start)


def connect(wire: Wire, name: str, preset: str | None) -> RemotePolicy:
    """A policy on the wire, with the preset that was asked for, or the one that the server says by itself.

    Refused if the two disagree, before anything is simulated.
    """
    try:
        # A mistake in it should not have to wait for the server.
        chosen = find_preset(preset) if preset is not None else None
        server_info = wire.describe()
        if chosen is None and server_info.preset is not None:
            chosen = read_preset(server_info.preset)
        if chosen is None:
            fits = fitting(server_info)
            offer = (
                f"give --preset with one of {', '.join(fits)}, or"
                if fits
                else "no shipped preset fits it: give --preset"
            )
            raise UserError(
                f"the server at {name} does not declare all conventions: {offer} with your own .toml file, which "
                f"robodx check {name} --write-preset my.toml drafts"
            )
        wrong = mismatches(chosen, server_info)
        if wrong:
            raise BadPreset(f"the preset {chosen.name} does not fit the server at {name}: {'; '.join(wrong)}")
    except BaseException:
        wire.close()
        raise
    return RemotePolicy(wire, chosen, server_info)


class Declared(NamedTuple):
    """What a policy says before it acts."""

    spec: PolicySpec
    preset: dict[str, Any] | None


def declared(policy: Policy) -> Declared:
    # A layer around a policy has what it wraps as `wrapped`.
    asked = getattr(policy, "wrapped", policy)
    return Declared(policy.spec, asked.preset.as_dict() if isinstance(asked, RemotePolicy) else None)
