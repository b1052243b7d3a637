"""The semantic grounding layer around any policy; `sgl+NAME:POLICY` says by which scene parser."""

from __future__ import annotations

from robodx.grounding.grounded_policy import GroundedPolicy
from robodx.grounding.parser import PARSERS
from robodx.grounding.parsers.vision import suffices
from robodx.policy_contract import Policy, make_policy, policy

# All parsers are policies of their own: they are to be found with the others.
list(PARSERS)


@policy("sgl", takes="POLICY", takes_preset=True)
def sgl(wrapped: str, preset: str | None) -> Policy:
    """POLICY with its instruction made clearer: by its own RGB-D pictures if it has them, else by the simulator."""
    made = make_policy(wrapped, preset)
    return GroundedPolicy(made, PARSERS["vision" if suffices(made.spec) else "sim"]())
