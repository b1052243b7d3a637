"""Where the policy contract was up to version 0.1.0; plugins of then still find it here."""

from __future__ import annotations

import warnings
from typing import Any

from robodx import policy_contract


def __getattr__(name: str) -> Any:
    if not hasattr(policy_contract, name):
        raise AttributeError(f"robodx.policies.base has no {name!r}")
    warnings.warn(
        f"robodx.policies.base is robodx.policy_contract now: import {name} from there, or from robodx",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(policy_contract, name)
