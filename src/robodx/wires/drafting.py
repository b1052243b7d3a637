"""Presets for a user to complete: drafted from what a server says of itself, or copied from one that is near."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robodx.errors import UserError
from robodx.wires.agreement import fitting
from robodx.wires.preset import Preset
from robodx.wires.preset_files import as_toml, find_preset, place_of, read_preset, shipped
from robodx.wires.protocols.base import PROTOCOLS, describe

NOTES = {
    "hz": "At which rate the actions are meant.",
    "replan": "Actions of a chunk that are executed before the next query; 0: all of them.",
    "actions.space": "ee_delta, ee_pose, joint or joint_velocity: see docs/conventions.md.",
    "actions.scale_m": "Metres and radians that a 1 stands for.",
    "actions.gripper_open": "The server's numbers for an open and a closed gripper.",
}


def draft(policy: str, preset: str | None, out: Path, *, corrected: Preset | None = None) -> str:
    """Write a preset for the server, and say what it was made from."""
    if out.suffix != ".toml":
        raise UserError(f"a preset is a .toml file, not {out}")
    if out.exists():
        raise UserError(f"{out} already exists: choose another file, or remove it")
    if policy.partition(":")[0] not in PROTOCOLS and corrected is None:
        raise UserError(f"{policy} is not a server: it uses RoboDx's own conventions and takes no preset")
    server_info = None if corrected is not None or preset is not None else describe(policy)
    if corrected is not None:
        text, source = _whole(corrected.as_dict(), out.stem), "the probe's findings"
    elif preset is not None:
        # With its comments, which say what is assumed.
        find_preset(preset)
        text, source = place_of(preset).read_text(), f"the preset {preset}"
    elif server_info is not None and (server_info.preset or server_info.draft):
        text, source = _whole(server_info.preset or server_info.draft or {}, out.stem), "what the server says of itself"
    else:
        near = (fitting(server_info) if server_info is not None else []) or shipped()
        raise UserError(
            f"{policy} does not describe itself, so no preset can be drafted: start with --preset "
            f"{' or '.join(near)} and edit it"
        )
    out.write_text(text)
    return source


def _whole(content: Mapping[str, Any], name: str) -> str:
    """Every field, so that what is to be changed can be seen, with notes on some."""
    return as_toml(read_preset({**content, "name": name}).as_dict(is_whole=True), NOTES)
