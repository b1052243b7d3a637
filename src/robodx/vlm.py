"""A vision-language model behind an OpenAI-compatible endpoint: a picture and a question in, checked JSON out."""

from __future__ import annotations

import base64
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from robodx.errors import UserError

# The endpoint up to its version, as http://localhost:8000/v1; the model there; a key, never in a policy's name.
URL, MODEL, KEY = "ROBODX_VLM_URL", "ROBODX_VLM_MODEL", "ROBODX_VLM_KEY"
ATTEMPTS = 3
TIMEOUT_S = 60.0
FIRST_PAUSE_S = 0.5
MAX_REPLY_BYTES = 2**22
# How much of what a server said is told.
MAX_TEXT = 300
# Requests that may do better later; all other refusals are final.
PASSING = (408, 409, 425, 429)
T = TypeVar("T")


class VlmError(RuntimeError):
    """The model gave no answer, or none that is one: an error of what asked, never its result."""


class _Later(VlmError):
    """May do better another time."""


@dataclass(frozen=True)
class Vlm:
    """Where the model is. The key is shown nowhere."""

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    timeout_s: float = TIMEOUT_S
    pause_s: float = FIRST_PAUSE_S

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(f'{URL} is "{self.url}": it must be an address such as http://localhost:8000/v1')
        if parts.username or parts.password:
            raise UserError(f"{URL} holds a user or a password: a key goes into {KEY}")

    @classmethod
    def of_environment(cls) -> Vlm:
        missing = [name for name in (URL, MODEL) if not os.environ.get(name)]
        if missing:
            raise UserError(
                f"no vision-language model is set: {' and '.join(missing)} "
                f"must be in the environment ({URL}=http://HOST:PORT/v1, {MODEL}=NAME; a key goes into {KEY})"
            )
        return cls(os.environ[URL], os.environ[MODEL], os.environ.get(KEY) or None)

    def ask(self, question: str, picture: NDArray[np.uint8], schema: Mapping[str, Any], read: Callable[[Any], T]) -> T:
        """What `read` makes of the JSON that is answered; it raises ValueError for what is no answer.

        Such an answer is told what was wrong with it, and given another chance.
        """
        messages: list[dict[str, Any]] = [{"role": "user", "content": _content(question, picture)}]
        trouble: VlmError | None = None
        is_strict = True
        for attempt in range(ATTEMPTS):
            if isinstance(trouble, _Later):
                time.sleep(self.pause_s * 2 ** (attempt - 1))
            try:
                said = self._said(messages, schema if is_strict else None)
            except _Later as error:
                trouble = error
                continue
            except _NoSchemas:
                # Some servers know no schemas; the question says the shape as well.
                is_strict, trouble = False, VlmError(f"{self} takes no response_format")
                continue
            try:
                return read(json.loads(_without_fence(said)))
            except ValueError as error:
                trouble = VlmError(f"{self} did not answer as asked: {error}. It said: {_short(said)}")
                messages = [
                    messages[0],
                    {"role": "assistant", "content": said},
                    {"role": "user", "content": f"That was not valid: {error}. Answer again, with the JSON alone."},
                ]
        raise VlmError(f"{trouble} ({ATTEMPTS} attempts)") from trouble

    def _said(self, messages: list[dict[str, Any]], schema: Mapping[str, Any] | None) -> str:
        body: dict[str, Any] = {"model": self.model, "temperature": 0, "messages": messages}
        if schema is not None:
            stated = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": stated}
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        request = urllib.request.Request(
            f"{self.url.rstrip('/')}/chat/completions", json.dumps(body).encode(), headers, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_s) as response:
                received = response.read(MAX_REPLY_BYTES + 1)
        except urllib.error.HTTPError as error:
            raise self._refusal(error.code, error.read(MAX_REPLY_BYTES).decode(errors="replace")) from error
        except (OSError, ValueError) as error:
            raise _Later(f"{self} cannot be reached: {getattr(error, 'reason', error)}") from error
        if len(received) > MAX_REPLY_BYTES:
            raise VlmError(f"{self} answered more than {MAX_REPLY_BYTES >> 20} MiB")
        try:
            said = json.loads(received)["choices"][0]["message"]["content"]
        except (ValueError, LookupError, TypeError) as error:
            told = _short(received.decode(errors="replace"))
            raise _Later(f"{self} does not answer as an OpenAI-compatible server does: {told}") from error
        if not isinstance(said, str):
            raise _Later(f"{self} answered with no text: {_short(json.dumps(said))}")
        return said

    def _refusal(self, status: int, text: str) -> Exception:
        if status in (400, 422) and ("response_format" in text or "json_schema" in text):
            return _NoSchemas()
        kind = _Later if status in PASSING or status >= 500 else VlmError
        hint = f"; {KEY} must be its key" if status in (401, 403) else ""
        return kind(f"{self} refused with status {status}{hint}: {_short(text) or 'it does not say why'}")

    def __str__(self) -> str:
        return f"the vision-language model {self.model} at {self.url}"


class _NoSchemas(Exception):
    """The server refuses to be told the shape of its answer."""


def _content(question: str, picture: NDArray[np.uint8]) -> list[dict[str, Any]]:
    # Here, because it loads libraries for videos, which those who list policies need not wait for.
    from robodx.datasets.stills import to_png

    data = base64.b64encode(to_png(picture)).decode()
    return [
        {"type": "text", "text": question},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
    ]


def _without_fence(text: str) -> str:
    """Models like to put JSON between lines of ```."""
    lines = text.strip().splitlines()
    return "\n".join(lines[1:-1]) if len(lines) > 2 and lines[0].startswith("```") and lines[-1] == "```" else text


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_TEXT else f"{words[:MAX_TEXT]}…"
