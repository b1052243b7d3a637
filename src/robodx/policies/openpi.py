"""Policies behind openpi's websocket servers."""

from __future__ import annotations

from robodx.policies.remote import remote
from robodx.wires.base import Address, Wire


@remote("openpi", takes="//HOST:PORT")
def openpi(place: str) -> Wire:
    """A server of openpi (π0, π0-FAST, π0.5), or of its RoboArena and StarVLA variants."""
    from robodx.wires.openpi import PORT, OpenPi
    from robodx.wires.openpi_variants import OPTIONS

    return OpenPi(Address.parse("openpi", place, port=PORT, takes=OPTIONS))
