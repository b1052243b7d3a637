"""A tiny real scene with the Panda at home, passing time, and a hand that follows skills."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from robodx.running.threads import pin

pin()  # before anything imports numpy: the tests' processes share the cores

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

from robodx.sim import gl  # noqa: E402

gl.choose_backend()  # before anything imports mujoco

from robodx.experts.skills import Hand, Steps  # noqa: E402
from robodx.policies.expert import to_action  # noqa: E402
from robodx.robots.control import Controller  # noqa: E402
from robodx.robots.panda import PANDA  # noqa: E402
from robodx.sim.build import PHYSICS_STEP_S  # noqa: E402
from robodx.sim.render import Renderer  # noqa: E402
from robodx.sim.scene import Thing, tabletop  # noqa: E402
from robodx.sim.simulation import Simulation  # noqa: E402
from robodx.sim.world import World  # noqa: E402

# The same examples every time, however slow the machine.
settings.register_profile("robodx", derandomize=True, deadline=None)
settings.load_profile("robodx")

# What waits for processes most of its time, in two lots.
LONG = (
    ("test_ray.py", "test_ray_nodes.py", "test_interruptions.py"),
    ("test_examples.py", "test_servers.py", "test_command_line.py"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough", action="store_true", help="more seeds and more cases, as make test-thorough asks for"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Two of the processes begin with a lot each, for at the end the others could only watch.

    A process gets its share of the list, the first the first; then those that are done take from the ends of others'.
    """
    if not config.getoption("--thorough"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("thorough")])
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
    if not hasattr(config, "workerinput"):
        return
    first, second = ([item for name in lot for item in items if item.path.name == name] for lot in LONG)
    long = {*first, *second}
    others = [item for item in items if item not in long]
    beside_first = max(0, len(items) // config.workerinput["workercount"] - len(first))
    items[:] = [*first, *others[:beside_first], *second, *others[beside_first:]]


PERIOD_S = 0.05
SUBSTEPS = round(PERIOD_S / PHYSICS_STEP_S)


@pytest.fixture(scope="session")
def is_thorough(pytestconfig: pytest.Config) -> bool:
    """Whether time does not matter: `make test-thorough` says so."""
    return bool(pytestconfig.getoption("--thorough"))


@pytest.fixture(scope="session")
def simulate() -> Callable[..., Simulation]:
    """`simulate(thing, ...)`: these things on the table."""

    def simulate(*things: Thing) -> Simulation:
        return Simulation(tabletop(*things), PANDA, np.array(PANDA.arm.home))

    return simulate


@pytest.fixture(scope="session")
def wait() -> Callable[[Simulation, float], None]:
    """Let time pass with the robot standing still, in control steps of 50 ms."""

    def wait(simulation: Simulation, seconds: float) -> None:
        for _ in range(round(seconds / PERIOD_S)):
            simulation.step(simulation.command, SUBSTEPS)

    return wait


@pytest.fixture(scope="session")
def perform() -> Callable[[Simulation, Callable[[Hand], Steps]], None]:
    """Carry a skill out through the ordinary `ee_pose` interface, from the hand as it is now."""

    def perform(simulation: Simulation, skill: Callable[[Hand], Steps]) -> None:
        world, controller = World(simulation), Controller(PANDA, "ee_pose")
        opening = float(simulation.command.openings[0])
        hand = Hand(world.tool(), world.opening(), PERIOD_S, world.tool(), grip=opening, name=world.hands[0])
        for waypoint in skill(hand):
            action = to_action(world.base, waypoint)
            simulation.step(controller.resolve(action, simulation.command, PERIOD_S).command, SUBSTEPS)
            hand.tool, hand.opening = world.tool(), world.opening()

    return perform


@pytest.fixture
def renderer_of() -> Iterator[Callable[..., Renderer]]:
    """`renderer_of(simulation, quality=...)`: closed when the test ends."""
    opened: list[Renderer] = []

    def renderer_of(simulation: Simulation, *, quality: str = "fast") -> Renderer:
        opened.append(Renderer(simulation, largest=(240, 240), quality=quality))
        return opened[-1]

    yield renderer_of
    for renderer in opened:
        renderer.close()
