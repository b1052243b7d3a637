"""A policy of this process behind a wire that has no length, for what is asked of every policy in the same way."""

from __future__ import annotations

from collections.abc import Sequence

from robodx.policy_contract import Policy
from robodx.wires.base import Names, Reply, Request, ServerInfo, WireError
from robodx.wires.serving import Endpoint


class Local:
    """Requests are answered at once, by the endpoint that a server would stand on."""

    names = Names()
    losses = 0

    def __init__(self, policy: Policy) -> None:
        self.endpoint = Endpoint(policy, names=self.names)

    def describe(self) -> ServerInfo:
        return ServerInfo(preset=self.endpoint.preset.as_dict())

    def start(self, episode_id: str, instruction: str) -> None: ...

    def ask(self, requests: Sequence[tuple[str, Request]]) -> list[Reply | WireError]:
        return [self._answer(episode_id, request) for episode_id, request in requests]

    def finish(self, episode_id: str) -> None:
        self.endpoint.leave(episode_id)

    def close(self) -> None: ...

    def _answer(self, episode_id: str, request: Request) -> Reply | WireError:
        try:
            return self.endpoint.answer(episode_id, request)
        except Exception as error:
            return WireError(f"the policy failed: {type(error).__name__}: {error}")
