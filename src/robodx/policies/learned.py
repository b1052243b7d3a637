"""The learned policies that ship, with weights in the package."""

from __future__ import annotations

from robodx.policy_contract import Policy, policy


@policy("act")
def act() -> Policy:
    """A small transformer trained on the expert's demonstrations: two cameras and the words in, chunks of poses out."""
    from robodx.learned.networks import shipped

    return shipped("act")


@policy("act_no_language")
def act_no_language() -> Policy:
    """Like act, but smaller and never told the instruction."""
    from robodx.learned.networks import shipped

    return shipped("act_no_language")


@policy("flow")
def flow() -> Policy:
    """Flow matching on the tokens of act: it draws its actions from noise, so that repeats differ."""
    from robodx.learned.networks import shipped

    return shipped("flow")
