"""Policies behind OpenVLA's REST servers."""

from __future__ import annotations

from robodx.policies.remote import remote
from robodx.wires.base import Address, Wire


@remote("openvla+http", takes="//HOST:PORT/act")
def openvla(place: str) -> Wire:
    """A server of OpenVLA, or of what speaks its REST protocol; ?unnorm_key=NAME chooses the action statistics."""
    from robodx.wires.openvla import OPTIONS, PORT, OpenVla

    return OpenVla(Address.parse("openvla+http", place, port=PORT, takes=OPTIONS))
