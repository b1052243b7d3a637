"""Whether a preset and what a server says of itself agree, before the first step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from robodx.output import shortened
from robodx.wires.actions import Actions
from robodx.wires.base import ServerInfo
from robodx.wires.parts import PARTS
from robodx.wires.pictures import Picture
from robodx.wires.preset import EPISODE, Preset, keys_of
from robodx.wires.preset_files import find_preset, read_preset, shipped
from robodx.wires.quoting import MAX_LINE, quote

Shape = tuple[int | None, ...]
# As many are named as a person would read.
MAX_NAMED = 20
# Of a state, these depend on how far a gripper opens.
IN_METRES = frozenset(["gripper_width", "finger_positions"])


def mismatches(preset: Preset, server_info: ServerInfo) -> list[str]:
    """Where the two disagree, each with both sides."""
    wrong: list[str] = []
    if server_info.inputs is not None:
        wrong += _inputs(preset, server_info.inputs)
    if server_info.outputs is not None:
        wrong += _outputs(preset, server_info.outputs)
    # A server that says what it needs besides suggests a preset, and leaves the rest to the user.
    if server_info.preset is not None and server_info.inputs is None:
        wrong += _differences(preset, read_preset(server_info.preset))
    wrong += server_info.contradictions(preset)
    more = [f"and {len(wrong) - MAX_NAMED} more"] if len(wrong) > MAX_NAMED else []
    return [*(shortened(one, MAX_LINE) for one in wrong[:MAX_NAMED]), *more]


def fitting(server_info: ServerInfo) -> list[str]:
    """The shipped presets that nothing in what the server says speaks against."""
    return [name for name in shipped() if not mismatches(find_preset(name), server_info)]


def _inputs(preset: Preset, inputs: Mapping[str, Shape | None]) -> Iterator[str]:
    sent = _shapes(preset)
    for key, shape in inputs.items():
        if key not in sent:
            hint = ": tells_episode must be true" if key == EPISODE else ""
            yield f"the server needs {key}, which the preset does not send{hint}"
        elif not _fits(sent[key], shape):
            yield f"{key} is {sent[key]} in the preset, but the server wants {shape}"


def _outputs(preset: Preset, outputs: Mapping[str, int | None]) -> Iterator[str]:
    for key, width in preset.actions.keys.items():
        if key not in outputs:
            yield f"the preset reads {key}, but the server answers {', '.join(outputs)}"
        elif width and outputs[key] and width != outputs[key]:
            yield f"{key} is {width} wide in the preset, but {outputs[key]} at the server"


def _differences(ours: Preset, theirs: Preset) -> Iterator[str]:
    """From all that the server is sure of. Which camera is shown under a key is the user's to choose."""
    yield from _different("arms", ours.arms, theirs.arms)
    yield from _different("hz", ours.hz, theirs.hz)
    yield from _different("prompt", ours.prompt, theirs.prompt)
    yield from _different("the images' keys", sorted(ours.images), sorted(theirs.images))
    for key in sorted(ours.images.keys() & theirs.images.keys()):
        for name, mine in _picture(ours.images[key]).items():
            yield from _different(f"{name} of {key}", mine, _picture(theirs.images[key])[name])
    yield from _different("state", _state(ours), _state(theirs))
    yield from _different("state_angles", ours.state_angles, theirs.state_angles)
    if any(IN_METRES & set(parts) for parts in theirs.state.values()):
        yield from _different("gripper_width_m", ours.gripper_width_m, theirs.gripper_width_m)
    yield from _actions(ours.actions, theirs.actions)
    if theirs.tells_episode:
        yield from _different("tells_episode", ours.tells_episode, True)


def _actions(ours: Actions, theirs: Actions) -> Iterator[str]:
    yield from _different("the actions' keys", list(ours.keys), list(theirs.keys))
    for key in ours.keys.keys() & theirs.keys.keys():
        # 0 is whatever comes.
        if ours.keys[key] and theirs.keys[key]:
            yield from _different(f"the width of {key}", ours.keys[key], theirs.keys[key])
    if ours.space.startswith("ee_") and theirs.space.startswith("ee_"):
        yield from _different("rotation", ours.rotation_form, theirs.rotation_form)
    for name in [one.name for one in fields(Actions) if one.name not in ("keys", "rotation")]:
        yield from _different(name, getattr(ours, name), getattr(theirs, name))


def _different(what: str, ours: object, theirs: object) -> Iterator[str]:
    if ours != theirs:
        yield f"{what}: {quote(ours)} in the preset, but {quote(theirs)} at the server"


def _picture(picture: Picture) -> dict[str, object]:
    return {
        "the size": (picture.height, picture.width), "what is drawn": picture.content, "layout": picture.layout,
        "orientation": picture.orientation, "channels": picture.channels, "is_depth": picture.is_depth,
    }  # fmt: skip


def _state(preset: Preset) -> dict[str, tuple[str, ...]]:
    return {", ".join(keys_of(key)): parts for key, parts in sorted(preset.state.items())}


def _shapes(preset: Preset) -> dict[str, Shape | None]:
    """Of all that the preset sends; None where nothing can be said."""
    shapes: dict[str, Shape | None] = {}
    for key, picture in preset.images.items():
        shapes[key] = picture.shape
    for key, parts in preset.state.items():
        widths = [PARTS[part].width for part in parts]
        total = None if None in widths else preset.arms * sum(width or 0 for width in widths)
        names = keys_of(key)
        shapes.update(dict.fromkeys(names, (None if total is None else total // len(names),)))
    if preset.prompt:
        shapes[preset.prompt] = None
    if preset.tells_episode:
        shapes[EPISODE] = None
    return shapes


def _fits(ours: Shape | None, theirs: Shape | None) -> bool:
    if ours is None or theirs is None:
        return True
    return len(ours) == len(theirs) and all(a is None or b is None or a == b for a, b in zip(ours, theirs, strict=True))
