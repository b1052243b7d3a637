"""A policy at the other end of a wire: a preset in between, and what the server says checked against it."""

from __future__ import annotations

from collections.abc import Sequence

from robodx.errors import UserError
from robodx.policies.base import ActionChunk, EpisodeStart, Observation
from robodx.spaces import InvalidAction
from robodx.wires.base import Told, Wire, WireError
from robodx.wires.preset import BadPreset, Preset, find_preset, read_preset, shipped


class RemotePolicy:
    """Speaks to a server in the words of its preset."""

    def __init__(self, wire: Wire, preset: Preset, told: Told | None = None) -> None:
        self.wire, self.preset, self.told = wire, preset, told or Told()
        self.spec = preset.spec
        self._starts: dict[str, EpisodeStart] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            self.wire.start(start.episode_id, start.instruction)
            self._starts[start.episode_id] = start

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        settling = self.preset.settle_steps
        asking = [observation for observation in observations if observation.step >= settling]
        replies = self.wire.ask(
            [(one.episode_id, self.preset.request(one, self._starts.get(one.episode_id))) for one in asking]
        )
        answers = dict(zip((id(one) for one in asking), replies, strict=True))
        chunks: list[ActionChunk | Exception] = []
        for observation in observations:
            if observation.step < settling:
                chunks.append(self.preset.resting(settling - observation.step))
                continue
            reply = answers[id(observation)]
            try:
                chunks.append(reply if isinstance(reply, Exception) else self.preset.chunk(reply))
            except (WireError, InvalidAction) as error:
                chunks.append(error)
        return chunks

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            self._starts.pop(episode_id, None)
            self.wire.finish(episode_id)

    def close(self) -> None:
        self.wire.close()


def connect(wire: Wire, name: str, preset: str | None) -> RemotePolicy:
    """A policy on the wire, with the preset that was asked for, or the one that the server says by itself.

    Refused if the two disagree, before anything is simulated.
    """
    told = wire.describe()
    try:
        if preset is not None:
            chosen = find_preset(preset)
        elif told.preset is not None:
            chosen = read_preset(told.preset)
        else:
            raise UserError(
                f"the server at {name} does not say its conventions: give --preset with one of {', '.join(shipped())}, "
                f"or a .toml of your own, which robodx check {name} --write-preset my.toml drafts"
            )
        wrong = chosen.mismatches(told)
        if wrong:
            raise BadPreset(f"the preset {chosen.name} does not fit the server at {name}: {'; '.join(wrong)}")
    except BaseException:
        wire.close()
        raise
    return RemotePolicy(wire, chosen, told)
