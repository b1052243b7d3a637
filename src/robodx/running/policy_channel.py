"""The calls to a policy, in order: made directly, or in a separate thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from robodx.users_code import contained

# How long a policy's last call is waited for when a rollout is broken off: long enough that the next rollout does not
# meet it, short enough that a policy that hangs does not hold up Ctrl-C.
PATIENCE_S = 1.0
# A Ctrl-C that comes just before a wait begins is noticed only when the wait ends.
GLANCE_S = 0.1


class Answer(NamedTuple):
    """What a call of the policy came to; `seconds` is the call alone, without its waiting in line."""

    value: Any
    error: BaseException | None
    seconds: float


class PolicyChannel:
    """The one way to the policy: calls are answered in the order in which they are made. Here: at once."""

    def __init__(self) -> None:
        self._answers: SimpleQueue[Answer] = SimpleQueue()

    def call(self, method: Callable[[Any], object], argument: Sequence[object]) -> None:
        start = time.perf_counter()
        value, error = None, None
        try:
            with contained("the policy"):
                value = method(argument)
        except BaseException as thrown:  # what is none of FAILURES goes on where the answer is taken
            error = thrown
        self._answers.put(Answer(value, error, time.perf_counter() - start))

    @property
    def has_answer(self) -> bool:
        return not self._answers.empty()

    def answer(self) -> Answer:
        return self._answers.get()

    def close(self) -> None: ...


class ThreadedPolicyChannel(PolicyChannel):
    """Calls are made in a thread of their own; a daemon, so that one in a call that never ends holds nothing up."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: SimpleQueue[tuple[Callable[[Any], object], Sequence[object]] | None] = SimpleQueue()
        self._is_closed = False
        # With the caller's context: what it has set for this thread holds for the policy too, where Python lets it.
        self._thread = Thread(target=copy_context().run, args=(self._serve,), name="robodx-policy", daemon=True)
        self._thread.start()

    def call(self, method: Callable[[Any], object], argument: Sequence[object]) -> None:
        self._calls.put((method, argument))

    def answer(self) -> Answer:
        while True:
            with suppress(Empty):
                return self._answers.get(timeout=GLANCE_S)

    def close(self) -> None:
        self._is_closed = True
        self._calls.put(None)
        self._thread.join(PATIENCE_S)

    def _serve(self) -> None:
        # What still stands in a closed line is nobody's question any more.
        while (call := self._calls.get()) is not None and not self._is_closed:
            super().call(*call)
