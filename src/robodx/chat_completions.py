"""A client of chat completions, as most servers of language models speak them: pictures in, checked JSON out."""

from __future__ import annotations

import base64
import http.client
import json
import math
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from robodx.errors import UserError
from robodx.output import shortened
from robodx.timed_sockets import TimedTlsSocket, TooMuch, timed

PATH = "/chat/completions"
# Times that a server that is busy, or does not answer, is asked in all; and the longest that it is waited for between.
ATTEMPTS = 4
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
# Refusals that may pass, beside failures of the server.
PASSING = (408, 409, 425, 429)
# Times that a model is asked which does not answer as asked, and how much it is shown of what it said.
ANSWERS = 3
LONGEST_RETOLD = 2000
LARGEST_REPLY_BYTES = 4_000_000
# On top of a reply's own bytes: its headers, and the sizes of its chunks.
ENVELOPE_BYTES = 2**20
# How much a user is told of what a server or a model said.
LONGEST_SAID = 300
T = TypeVar("T")


class ChatError(UserError):
    """The endpoint cannot be used as it is; the message says why, and what could be done."""


class BadReply(ChatError):
    """The endpoint answered, and the answer is none: another question may bring one."""


@dataclass(frozen=True)
class Endpoint:
    """Where a model is asked. `url` is the base of the API, as in http://localhost:8000/v1."""

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    # Of one attempt, from the first byte that is sent to the last that is read.
    timeout_s: float = 60.0
    # Where the key is read from, to tell a user.
    key_name: str = "the environment"

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            is_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address:
            raise ChatError(f'"{self.url}" is no address of an API: write http://HOST:PORT/v1 or https://HOST/v1')
        if parts.username or parts.password:
            raise ChatError(f"the address of an API holds no password: put the key into {self.key_name}")
        if self.key and not (self.key.isascii() and self.key.isprintable()):
            # It could not be sent, and the error of sending it would show it.
            raise ChatError(f"the key in {self.key_name} must be plain ASCII, and is not")

    @property
    def address(self) -> str:
        url = self.url.rstrip("/")
        return url if url.endswith(PATH) else url + PATH


def ask(
    endpoint: Endpoint,
    question: str,
    png: bytes,
    schema: Mapping[str, Any],
    read: Callable[[Any], T],
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """What `read` makes of the JSON that the model answers of a picture; `BadReply` if it never answers as asked.

    `read` raises ValueError for what is no answer: the model is told what is wrong with it, and asked again. The
    question says the shape as well, for servers that know no schemas.
    """
    asked = {"role": "user", "content": [{"type": "text", "text": question}, picture_part(png)]}
    messages: list[dict[str, Any]] = [asked]
    problem = ""
    for _ in range(ANSWERS):
        try:
            said = complete(endpoint, messages, schema, sleep=sleep)
        except BadReply as error:
            problem = str(error)
            continue
        try:
            return read(_json(said))
        except ValueError as error:
            wrong = _short(str(error))
            problem = f"{wrong}. It said: {_short(said)}"
            messages = [
                asked,
                {"role": "assistant", "content": said[:LONGEST_RETOLD]},
                {"role": "user", "content": f"That was not valid: {wrong}. Answer again, with the JSON alone."},
            ]
    who = f'the model "{endpoint.model}" at {endpoint.address}'
    raise BadReply(f"{who} did not answer as asked, {ANSWERS} times in a row: {problem}")


def picture_part(png: bytes) -> dict[str, Any]:
    """A picture as a part of a message."""
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(png).decode()}"}}


def complete(
    endpoint: Endpoint,
    messages: Sequence[Mapping[str, Any]],
    schema: Mapping[str, Any],
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """What the model says. It is asked for JSON of this shape; servers that know no schemas are asked without.

    A busy or failing server is asked again; what another attempt would not change is an error at once.
    """
    shape = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": dict(schema)}}
    body = {"model": endpoint.model, "messages": list(messages), "temperature": 0, "response_format": shape}
    problem, wait_s = "", 0.0
    for attempt in range(ATTEMPTS):
        if attempt:
            sleep(wait_s)
        wait_s = min(FIRST_WAIT_S * 2**attempt, LONGEST_WAIT_S)
        try:
            answer = _post(endpoint, body)
        except TooMuch:
            raise BadReply(f"the reply has more than {LARGEST_REPLY_BYTES / 1e6:g} MB") from None
        except (http.client.HTTPException, OSError, ValueError) as error:
            problem = _why_none(endpoint, error)
            continue
        if answer.status < 300:
            return _said(answer.content)
        says = answer.content.decode(errors="replace")
        knows_no_schemas = answer.status in (400, 422) and ("response_format" in says or "json_schema" in says)
        if knows_no_schemas and body.pop("response_format", None):
            wait_s = 0.0
            continue
        if answer.status not in PASSING and answer.status < 500:
            raise _refused(endpoint, answer, says)
        problem = "is busy (429)" if answer.status == 429 else f"failed ({answer.status})"
        wait_s = _asked_to_wait(answer.headers.get("Retry-After"), wait_s)
    raise ChatError(f"{endpoint.address} {problem}, {ATTEMPTS} times in a row")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A key is for the host that was named."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class _Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes


class _Connection(http.client.HTTPConnection):
    """Its time limit is for the whole exchange; a server that sends a byte now and then meets it too."""

    def connect(self) -> None:
        end_s = time.monotonic() + (self.timeout or 0.0)
        super().connect()
        sock = self.sock if isinstance(self.sock, TimedTlsSocket) else timed(self.sock)
        sock.limit(end_s, LARGEST_REPLY_BYTES + ENVELOPE_BYTES)
        self.sock = sock


class _TlsConnection(_Connection, http.client.HTTPSConnection): ...


class _Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, req)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_TlsConnection, req, context=_tls())


@cache
def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.sslsocket_class = TimedTlsSocket
    return context


def _post(endpoint: Endpoint, body: Mapping[str, Any]) -> _Answer:
    headers = {"Content-Type": "application/json"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    request = urllib.request.Request(endpoint.address, json.dumps(body).encode(), headers, method="POST")
    opener = urllib.request.build_opener(_NoRedirect, _Http, _Https)
    try:
        answer = opener.open(request, timeout=endpoint.timeout_s)
    except urllib.error.HTTPError as refusal:
        answer = refusal
    with answer:
        try:
            content: bytes = answer.read(LARGEST_REPLY_BYTES + 1)
            if len(content) > LARGEST_REPLY_BYTES:
                raise TooMuch
        except (http.client.HTTPException, OSError):
            # A refusal is one, whatever becomes of its text.
            if answer.status < 300:
                raise
            content = b""
    return _Answer(answer.status, answer.headers, content)


def _why_none(endpoint: Endpoint, error: Exception) -> str:
    """What is said of a server that gave no answer."""
    reason = getattr(error, "reason", error) or type(error).__name__
    if isinstance(reason, TimeoutError):
        return f"did not answer within {endpoint.timeout_s:g} s"
    if isinstance(reason, http.client.HTTPException) and not isinstance(reason, http.client.InvalidURL):
        return f"sends no whole reply of HTTP: {type(reason).__name__}: {_short(str(reason))}"
    return f"cannot be reached: {_short(str(reason))}"


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
    # Halves of characters can be read from JSON, and cannot be written.
    return text.encode(errors="replace").decode()


def _json(text: str) -> Any:
    """A fence of Markdown around it is forgiven."""
    lines = text.strip().splitlines()
    if len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```":
        lines = lines[1:-1]
    try:
        return json.loads("\n".join(lines))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON ({error})") from None


def _refused(endpoint: Endpoint, answer: _Answer, says: str) -> ChatError:
    code, advice = answer.status, ""
    if code in (401, 403):
        advice = f"it {'refuses the key' if endpoint.key else 'wants a key, and none is'} in {endpoint.key_name}"
    elif 300 <= code < 400:
        location = _short(answer.headers.get("Location", "nowhere"))
        advice = f"it leads elsewhere, to {location}: name that address if it is right"
    elif code == 404:
        advice = f'no such address, or no model "{endpoint.model}"'
    said = ". ".join(part for part in (advice, _short(says)) if part)
    return ChatError(f"{endpoint.address} answers {code}: {said or 'it does not say why'}")


def _short(text: str) -> str:
    return shortened(" ".join(text.split()), LONGEST_SAID)


def _asked_to_wait(seconds: str | None, otherwise_s: float) -> float:
    try:
        asked_s = float(seconds or "")
    except ValueError:
        # Not said, or as a date.
        return otherwise_s
    return otherwise_s if math.isnan(asked_s) else min(max(asked_s, 0.0), LONGEST_WAIT_S)
