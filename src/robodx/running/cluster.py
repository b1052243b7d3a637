"""Workers as actors of a Ray cluster, and policies as actors that the workers share.

The machines share no files: an environment actor sends trajectories back with the episodes, and the driver alone writes
the run folder.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from robodx.errors import UserError
from robodx.output import print_text
from robodx.records.trial import Trial
from robodx.running import threads
from robodx.running.actors import EnvironmentActor, Gone, PolicyActor, answer_of, import_ray
from robodx.running.observers import Finished
from robodx.running.worker_pool import WorkerLost
from robodx.running.workers import STOP_S, Job
from robodx.wires.remote import Declared

# A cluster started for one run holds observations and trajectories under way, no more.
OBJECT_STORE_BYTES = 512 * 2**20
# After so long without a single actor ready, someone who waits is told what the cluster has.
PATIENCE_S = 30.0
KNOCK_S = 10.0
# Ray's words when none runs on this machine and RAY_ADDRESS names none. One that does not answer is another matter.
NO_CLUSTER = "Could not find any running Ray instance"


class Cluster:
    """A connection to Ray, and the actors that one job has there: if another comes, they are not kept."""

    def __init__(self, ray: ModuleType, policy_actors: int, policy_gpus: float) -> None:
        self._ray = ray
        self._policy_actors, self._policy_gpus = policy_actors, policy_gpus
        # What the actors were made for.
        self._job: Job | None = None
        self._policies: list[Any] = []
        self._pool: Actors | None = None

    def declared(self, job: Job) -> Declared | None:
        """As the policy actors tell it, so that the driver need not build the policy; None if there are none."""
        if not self._policy_actors:
            return None
        self._turn_to(job)
        if not self._policies:
            # Ray restarts them, because environment actors hold on to them.
            make_actor = _remote(self._ray, PolicyActor, num_cpus=0, num_gpus=self._policy_gpus, max_restarts=-1)
            self._policies = [make_actor(job, os.getcwd(), index) for index in range(self._policy_actors)]
        call = self._policies[0].declare.remote()
        if not self._ray.wait([call], timeout=PATIENCE_S)[0]:
            _tell_waiting(self._ray, f"policy actors with {self._policy_gpus:g} GPUs each")
        try:
            declaration: Declared = answer_of(self._ray, call)
        except Gone as gone:
            raise UserError(f'the policy actor died while it loaded "{job.policy}": {gone}') from None
        if declaration.spec.is_privileged:
            raise UserError(
                f'the policy "{job.policy}" uses the simulator\'s state, which is not transferred between processes: '
                "run it without policy actors"
            )
        return declaration

    @contextmanager
    def pool(self, job: Job, size: int) -> Iterator[Actors]:
        """Kept for the next round, unless the block ends with an exception."""
        self._turn_to(job)
        if self._pool is not None and self._pool.size != size:
            self._pool.close()
            self._pool = None
        if self._pool is None:
            self.declared(job)
            self._pool = Actors(self._ray, job, size, self._policies)
        try:
            yield self._pool
        except BaseException:
            # What still runs is nobody's any more.
            self.close()
            raise

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
        _let_go(self._ray, self._policies)
        for actor in self._policies:
            self._ray.kill(actor)
        self._job, self._policies, self._pool = None, [], None

    def _turn_to(self, job: Job) -> None:
        """Where trajectories go is the driver's own business."""
        job = job.elsewhere
        if job != self._job:
            self.close()
            self._job = job


@contextmanager
def connect(
    address: str = "auto", *, workers: int = 1, policy_actors: int = 0, policy_gpus: float = 0.0
) -> Iterator[Cluster]:
    """Use the cluster at an address for the time of the block.

    `auto` is the one this process is connected to, else the one that RAY_ADDRESS names or that runs on this machine,
    else one that is started here for `workers`, as `local` always is. Only a cluster that was started here is stopped.
    """
    if policy_actors < 0 or policy_gpus < 0:
        raise UserError(f"{policy_actors} policy actors with {policy_gpus:g} GPUs each: neither may be negative")
    ray = import_ray()
    was_connected = ray.is_initialized()
    if not was_connected:
        with _own_signals():
            _init(ray, address, workers)
    elif address not in ("auto", ray.get_runtime_context().gcs_address):
        raise UserError(f'this process is connected to {ray.get_runtime_context().gcs_address}, not to "{address}"')
    cluster = Cluster(ray, policy_actors, policy_gpus)
    try:
        yield cluster
    finally:
        cluster.close()
        if not was_connected:
            ray.shutdown()


def _init(ray: ModuleType, address: str, workers: int) -> None:
    # What actors print stays in Ray's logs: it is no part of a command's answer.
    quietly: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.WARNING}
    if address != "local":
        try:
            _knock(os.environ.get("RAY_ADDRESS", "") if address == "auto" else address)
            ray.init(address=address, **quietly)
            return
        except (OSError, RuntimeError, ValueError, ImportError) as error:
            if address != "auto" or NO_CLUSTER not in str(error):
                raise UserError(
                    f'The Ray cluster "{address}" cannot be reached: {str(error).rstrip(".")}. '
                    "Write HOST:PORT as `ray start --head` prints it, ray://HOST:PORT for a client's connection, auto "
                    "or local; if the cluster requires a token, set RAY_AUTH_MODE=token here too."
                ) from error
    threads.pin()
    ray.init(
        address="local",
        # As with processes, more workers than cores may be asked for.
        num_cpus=max(workers, os.cpu_count() or 1),
        include_dashboard=False,
        object_store_memory=OBJECT_STORE_BYTES,
        **quietly,
    )


def _knock(address: str) -> None:
    """Of a HOST:PORT where nobody listens Ray would try for many minutes."""
    host, _, port = address.rpartition(":")
    if port.isdigit() and "//" not in host:
        socket.create_connection((host, int(port)), timeout=KNOCK_S).close()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray makes a polite kill end the process; here it stops the run, which keeps what is finished."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _remote(ray: ModuleType, actor: type, **options: Any) -> Any:
    """What makes a remote one, in a process in which numpy is pinned from the start."""
    threads.pin()
    pinned = {name: os.environ[name] for name in threads.VARIABLES}
    return ray.remote(actor).options(runtime_env={"env_vars": pinned}, **options).remote


def _tell_waiting(ray: ModuleType, what: str) -> None:
    total = ray.cluster_resources()
    has = " and ".join(f"{total.get(name, 0):g} {name}s" for name in ("CPU", "GPU"))
    print_text(f"Still waiting for {what}; the cluster has {has} in all.", file=sys.stderr)


def _let_go(ray: ModuleType, actors: Sequence[Any]) -> None:
    """Have their policies closed; one that hangs is not waited for long."""
    calls = [actor.close.remote() for actor in actors]
    if calls:
        ray.wait(calls, num_returns=len(calls), timeout=STOP_S)


class Actors:
    """A worker pool of environment actors.

    One that dies is replaced from here: of an actor that Ray restarts it cannot be told whether it waits for a place or
    dies again and again.
    """

    def __init__(self, ray: ModuleType, job: Job, size: int, policies: list[Any]) -> None:
        self.size = size
        self.idle: set[int] = set()
        self._ray, self._policies = ray, policies
        # The driver writes.
        self._job = job.elsewhere
        self._make = _remote(ray, EnvironmentActor, num_cpus=1)
        self._patience_s: float | None = PATIENCE_S
        self._actors: dict[int, Any] = {}
        self._calls: dict[Any, int] = {}
        for index in range(size):
            self._start(index)

    def send(self, worker: int, trials: Sequence[Trial], attempt: int) -> None:
        self.idle.discard(worker)
        self._calls[self._actors[worker].run.remote(trials, attempt)] = worker

    def wait(self) -> Iterator[tuple[int, Finished | WorkerLost | None]]:
        done, _ = self._ray.wait(list(self._calls), timeout=self._patience_s)
        if not done:
            _tell_waiting(self._ray, f"the first of {self.size} environment actors with 1 CPU each")
        self._patience_s = None
        for call in done:
            index = self._calls.pop(call)
            event: Finished | WorkerLost | None
            try:
                event = answer_of(self._ray, call)
            except Gone as gone:
                self._ray.kill(self._actors[index])
                self._start(index)
                event = WorkerLost("environment actor", str(gone))
            else:
                if isinstance(event, Finished):
                    self._calls[self._actors[index].proceed.remote()] = index
                else:
                    self.idle.add(index)
            yield index, event

    def close(self) -> None:
        _let_go(self._ray, [self._actors[index] for index in self.idle])
        for actor in self._actors.values():
            self._ray.kill(actor)

    def _start(self, index: int) -> None:
        policy_actor = self._policies[index % len(self._policies)] if self._policies else None
        self._actors[index] = self._make(self._job, os.getcwd(), index, policy_actor)
        self._calls[self._actors[index].ready.remote()] = index
