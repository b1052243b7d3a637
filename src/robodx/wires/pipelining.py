"""Requests that follow each other without waiting, answered in their order: one loop for every wire that can."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeVar

from robodx.wires.base import Reply, WireError

# Requests under way before the first reply is waited for: enough to keep a server busy, little enough for its buffers.
IN_FLIGHT = 8
Sent = TypeVar("Sent")


class Ended(Exception):
    """The server answered with an error and ended the connection: what it had not looked at yet is sent again."""

    def __init__(self, error: WireError) -> None:
        super().__init__(str(error))
        self.error = error


def ask_ahead(
    count: int,
    send: Callable[[int], Sent],
    receive: Callable[[Sent], Reply | WireError],
    *,
    connect: Callable[[], object],
    lose: Callable[[], None],
    in_flight: int = IN_FLIGHT,
) -> list[Reply | WireError]:
    """A reply or an error for each of `count` requests, of which up to `in_flight` are sent before one is answered.

    `send` is called with a request's number, `receive` with what `send` gave for it, and `connect` first, when nothing
    is under way. An error that `receive` returns is one request's own. One that is raised is the connection's: after
    `lose`, the rest err alike.
    """
    replies: list[Reply | WireError] = []
    under_way: deque[Sent] = deque()
    try:
        while len(replies) < count:
            if not under_way:
                connect()
            while len(under_way) < in_flight and len(replies) + len(under_way) < count:
                try:
                    under_way.append(send(len(replies) + len(under_way)))
                except WireError:
                    # It has closed, but what it said before that has not been read.
                    if under_way:
                        break
                    raise
            try:
                replies.append(receive(under_way.popleft()))
            except Ended as end:
                replies.append(end.error)
                under_way.clear()
    except WireError as error:
        lose()
        replies += [error] * (count - len(replies))
    except BaseException:
        lose()
        raise
    return replies
