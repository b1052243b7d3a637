"""Policies behind openpi's websocket servers."""

from __future__ import annotations

from robodx.policies.base import Policy, policy
from robodx.policies.remote import connect
from robodx.wires.base import Address


@policy("openpi", takes="//HOST:PORT", takes_preset=True)
def openpi(place: str, preset: str | None) -> Policy:
    """A server of openpi (π0, π0-FAST, π0.5), or of its RoboArena and StarVLA variants."""
    from robodx.wires.openpi import PORT, OpenPi

    return connect(OpenPi(Address.parse("openpi", place, port=PORT)), f"openpi:{place}", preset)
