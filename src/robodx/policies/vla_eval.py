"""Policies behind the model servers of the vla-eval harness."""

from __future__ import annotations

from robodx.policies.remote import remote
from robodx.wires.base import Address, Wire


@remote("vla-eval", takes="//HOST:PORT")
def vla_eval(place: str) -> Wire:
    """Any model server of the vla-eval harness (OpenVLA, OFT, X-VLA, CogACT, …)."""
    from robodx.wires.vla_eval import PORT, VlaEval

    return VlaEval(Address.parse("vla-eval", place, port=PORT))
