"""A policy in a process of its own, which all workers ask: one copy of a model, however many workers there are."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import NamedTuple

from robodx.errors import Stop, UserError
from robodx.policies.remote import Declared, declared
from robodx.running.workers import Job, begin, die_with_driver, make
from robodx.wires import openpi
from robodx.wires.serving import Endpoint


class Lodged(NamedTuple):
    """A job whose policy is reached at an address of this machine, and what the policy says of itself."""

    job: Job
    policy: Declared


@contextmanager
def policy_process(job: Job) -> Iterator[Lodged]:
    """Build the job's policy in another process, for the time of the block."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_live, args=(job, there), daemon=True)
    process.start()
    there.close()
    try:
        try:
            said = here.recv()
        except EOFError:
            process.join()
            raise UserError(
                f'the process of the policy "{job.policy}" died while it was built, with exit code {process.exitcode}'
            ) from None
        if isinstance(said, BaseException):
            raise said
        port, told = said
        yield Lodged(replace(job, policy=f"openpi://127.0.0.1:{port}", preset=None), told)
    finally:
        process.kill()
        process.join()
        here.close()


def _live(job: Job, connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a policy prints is for a person to read, never part of a command's answer.
    sys.stdout = sys.stderr
    threading.Thread(target=die_with_driver, daemon=True).start()
    try:
        begin(job, 0)
        policy = make(job)
        endpoint = Endpoint(policy, names=openpi.OpenPi.names)
        openpi.serve(endpoint, "127.0.0.1", 0, lambda port: connection.send((port, declared(policy))))
    except (UserError, Stop, OSError) as error:
        connection.send(error)
    except Exception:
        connection.send(RuntimeError(f"the policy's process failed:\n{traceback.format_exc()}"))
    os._exit(1)
