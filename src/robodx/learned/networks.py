"""Networks in ONNX files, run by onnxruntime on one core."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.learned.acting import LearnedPolicy, NetworkCard

# The card is kept in the file's own metadata, as JSON, under this name.
CARD = "robodx"
# Of a card: the file beside it that holds the network whose tokens this one reads.
ENCODER = "encoder"
ENCODER_DIGEST = "encoder_digest"
# Of the policies that ship; docs/learned.md has their model cards.
WEIGHTS = Path(__file__).parent / "weights"


def load(path: Path) -> LearnedPolicy:
    """The policy in a file that examples/training/export.py wrote."""
    session = _session(path)
    told, head = _told(session, path), _Runner(session)
    encoder = _encoder(path, told) if ENCODER in told else None

    def network(inputs: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        chunk: NDArray[np.float32] = head(inputs if encoder is None else {**inputs, **encoder(inputs)})["chunk"][0]
        return chunk

    try:
        # The digest of an encoder's file stands in the card, and so in the digest of this file.
        return LearnedPolicy(NetworkCard.of(told), network, file_digest(path))
    except ValueError as error:
        raise UserError(f"{path} cannot be run: {error}") from error


def shipped(name: str) -> LearnedPolicy:
    """The policy of this name whose weights lie in the package."""
    path = WEIGHTS / f"{name}.onnx"
    if not path.is_file():
        raise UserError(f"the weights of {name} are not in this installation of robodx: there is no {path}")
    return load(path)


def card_of(path: Path) -> dict[str, Any]:
    """All that a file says of its network: how to run it, and how it was trained."""
    return _told(_session(path), path)


def _told(session: Any, path: Path) -> dict[str, Any]:
    stored = session.get_modelmeta().custom_metadata_map.get(CARD)
    if stored is None:
        raise UserError(f"{path} says nothing of how to run it: it was not written by examples/training/export.py")
    told: dict[str, Any] = json.loads(stored)
    return told


def _encoder(path: Path, told: Mapping[str, Any]) -> _Runner:
    beside = path.with_name(told[ENCODER])
    encoder = _Runner(_session(beside))
    if file_digest(beside) != told.get(ENCODER_DIGEST):
        raise UserError(f"{path} reads the tokens of another network than {beside} now holds: export it again")
    return encoder


def file_digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()


class _Runner:
    """Gives a session what it asks for, of all that there is."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._takes = [one.name for one in session.get_inputs()]
        self._gives = [one.name for one in session.get_outputs()]

    def __call__(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float32]]:
        found = self._session.run(self._gives, {name: inputs[name] for name in self._takes})
        return dict(zip(self._gives, found, strict=True))


def _session(path: Path) -> Any:
    if not path.is_file():
        raise UserError(f"there is no network {path}")
    try:
        import onnxruntime
    except ImportError as error:
        raise UserError("learned policies need onnxruntime: pip install 'robodx[learned]'") from error
    options = onnxruntime.SessionOptions()
    # One core a worker; and so the same sums in the same order.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        # Of its many kinds of errors none is ours to tell apart: whatever it is, the file cannot be run.
        raise UserError(f"{path} cannot be run by onnxruntime: {str(error).splitlines()[0]}") from error
