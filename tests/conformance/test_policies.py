"""Every shipped policy keeps the contract: declared shapes, identity by episode id, no leak between episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robodx.policy_contract import POLICIES, Policy, opened
from robodx.records.trial import Trial
from robodx.robots.control import action_width
from robodx.running.environment import Environment
from robodx.running.request import Request
from robodx.running.rollout import rollout
from robodx.running.run import run
from robodx.sim.robot import ROBOTS
from robodx.tasks.base import TASKS
from robodx.wires.protocols.base import PROTOCOLS, served_protocols
from tests.chatting import SOLID_AND_BOX, chat_server
from tests.serving import served

TASK = "control/stack_cube"
Make = Callable[[str], Policy]
SERVED = served_protocols()
# The others need a server of somebody else's, or weights: their wires are tested in tests/wires and tests/peers.
TESTABLE = [name for name in POLICIES if name not in PROTOCOLS or name in SERVED]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("recorded") / "run"
    run(Request((TASK,), "expert", 2), out)
    return out


@pytest.fixture(scope="module")
def addresses(recorded: Path) -> Iterator[Mapping[str, str]]:
    """A server of each protocol that RoboDx serves, with the recorded run in it."""
    with ExitStack() as stack:
        yield {protocol: stack.enter_context(served(f"replay:{recorded}", protocol)).address for protocol in SERVED}


@pytest.fixture
def make(recorded: Path, addresses: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Build a policy by its registered name; it is let go of when the test ends."""
    arguments = {
        "RUN": str(recorded),
        "PACKAGE.MODULE:NAME": "robodx.policies.still:StillPolicy",
        "NAME": "colour_blind+jerky+stale_view",
        "CAMERA@SIZE,…": "front@32",
        "POLICY": "open_loop",
        "FILE": str(Path(__file__).parent.parent / "golden" / "networks" / "flow.onnx"),
    }
    with ExitStack() as stack:
        monkeypatch.setenv("ROBODX_VLM_URL", stack.enter_context(chat_server(SOLID_AND_BOX)).url)
        monkeypatch.setenv("ROBODX_VLM_MODEL", "eyes")

        def make(name: str) -> Policy:
            takes = POLICIES[name].takes
            own = f"{name}:{arguments[takes]}" if takes in arguments else name
            return stack.enter_context(opened(addresses.get(name, own)))

        yield make


def trials(policy: str) -> list[Trial]:
    return [Trial(TASK, 2, policy, seed) for seed in range(2)]


@pytest.mark.parametrize("name", TESTABLE)
def test_replies_have_the_declared_width_and_type(name: str, make: Make) -> None:
    policy = make(name)
    environments = [Environment(trial, policy.spec) for trial in trials(name)]
    policy.reset([environment.start() for environment in environments])
    chunks = [np.asarray(chunk) for chunk in policy.act([environment.observe() for environment in environments])]
    width = action_width(policy.spec.action_space, ROBOTS["panda"])
    assert [chunk.shape[1] for chunk in chunks] == [width] * len(environments)
    assert all(chunk.dtype == np.float32 and np.isfinite(chunk).all() for chunk in chunks)
    policy.finish([environment.trial.id for environment in environments])


@pytest.mark.parametrize("name", TESTABLE)
def test_episodes_depend_neither_on_the_batch_nor_on_what_the_policy_did_before(
    name: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The expert needs less, and who does nothing shows no more in twenty seconds.
    monkeypatch.setitem(TASKS._entries, TASK, replace(TASKS[TASK], time_limit_s=4.0))
    policy = make(name)
    alone = {e.trial_id: e.trajectory_hash for e, _ in rollout(trials(name), policy, batch=1)}
    together = {e.trial_id: e.trajectory_hash for e, _ in rollout(trials(name), policy, batch=2)}
    assert alone == together
    assert None not in alone.values()


@pytest.mark.parametrize("name", TESTABLE)
def test_a_policy_says_in_a_line_what_it_is(name: str) -> None:
    assert len(POLICIES[name].summary) > 10
