"""Opens the viewer's port and answers until it is interrupted."""

from __future__ import annotations

import errno
import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from robodx.errors import UserError
from robodx.hosts import is_loopback
from robodx.report.viewer.app import make_app
from robodx.report.viewer.drawing import Films
from robodx.report.viewer_links import PORT

# If nobody asked for a port, the next free one does as well.
TRIED_PORTS = 20


def view(
    root: Path,
    on_ready: Callable[[str], None],
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    films: Films | None = None,
) -> None:
    """Serve the viewer of a folder until Ctrl-C; `on_ready` is told its address, with the token where one is needed."""
    if not root.is_dir():
        raise UserError(f"{root} is no folder: give a run folder, or one that holds runs")
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    with open_port(host, port) as listener:
        open_at = listener.getsockname()[1]
        config = uvicorn.Config(
            make_app(root, token, films), log_level="warning", access_log=False, server_header=False, lifespan="off",
            ws="none", http="h11", timeout_graceful_shutdown=1,
        )  # fmt: skip
        name = f"[{host}]" if ":" in host else host
        on_ready(f"http://{name}:{open_at}/" + (f"?token={token}" if token else ""))
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            return
        finally:
            if films is not None:
                films.close()


def open_port(host: str, port: int | None) -> socket.socket:
    """Listen there. A port that was asked for and is taken is an error; else the next free one is taken."""
    wanted = [port] if port is not None else [*range(PORT, PORT + TRIED_PORTS), 0]
    for one in wanted:
        try:
            family = socket.getaddrinfo(host, one, type=socket.SOCK_STREAM)[0][0]
            return socket.create_server((host, one), family=family)
        except socket.gaierror as error:
            raise UserError(f'No interface "{host}": {error.strerror}') from error
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise UserError(f"{host}:{one} cannot be opened: {error.strerror}") from error
    raise UserError(f"port {port} of {host} is in use: choose another with --port, or 0 for any that is free")
