"""A small server that speaks as OpenAI-compatible ones do: it answers with what a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = str | tuple[int, str]

SOLID_AND_BOX = json.dumps(
    {
        "objects": [
            {
                "name": "cube", "categories": ["cube", "geometry", "object"], "colour": "red", "size": "small",
                "position": "left", "state": "solid",
            },
            {
                "name": "box", "categories": ["box", "container", "object"], "colour": "yellow", "size": "big",
                "position": "middle", "state": "hollow",
            },
        ]
    }
)  # fmt: skip


@dataclass
class VlmServer:
    url: str
    # What was asked: the bodies, and the headers of each.
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def vlm_server(*replies: Reply | Callable[[dict[str, Any]], Reply]) -> Iterator[VlmServer]:
    """Answers with these in turn, the last one from then on: what the model says, or a status and a raw body."""
    state: list[VlmServer] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            server = state[0]
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.asked.append(body | {"path": self.path})
            server.headers.append(dict(self.headers))
            reply = replies[min(len(server.asked), len(replies)) - 1]
            said = reply(body) if callable(reply) else reply
            status, text = (200, _envelope(said)) if isinstance(said, str) else said
            self.send_response(status)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *words: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        state.append(VlmServer(f"http://127.0.0.1:{http.server_address[1]}/v1"))
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state[0]
        finally:
            http.shutdown()
            thread.join()


def _envelope(said: str) -> str:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": said}}]})
