"""Policies behind the model servers of the vla-eval harness."""

from __future__ import annotations

from robodx.policies.base import Policy, policy
from robodx.policies.remote import connect
from robodx.wires.base import Address


@policy("vla-eval", takes="//HOST:PORT", takes_preset=True)
def vla_eval(place: str, preset: str | None) -> Policy:
    """A model server of the vla-eval harness (OpenVLA, OpenVLA-OFT, X-VLA, CogACT, …)."""
    from robodx.wires.vla_eval import PORT, VlaEval

    return connect(VlaEval(Address.parse("vla-eval", place, port=PORT)), f"vla-eval:{place}", preset)
