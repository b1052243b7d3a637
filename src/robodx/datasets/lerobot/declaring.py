"""Our features as LeRobot's: what info.json says of a data set that is written here."""

from __future__ import annotations

from typing import Any

from robodx.datasets.lerobot.features import ACTION, COLUMNS, IMAGES, OURS, STATE, SUCCESS, Layout, Part
from robodx.datasets.schema import Features
from robodx.errors import UserError

FILES_IN_A_CHUNK = 1000


def layout_to_write(features: Features) -> Layout:
    """State vectors stand one after the other in one column: there LeRobot's and GR00T's policies look for them."""
    if wrong := [name for name in features.cameras if "/" in name]:
        raise UserError(f'LeRobot allows no "/" in the name of a camera: {", ".join(wrong)}')
    if odd := [name for name, size in features.cameras.items() if size[0] % 2 or size[1] % 2]:
        raise UserError(f"H.264 videos have an even height and width, but not the cameras {', '.join(odd)}")
    state, start = {}, 0
    for name, numbers in features.state.items():
        state[name] = Part(STATE, start, start + len(numbers))
        start += len(numbers)
    return Layout(
        features,
        {name: IMAGES + name for name in features.cameras},
        {},
        state,
        Part(ACTION, 0, len(features.action)),
        SUCCESS if features.tells_success else None,
    )


def declared(layout: Layout) -> dict[str, dict[str, Any]]:
    """As they stand in info.json; to be called with what `layout_to_write` gave."""
    features = layout.features
    declared: dict[str, dict[str, Any]] = {}
    for name, (height, width) in features.cameras.items():
        declared[IMAGES + name] = {
            "dtype": "video",
            "shape": [height, width, 3],
            "names": ["height", "width", "channels"],
            "info": {
                "video.height": height,
                "video.width": width,
                "video.codec": "h264",
                "video.pix_fmt": "yuv420p",
                "video.is_depth_map": False,
                "video.fps": rate(features.known_hz),
                "video.channels": 3,
                "has_audio": False,
            },
        }
    if features.state:
        # Vectors may have numbers of the same name.
        names = [
            name if len(features.state) == 1 else f"{vector}.{name}"
            for vector, numbers in features.state.items()
            for name in numbers
        ]
        declared[STATE] = {"dtype": "float32", "shape": [len(names)], "names": names}
    declared[ACTION] = {"dtype": "float32", "shape": [len(features.action)], "names": list(features.action)}
    if layout.success:
        declared[layout.success] = {"dtype": "bool", "shape": [1], "names": None}
    return declared | {name: {"dtype": dtype, "shape": [1], "names": None} for name, dtype in COLUMNS.items()}


def ours(features: Features) -> dict[str, Any]:
    """What LeRobot has no place for: the vectors that the state consists of, and what is known of all episodes."""
    return {
        "state": {name: list(numbers) for name, numbers in features.state.items()},
        "about": dict(features.about),
    }


def rate(hz: float) -> int | float:
    """Whole where it can be: LeRobot's own is."""
    return int(hz) if float(hz).is_integer() else hz


def info_of(layout: Layout, *, version: str, episodes: int, steps: int, tasks: int) -> dict[str, Any]:
    """What every version has there, but where its files are."""
    return {
        "codebase_version": version,
        "robot_type": layout.features.robot,
        "total_episodes": episodes,
        "total_frames": steps,
        "total_tasks": tasks,
        "chunks_size": FILES_IN_A_CHUNK,
        "fps": rate(layout.features.known_hz),
        "splits": {"train": f"0:{episodes}"},
        "features": declared(layout),
        OURS: ours(layout.features),
    }
