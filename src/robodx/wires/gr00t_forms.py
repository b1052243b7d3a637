"""The forms in which versions of GR00T write observations and actions, from and to RoboDx's flat ones.

Flat names are those of N1.5: `video.NAME`, `state.NAME`, `action.NAME`, and the instruction's key as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from robodx.errors import UserError
from robodx.wires.base import Reply, Request, WireError
from robodx.wires.messages import check_name, flatten
from robodx.wires.preset import EPISODE
from robodx.wires.quoting import quote

MODALITIES = ("video", "state", "language")
# Episodes in one request: each is one of the policy's, and is answered after the one before.
MAX_BATCH = 256


class Form(NamedTuple):
    """Time is always a dimension, and always one step."""

    # video, state and language are maps of their own.
    is_nested: bool
    # The observation lies beside options, and its first dimension counts episodes; replies are [actions, info].
    has_batch: bool


FORMS = {
    "n1.5": Form(is_nested=False, has_batch=False),
    "n1.6": Form(is_nested=True, has_batch=True),
    "n1.7": Form(is_nested=True, has_batch=True),
    # A server started with --use-sim-policy-wrapper.
    "n1.6-sim": Form(is_nested=False, has_batch=True),
    "n1.7-sim": Form(is_nested=False, has_batch=True),
}

# The client's side.


def write_observation(form: Form, request: Request) -> dict[str, Any]:
    """The `data` of get_action."""
    observation: dict[str, Any] = {}
    for key, value in request.items():
        if key == EPISODE:
            continue
        is_text = isinstance(value, str)
        modality, _, name = ("language", "", key) if is_text else key.partition(".")
        if modality not in MODALITIES or not name:
            raise UserError(
                f'GR00T expects pictures as video.NAME and state as state.NAME, but the preset sends "{key}"'
            )
        if is_text:
            value = [[value]] if form.is_nested else [value]
        else:
            value = value[None, None] if form.has_batch else value[None]
        if form.is_nested:
            observation.setdefault(modality, {})[name] = value
        else:
            observation[key] = value
    info = {EPISODE: request[EPISODE]} if EPISODE in request else None
    if form.has_batch:
        return {"observation": observation, "options": info}
    return {**observation, **(info or {})}


def read_actions(reply: object) -> Reply:
    """A reply in any of the forms."""
    actions = reply[0] if isinstance(reply, list) and len(reply) == 2 else reply
    if not isinstance(actions, Mapping):
        raise WireError(f"the server answered {quote(reply)}, not a map of actions, or that and a map of information")
    flat: dict[str, Any] = {}
    for key, value in flatten(actions).items():
        is_batch = isinstance(value, np.ndarray) and value.ndim == 3 and len(value) == 1
        flat[key if key.startswith("action.") else f"action.{key}"] = value[0] if is_batch else value
    return flat


# The server's side.


class Asked(NamedTuple):
    """A request, and the form in which it wants its answer; one flat observation for each episode of a batch."""

    form: Form
    rows: list[dict[str, Any]]


def read_observation(data: object) -> Asked:
    """The reverse of `write_observation`, for any form and any batch. Raises ValueError where it cannot be read."""
    if not isinstance(data, Mapping):
        raise ValueError(f"get_action needs a map of data, not {quote(data)}")
    has_batch = "observation" in data
    observation, info = (data["observation"], data.get("options")) if has_batch else (data, data)
    if not isinstance(observation, Mapping):
        raise ValueError(f"the observation must be a map, not {quote(observation)}")
    is_nested = has_batch and any(isinstance(observation.get(modality), Mapping) for modality in MODALITIES)
    form = Form(is_nested, has_batch)
    columns = {key: _rows(form, key, value) for key, value in _flat(observation, is_nested).items() if key != EPISODE}
    sizes = {key: len(rows) for key, rows in columns.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"the observation must be of one batch, but has {quote(sizes)}")
    # A policy may need nothing at all, and is then asked for one episode.
    rows = [{key: rows[row] for key, rows in columns.items()} for row in range(max(sizes.values(), default=1))]
    if isinstance(info, Mapping) and EPISODE in info:
        if len(rows) != 1:
            raise ValueError(f"{EPISODE} tells of one episode, but the batch is of {len(rows)}")
        rows[0][EPISODE] = info[EPISODE]
    return Asked(form, rows)


def write_actions(form: Form, rows: Sequence[Reply]) -> object:
    """The reverse of `read_actions`."""
    if not form.has_batch:
        (actions,) = rows
        return dict(actions)
    if len({len(value) for row in rows for value in row.values()}) > 1:
        raise ValueError("the policy's chunks are of different lengths, which one reply cannot hold: ask one by one")
    together = {key: np.stack([row[key] for row in rows]) for key in rows[0]}
    return [{key.removeprefix("action.") if form.is_nested else key: value for key, value in together.items()}, {}]


def _flat(observation: Mapping[Any, Any], is_nested: bool) -> dict[str, Any]:
    if not is_nested:
        return {check_name(str(key)): value for key, value in observation.items()}
    flat: dict[str, Any] = {}
    for modality, values in observation.items():
        if not isinstance(values, Mapping):
            raise ValueError(f"{quote(modality)} must be a map, not {quote(values)}")
        prefix = "" if modality == "language" else f"{modality}."
        flat.update({check_name(f"{prefix}{key}"): value for key, value in values.items()})
    return flat


def _rows(form: Form, key: str, value: object) -> list[Any]:
    """What is there for each episode of the batch, without its time."""
    if isinstance(value, np.ndarray):
        if not form.has_batch:
            value = value[None]
        if value.ndim < 2 or not len(value) or value.shape[1] != 1:
            expected = "(batch, 1, …)" if form.has_batch else "(1, …)"
            raise ValueError(f"{key} must be of shape {expected}, not {value.shape[0 if form.has_batch else 1 :]}")
        _check_batch(key, len(value))
        return list(value[:, 0])
    texts = [value] if isinstance(value, str) else value
    if isinstance(texts, list):
        _check_batch(key, len(texts))
    if isinstance(texts, list) and form.is_nested:
        texts = [text[0] if isinstance(text, list) and len(text) == 1 else None for text in texts]
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{key} must be an array or a list of texts, not {quote(value)}")
    return texts


def _check_batch(key: str, size: int) -> None:
    if size > MAX_BATCH:
        raise ValueError(f"{key} is of a batch of {size}, but at most {MAX_BATCH} episodes are taken at once")
