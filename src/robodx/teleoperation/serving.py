"""Answers the operator's page from a thread of its own; the simulator stays in the main thread."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from robodx.report.viewer.serving import open_port
from robodx.running.generating import Generated, write
from robodx.teleoperation.app import make_app
from robodx.teleoperation.console import Console
from robodx.teleoperation.session import Session


def teleoperate(
    session: Session,
    on_ready: Callable[[str], None],
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    licence: str = "apache-2.0",
    tell: Callable[[str], None] = lambda line: None,
) -> Generated:
    """Have the missing situations driven, and write the data set; `on_ready` is told the address with its token."""
    console = session.console
    if not session.missing:
        return write(session.record(), licence=licence)
    with served(console, host=host, port=port) as address:
        on_ready(address)
        try:
            recorded = session.record(tell)
            console.tell("writing", f"{len(recorded.good)} episodes are being written.")
            found = write(recorded, licence=licence)
        except BaseException:
            console.tell("ended", "robodx teleop has stopped. What was saved is kept; the same command goes on.")
            console.await_farewell()
            raise
        console.tell("ended", f"Done. {found.episodes} episodes are in {found.data.name}.")
        console.await_farewell()
        return found


@contextmanager
def served(console: Console, *, host: str = "127.0.0.1", port: int | None = None) -> Iterator[str]:
    """The address, with its token, for the time of the block."""
    token = secrets.token_urlsafe(24)
    with open_port(host, port) as listener:
        config = uvicorn.Config(
            make_app(console, token), log_level="warning", access_log=False, server_header=False, lifespan="off",
            ws="none", http="h11", timeout_graceful_shutdown=1,
        )  # fmt: skip
        server = uvicorn.Server(config)
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [listener]}, name="robodx-teleop-server", daemon=True
        )
        thread.start()
        name = f"[{host}]" if ":" in host else host
        try:
            yield f"http://{name}:{listener.getsockname()[1]}/?token={token}"
        finally:
            server.should_exit = server.force_exit = True
            thread.join()
