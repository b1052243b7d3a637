"""Policies behind GR00T's inference servers."""

from __future__ import annotations

from robodx.policies.remote import remote
from robodx.wires.base import Address, Wire


@remote("gr00t", takes="//HOST:PORT")
def gr00t(place: str) -> Wire:
    """An inference server of GR00T N1.5, N1.6 or N1.7."""
    from robodx.wires.gr00t import PORT, Gr00t

    return Gr00t(Address.parse("gr00t", place, port=PORT, takes=("version",)))
