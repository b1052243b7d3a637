"""A small server that speaks chat completions, and says what a test wants it to say."""

from __future__ import annotations

import json
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

# A scene, as a scene parser asks for it.
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


class Reply(NamedTuple):
    """One answer of the server: a text is what the model says, bytes are all that is sent."""

    content: str | bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    after_s: float = 0.0


class Raw(NamedTuple):
    """What goes over the wire as it is, piece by piece; then the connection ends."""

    pieces: Iterable[bytes]
    every_s: float = 0.0
    # As a server does that dies.
    resets: bool = False


@dataclass
class Chat:
    """What the server will say, the last again and again, and what it was asked."""

    url: str
    replies: list[Reply | Raw]
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    def next(self) -> Reply | Raw:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextmanager
def chat_server(*replies: Reply | Raw | str, tls: ssl.SSLContext | None = None) -> Iterator[Chat]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            chat.asked.append({"path": self.path, **body})
            chat.keys.append(self.headers["Authorization"])
            reply = chat.next()
            if isinstance(reply, Raw):
                for piece in reply.pieces:
                    self.wfile.write(piece)
                    time.sleep(reply.every_s)
                if reply.resets:
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    # At once: what is closed in an orderly way later is of another number.
                    os.close(self.connection.detach())
                return
            time.sleep(reply.after_s)
            content = reply.content
            if isinstance(content, str):
                content = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()
            self.send_response(reply.status)
            for header in (("Content-Length", str(len(content))), *reply.headers):
                self.send_header(*header)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Who asked has hung up, as a test may want."""

    with Server(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        said = [Reply(reply) if isinstance(reply, str) else reply for reply in replies]
        chat = Chat(f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}/v1", said)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield chat
        finally:
            server.shutdown()
            thread.join()
