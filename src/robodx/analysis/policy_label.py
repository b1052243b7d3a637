"""What a policy is called in records, and how it is asked for again on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

# A name of the user's does not say how the policy is made, and an address need not outlive its run.
UNKNOWN = "YOUR_POLICY"


def label(policy: str, preset: str | None, name: str | None) -> str:
    """The policy's name in trials and records."""
    return name or (f"{policy}#{Path(preset).stem}" if preset else policy)


def options(policy: str, abouts: Iterable[Mapping[str, Any]]) -> str:
    """For a shell, of a policy by its label; `abouts` are what its runs tell."""
    if any(about.get("is_named") and about.get("request", {}).get("policy") == policy for about in abouts):
        return f"--policy {UNKNOWN} --name {shlex.quote(policy)}"
    made, _, preset = policy.partition("#")
    return f"--policy {shlex.quote(made)}" + (f" --preset {shlex.quote(preset)}" if preset else "")
