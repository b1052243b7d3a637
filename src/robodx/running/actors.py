"""What runs in the processes of a Ray cluster: environment actors, policy actors, and the calls between them."""

from __future__ import annotations

import atexit
import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from robodx.errors import Stop, UserError
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, Policy, PolicySpec, opened
from robodx.records.trial import Trial
from robodx.running.observers import Finished
from robodx.running.rollout import FAILURES
from robodx.running.worker_pool import WorkerLost
from robodx.running.workers import Job, begin, run_here
from robodx.users_code import contained, really_exit
from robodx.wires.remote import Declared, declared

# Between two questions whether a policy actor is there again.
RETRY_S = 1.0


def import_ray() -> ModuleType:
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        raise UserError(f"Ray is not installed ({error}): pip install robodx[ray]") from error
    return ray


class _Stopped(UserError):
    """A Stop, on its way between processes: Ray takes what is no Exception for the death of the process."""


@contextmanager
def _portable_errors() -> Iterator[None]:
    """Let out only what is known at the other end too: a user's exception need not survive the way."""
    try:
        with contained("the policy, the task or a perturbation"):
            yield
    except Stop as stop:
        raise _Stopped(str(stop)) from None
    except (UserError, OSError) as error:
        raise (UserError if isinstance(error, UserError) else OSError)(str(error)) from None
    except FAILURES:
        raise RuntimeError(traceback.format_exc()) from None


class Gone(Exception):
    """An actor, its machine or its answer was lost."""


def answer_of(ray: ModuleType, call: Any) -> Any:
    """An answer, or what the actor itself raised."""
    try:
        return ray.get(call)
    except ray.exceptions.RayTaskError as error:
        # Of a user's mistake its own line is enough; anything else keeps the traceback from over there.
        raise (error.cause if isinstance(error.cause, UserError | OSError) else error) from None
    except ray.exceptions.RayError as error:
        raise Gone("".join(str(error).strip().splitlines()[:1])) from None


class EnvironmentActor:
    """Runs groups of trials, an episode a call."""

    def __init__(self, job: Job, folder: str, index: int, policy_actor: Any) -> None:
        self._job, self._folder, self._index, self._policy_actor = job, folder, index, policy_actor
        self._held = ExitStack()

    def ready(self) -> None:
        _settle(self._folder)
        with _portable_errors():
            begin(self._job, self._index)
            self._policy: Policy
            if self._policy_actor is None:
                self._policy = self._held.enter_context(opened(self._job.policy, self._job.preset))
            else:
                self._policy = ActorPolicy(self._policy_actor)

    def run(self, trials: Sequence[Trial], attempt: int) -> Finished | WorkerLost | None:
        """Begin a group, and answer as `proceed` does."""
        if isinstance(self._policy, ActorPolicy):
            with _portable_errors():
                why = self._policy.connect()
            if why is not None:
                return WorkerLost("policy actor", why, has_begun=False)
        self._episodes = run_here(trials, self._policy, self._job, attempt)
        return self.proceed()

    def proceed(self) -> Finished | WorkerLost | None:
        """The group's next episode, None at its end, or that the policy actor is lost."""
        with _portable_errors():
            finished = next(self._episodes, None)
        lost = self._policy.lost if isinstance(self._policy, ActorPolicy) else None
        if finished is not None and finished.episode.outcome == "error" and lost is not None:
            # With the actor went what it knew of every episode under way.
            self._episodes = iter(())
            return WorkerLost("policy actor", lost, is_shared=True)
        return finished

    def close(self) -> None:
        with _portable_errors():
            self._held.close()


class PolicyActor:
    """A policy that several environment actors use. If Ray restarts it, it knows nothing of the episodes under way."""

    def __init__(self, job: Job, folder: str, index: int) -> None:
        self._job, self._folder, self._index = job, folder, index
        self._policy: Policy | None = None
        self._held = ExitStack()
        self._known: set[str] = set()

    def is_up(self) -> bool:
        return True

    def declare(self) -> Declared:
        with _portable_errors():
            if self._policy is None:
                _settle(self._folder)
                begin(self._job, self._index)
                self._policy = self._held.enter_context(opened(self._job.policy, self._job.preset))
            return declared(self._policy)

    def reset(self, starts: Sequence[EpisodeStart]) -> bool:
        if self._policy is None:
            return False
        with _portable_errors():
            self._policy.reset(starts)
        self._known.update(start.episode_id for start in starts)
        return True

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception] | None:
        """None for an episode that began before this process did."""
        if self._policy is None or any(observation.episode_id not in self._known for observation in observations):
            return None
        with _portable_errors():
            return self._policy.act([_writable(observation) for observation in observations])

    def finish(self, ids: Sequence[str]) -> None:
        if self._policy is not None and self._known.issuperset(ids):
            with _portable_errors():
                self._policy.finish(ids)
            self._known.difference_update(ids)

    def close(self) -> None:
        with _portable_errors():
            self._held.close()


class ActorPolicy:
    """A policy actor, as the policy of an environment actor."""

    spec: PolicySpec

    def __init__(self, actor: Any) -> None:
        self._ray = import_ray()
        self._actor = actor
        # Why the actor can no longer go on with the episodes it has begun.
        self.lost: str | None = None

    def connect(self) -> str | None:
        """Wait until the actor is there, or there again, and has its policy; says why if it dies of that."""
        while not self._is_up():
            time.sleep(RETRY_S)
        try:
            self.spec = answer_of(self._ray, self._actor.declare.remote()).spec
        except Gone as gone:
            return str(gone)
        self.lost = None
        return None

    def _is_up(self) -> bool:
        try:
            return bool(self._ray.get(self._actor.is_up.remote()))
        except self._ray.exceptions.ActorUnavailableError:
            return False

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        if not self._ask(self._actor.reset, starts):
            raise self._gone("it was restarted")

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        chunks: Sequence[ActionChunk | Exception] | None = self._ask(self._actor.act, observations)
        if chunks is None:
            raise self._gone("it was restarted")
        return chunks

    def finish(self, ids: Sequence[str]) -> None:
        self._ask(self._actor.finish, ids)

    def _ask(self, method: Any, argument: Sequence[object]) -> Any:
        if self.lost is not None:
            raise self._gone(self.lost)
        try:
            return answer_of(self._ray, method.remote(argument))
        except _Stopped as stopped:
            raise Stop(str(stopped)) from None
        except Gone as gone:
            raise self._gone(str(gone)) from None

    def _gone(self, why: str) -> RuntimeError:
        self.lost = why
        return RuntimeError(f"the policy actor is lost: {why}")


def _settle(folder: str) -> None:
    """Work where the driver does, if that folder is here too: for its modules, and for names of files."""
    # Ray's own clean-up at the end of a process can lock itself up, and such a process stays for ever.
    atexit.register(really_exit, 0)
    if Path(folder).is_dir():
        os.chdir(folder)
        sys.path.append(folder)


def _writable(observation: Observation) -> Observation:
    """Ray's arrays are read-only, a policy's own never are."""
    return replace(
        observation,
        state={name: array.copy() for name, array in observation.state.items()},
        images={name: array.copy() for name, array in observation.images.items()},
        depth={name: array.copy() for name, array in observation.depth.items()},
        segmentation={name: array.copy() for name, array in observation.segmentation.items()},
    )
