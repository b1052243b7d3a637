"""A client of chat completions, as OpenAI's API and most servers of language models speak them, with pictures."""

from __future__ import annotations

import base64
import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from robodx.errors import UserError

PATH = "/chat/completions"
# Times that a server that is busy, or does not answer, is asked in all; and the longest that it is waited for between.
ATTEMPTS = 4
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
LARGEST_REPLY_BYTES = 4_000_000
LONGEST_SAID = 300


class ChatError(UserError):
    """The endpoint cannot be used as it is; the message says why, and what could be done."""


class BadReply(ChatError):
    """The endpoint answered, and the answer is none: another attempt may bring one."""


@dataclass(frozen=True)
class Endpoint:
    """Where a model is asked. `url` is the base of the API, as in http://localhost:8000/v1."""

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    timeout_s: float = 60.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ChatError(f'"{self.url}" is no address of an API: write http://HOST:PORT/v1 or https://HOST/v1')
        if parts.username or parts.password:
            raise ChatError("the address of an API holds no password: put the key into the environment")
        if not self.model:
            raise ChatError("which model is to be asked? Name one with --model")

    @property
    def address(self) -> str:
        url = self.url.rstrip("/")
        return url if url.endswith(PATH) else url + PATH


def picture_part(png: bytes) -> dict[str, Any]:
    """A picture as a part of a message."""
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(png).decode()}"}}


def complete(
    endpoint: Endpoint,
    messages: Sequence[Mapping[str, Any]],
    *,
    schema: Mapping[str, Any] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """What the model says. With a schema it is asked for JSON of that shape; servers that know no such thing ignore it.

    A busy or failing server is asked again; what another attempt would not change is an error at once.
    """
    body: dict[str, Any] = {"model": endpoint.model, "messages": list(messages), "temperature": 0}
    if schema is not None:
        shape = {"name": "reply", "strict": True, "schema": dict(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    problem, wait_s = "", 0.0
    for attempt in range(ATTEMPTS):
        if attempt:
            sleep(wait_s)
        wait_s = min(FIRST_WAIT_S * 2**attempt, LONGEST_WAIT_S)
        try:
            return _said(_post(endpoint, body))
        except urllib.error.HTTPError as error:
            with error:
                says = error.read(LARGEST_REPLY_BYTES).decode(errors="replace")
            if error.code in (400, 422) and "response_format" in body and "response_format" in says:
                # It speaks the API, but knows no schemas.
                del body["response_format"]
            elif error.code != 429 and error.code < 500:
                raise _refused(endpoint, error.code, says, error.headers.get("Location")) from None
            problem = "is busy (429)" if error.code == 429 else f"failed ({error.code})"
            wait_s = _asked_to_wait(error.headers.get("Retry-After"), wait_s)
        except TimeoutError:
            problem = f"did not answer within {endpoint.timeout_s:g} s"
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            reason = getattr(error, "reason", error) or type(error).__name__
            is_late = isinstance(reason, TimeoutError)
            problem = f"did not answer within {endpoint.timeout_s:g} s" if is_late else f"cannot be reached: {reason}"
    raise ChatError(f"{endpoint.address} {problem}, {ATTEMPTS} times in a row. The same command goes on later.")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A key is for the host that was named."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _post(endpoint: Endpoint, body: Mapping[str, Any]) -> bytes:
    headers = {"Content-Type": "application/json"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    request = urllib.request.Request(endpoint.address, json.dumps(body).encode(), headers, method="POST")
    with urllib.request.build_opener(_NoRedirect).open(request, timeout=endpoint.timeout_s) as answer:
        content: bytes = answer.read(LARGEST_REPLY_BYTES + 1)
    if len(content) > LARGEST_REPLY_BYTES:
        raise BadReply(f"the reply has more than {LARGEST_REPLY_BYTES / 1e6:g} MB")
    return content


def _said(content: bytes) -> str:
    try:
        answer = json.loads(content)
        text = answer["choices"][0]["message"]["content"]
    except (ValueError, RecursionError):
        raise BadReply(f"the reply is no JSON: {content[:80]!r}") from None
    except (KeyError, IndexError, TypeError):
        raise BadReply(f"the reply is no chat completion: {content[:80]!r}") from None
    if not isinstance(text, str):
        raise BadReply("the reply says nothing")
    return text


def _refused(endpoint: Endpoint, code: int, says: str, location: str | None) -> ChatError:
    said = " ".join(says.split())[:LONGEST_SAID]
    if code in (401, 403):
        advice = "it refuses the key" if endpoint.key else "it wants a key, and none is set"
        return ChatError(f"{endpoint.address} answers {code}: {advice}. {said}".rstrip())
    if 300 <= code < 400:
        return ChatError(
            f"{endpoint.address} leads elsewhere ({code}), to {location}: name that address if it is right"
        )
    if code == 404:
        return ChatError(
            f'{endpoint.address} answers 404: no such address, or no model "{endpoint.model}". {said}'.rstrip()
        )
    return ChatError(f"{endpoint.address} answers {code}: {said}")


def _asked_to_wait(seconds: str | None, otherwise_s: float) -> float:
    try:
        return min(max(float(seconds or ""), 0.0), LONGEST_WAIT_S)
    except ValueError:
        # Not said, or as a date.
        return otherwise_s
