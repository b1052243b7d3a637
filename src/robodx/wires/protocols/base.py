"""What a protocol's file declares: its name, which is the policies' too, its client's wire and its server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from robodx.errors import UserError
from robodx.policy_contract import Policy, policy
from robodx.registry import Registry, UnknownName, unknown
from robodx.users_code import calling
from robodx.wires.base import Names, ServerInfo, Wire
from robodx.wires.preset import Preset
from robodx.wires.preset_files import find_preset
from robodx.wires.remote import connect
from robodx.wires.serving import Endpoint

OpenWire = Callable[[str], Wire]
# Serves an endpoint at a host and a port (0: any free one) until interrupted, and tells the port once it is open.
Serve = Callable[[Endpoint, str, int, Callable[[int], None]], None]


@dataclass(frozen=True)
class ProtocolEntry:
    """A protocol by name; `open_wire` gets what follows the colon in `name:TAKES`."""

    name: str
    open_wire: OpenWire
    takes: str
    summary: str
    # None: RoboDx asks such servers, but is none.
    serve: Serve | None
    port: int
    names: Names


PROTOCOLS: Registry[ProtocolEntry] = Registry("protocol", "wires.protocols")


def protocol(
    name: str,
    *,
    takes: str = "//HOST:PORT",
    serve: Serve | None = None,
    port: int = 8000,
    names: Names = Names(),  # noqa: B008
) -> Callable[[OpenWire], OpenWire]:
    """Register what opens a wire: the policy `name:TAKES`, and with `serve` also what `robodx serve` speaks.

    Without another being asked for, it is served at `port`; policies of ours are spoken of in the wire's `names`.
    """

    def register(open_wire: OpenWire) -> OpenWire:
        summary = (open_wire.__doc__ or "").strip().splitlines()[0]

        def make(place: str, preset: str | None) -> Policy:
            return connect(_opened(name, open_wire, place), f"{name}:{place}", preset)

        make.__doc__ = open_wire.__doc__
        policy(name, takes=takes, takes_preset=True)(make)
        PROTOCOLS.add(name, ProtocolEntry(name, open_wire, takes, summary, serve, port, names))
        return open_wire

    return register


def served_protocols() -> list[str]:
    """The names of those that `robodx serve` speaks."""
    return [one.name for one in PROTOCOLS.entries() if one.serve is not None]


def serve(
    policy: Policy,
    protocol: str,
    on_ready: Callable[[int, Preset], None],
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    preset: str | None = None,
) -> None:
    """Serve a policy until interrupted; `on_ready` is told the port, once it is open, and the preset."""
    if protocol not in served_protocols():
        raise UnknownName(unknown("protocol", protocol, served_protocols()))
    spoken = PROTOCOLS[protocol]
    assert spoken.serve is not None
    endpoint = Endpoint(policy, find_preset(preset) if preset else None, names=spoken.names)
    with calling(f"the server of the protocol {protocol}", spoken.serve):
        spoken.serve(
            endpoint, host, spoken.port if port is None else port, lambda open_: on_ready(open_, endpoint.preset)
        )


def describe(name: str) -> ServerInfo:
    """What the server of a policy's name says of itself."""
    head, _, place = name.partition(":")
    wire = _opened(head, PROTOCOLS[head].open_wire, place)
    try:
        return wire.describe()
    finally:
        wire.close()


def _opened(protocol: str, open_wire: OpenWire, place: str) -> Wire:
    wire = open_wire(place)
    if not hasattr(wire, "describe"):
        raise UserError(f"the protocol {protocol} gave {wire!r} for {place}: it must be a robodx.wires.base.Wire")
    return wire
