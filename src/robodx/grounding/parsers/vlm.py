"""The scene from one picture, by a vision-language model that is asked for the objects in it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, get_args

from robodx.chat_completions import ChatError, Endpoint, ask
from robodx.errors import UserError
from robodx.grounding.parser import scene_parser
from robodx.grounding.scene import ParsedScene, Position, SceneObject, Size, State, categories_of
from robodx.language.lexicon import EVERYDAY, KINDS
from robodx.language.reference import Looks
from robodx.policy_contract import Calibration, CameraRequest, EpisodeStart, Observation, PolicySpec
from robodx.sim.colours import PALETTE

# The endpoint up to its version, as http://localhost:8000/v1; the model there; a key, never in a policy's name.
URL, MODEL, KEY = "ROBODX_VLM_URL", "ROBODX_VLM_MODEL", "ROBODX_VLM_KEY"
CAMERA = "front"
# Asked for where the policy is shown no scene camera at all.
PIXELS = 256
# In the picture; whose left it is follows from where the camera stands.
IN_PICTURE = ("left", "right", "top", "bottom", "middle")
FIELDS = ("name", "categories", "colour", "size", "position", "state")
MOST_OBJECTS = 50
# Further words for what RoboDx has a word of its own for.
ALSO_CALLED = {
    "pyramid": "triangular block", "prism": "triangular block", "triangular prism": "triangular block",
    "wedge": "triangular block", "container": "box", "tube": "cylinder", "can": "cylinder",
    "gray": "grey", "violet": "purple", "turquoise": "cyan", "light blue": "sky blue", "dark blue": "navy",
}  # fmt: skip
# As large as these, things are small, normal and big to each other; and as far from the middle, left and right.
SIZES_M: dict[Size, float] = {"small": 0.02, "normal": 0.035, "big": 0.06}
ASIDE_M = 0.15

QUESTION = """You are the eyes of a robot. Its instruction is: "{instruction}"

List every object on the table in the picture, also those that the instruction does not name; never the robot, the
table, or shadows. Each object has exactly these fields:
- "name": a short noun; one of these where it fits: {kinds}.
- "categories": a list of categories that it belongs to, from its name to "object"; a category that objects share (as
  "geometry" of a cube and a sphere, or "container" of a box and a bowl) stands with each of them.
- "colour": one of {colours}; null if it has none of them.
- "size": "small", "normal" or "big", beside the other objects.
- "position": "left", "right", "top", "bottom" or "middle", in the picture.
- "state": "solid" or "hollow"; what other things can be put into is hollow.

Answer with JSON alone: {{"objects": [{{"name": …, "categories": […], "colour": …, "size": …, "position": …,
"state": …}}, …]}}"""


@scene_parser("vlm")
class VlmParser:
    """by a vision-language model: ROBODX_VLM_URL=http://HOST:PORT/v1, ROBODX_VLM_MODEL, ROBODX_VLM_KEY."""

    def __init__(self, endpoint: Endpoint | None = None) -> None:
        self._endpoint = endpoint or _of_environment()
        self._camera = CAMERA

    def spec(self, own: PolicySpec) -> PolicySpec:
        """One of the policy's own pictures, if it has one that is not of a camera on the arm."""
        standing = [camera.name for camera in own.cameras if not camera.name.startswith("wrist")]
        # Of another model an unfinished run is not resumed.
        digest = f"{own.weights_digest or ''} told by {self._endpoint.model}".strip()
        own = replace(own, weights_digest=digest)
        if standing:
            self._camera = CAMERA if CAMERA in standing else standing[0]
            return own
        return replace(own, cameras=(*own.cameras, CameraRequest(CAMERA, PIXELS, PIXELS)))

    def parse(self, start: EpisodeStart, observation: Observation) -> ParsedScene | None:
        picture, calibration = observation.images[self._camera], start.cameras[self._camera]
        if not picture.any():
            return None
        question = QUESTION.format(
            instruction=observation.instruction, kinds=", ".join(KINDS), colours=", ".join(PALETTE)
        )
        # Here, because it loads libraries for videos, which those who list policies need not wait for.
        from robodx.datasets.stills import to_png

        return ask(self._endpoint, question, to_png(picture), SCHEMA, lambda answer: read_scene(answer, calibration))


def _of_environment() -> Endpoint:
    missing = [name for name in (URL, MODEL) if not os.environ.get(name)]
    if missing:
        raise UserError(
            f"no vision-language model is set: {' and '.join(missing)} "
            f"must be in the environment ({URL}=http://HOST:PORT/v1, {MODEL}=NAME; a key goes into {KEY})"
        )
    try:
        return Endpoint(os.environ[URL], os.environ[MODEL], os.environ.get(KEY) or None, key_name=KEY)
    except ChatError as error:
        raise UserError(f"the model at {URL}: {error}") from None


SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["objects"],
    "properties": {
        "objects": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": list(FIELDS),
                "properties": {
                    "name": {"type": "string"},
                    "categories": {"type": "array", "items": {"type": "string"}},
                    "colour": {"type": ["string", "null"]},
                    "size": {"type": "string", "enum": list(get_args(Size))},
                    "position": {"type": "string", "enum": list(IN_PICTURE)},
                    "state": {"type": "string", "enum": list(get_args(State))},
                },
            },
        }
    },
}


def read_scene(answer: Any, camera: Calibration) -> ParsedScene:
    """The scene that an answer tells; ValueError says what is wrong with one that does not fit the schema."""
    if not isinstance(answer, dict) or set(answer) != {"objects"} or not isinstance(answer["objects"], list):
        raise ValueError('it must be {"objects": […]}')
    if len(answer["objects"]) > MOST_OBJECTS:
        raise ValueError(f"{len(answer['objects'])} objects are more than {MOST_OBJECTS}")
    objects = [_read_object(each, index, camera) for index, each in enumerate(answer["objects"])]
    return ParsedScene(tuple(objects), is_measured=False)


def _read_object(told: Any, index: int, camera: Calibration) -> SceneObject:
    where = f"objects[{index}]"
    if not isinstance(told, dict) or set(told) != set(FIELDS):
        raise ValueError(f"{where} must have exactly the fields {', '.join(FIELDS)}")
    name = told["name"]
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{where}.name is {name!r}, not a noun")
    categories = told["categories"]
    if not isinstance(categories, list) or not all(isinstance(each, str) for each in categories):
        raise ValueError(f"{where}.categories is {categories!r}, not a list of words")
    if told["colour"] is not None and not isinstance(told["colour"], str):
        raise ValueError(f"{where}.colour is {told['colour']!r}, neither a word nor null")
    for part, valid in (("size", get_args(Size)), ("position", IN_PICTURE), ("state", get_args(State))):
        if told[part] not in valid:
            raise ValueError(f"{where}.{part} is {told[part]!r}: it must be one of {', '.join(valid)}")
    return _object(told, f"object {index + 1}", camera)


def _object(told: Mapping[str, Any], id: str, camera: Calibration) -> SceneObject:
    name = _known(told["name"], KINDS) or told["name"].strip().lower()
    colour = None if told["colour"] is None else _known(told["colour"], tuple(PALETTE))
    x, y = _on_table(told["position"], camera)
    half = SIZES_M[told["size"]]
    cavity = (half, half) if told["state"] == "hollow" else None
    own = (*categories_of(name), *(each.strip().lower() for each in told["categories"]))
    looks = Looks(name, colour, (x, y, half), (half,) * 3, (half,) * 3, cavity)
    return SceneObject(id, name, tuple(dict.fromkeys(own)), colour, told["size"], _position(x, y), told["state"], looks)


@cache
def _known(said: str, valid: tuple[str, ...]) -> str | None:
    """Our own word for what was said; of "purple blue" or "wooden cube" the last that is known."""
    words = said.strip().lower()
    own = {word.lower(): word for word in valid}
    own |= {other: word for word in valid for other in EVERYDAY.get(word, ())}
    own |= {other: word for other, word in ALSO_CALLED.items() if word in valid}
    while words:
        if words in own:
            return own[words]
        words = words.partition(" ")[2]
    return None


def _on_table(in_picture: str, camera: Calibration) -> tuple[float, float]:
    """Where that is for the robot, by the way the camera looks; NaN along the way of which nothing was said.

    The top of a picture is farther from the camera: that looks down, for else it would not see the table.
    """
    if in_picture == "middle":
        return (0.0, 0.0)
    x, y, _ = camera.pose.axis("x" if in_picture in ("left", "right") else "y")
    sign = 1 if in_picture in ("right", "top") else -1
    if abs(y) > abs(x):
        return (math.nan, math.copysign(ASIDE_M, sign * y))
    return (math.copysign(ASIDE_M, sign * x), math.nan)


def _position(x: float, y: float) -> Position:
    if not math.isnan(y):
        return "left" if y > 0 else "right" if y < 0 else "middle"
    return "near" if x < 0 else "far" if x > 0 else "middle"
