"""What a policy is called in records, and how it is asked for again on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

# Older runs of a policy with a name of the user's do not say how it is made.
UNKNOWN = "YOUR_POLICY"


def label(policy: str, preset: str | None, name: str | None) -> str:
    """The policy's name in trials and records."""
    return name or (f"{policy}#{Path(preset).stem}" if preset else policy)


def options(policy: str, abouts: Iterable[Mapping[str, Any]]) -> str:
    """For a shell, of a policy by its label; `abouts` are what its runs tell."""
    named = [about for about in abouts if about.get("is_named") and about.get("request", {}).get("policy") == policy]
    made, _, preset = policy.partition("#")
    name = f" --name {shlex.quote(policy)}" if named else ""
    if named:
        given: Mapping[str, Any] = named[-1].get("given", {})
        made, preset = (given["policy"], given.get("preset") or "") if given.get("policy") else (UNKNOWN, "")
    return f"--policy {shlex.quote(made)}{f' --preset {shlex.quote(preset)}' if preset else ''}{name}"
