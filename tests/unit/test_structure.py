"""The shape of the package: which folder may import which, what is public, and that a start stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import robodx

SOURCE = Path(robodx.__file__).parent
FOLDERS = sorted(path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__")

# Modules of `sim` that only declare: tasks may use these.
DECLARATIONS = {"sim.scene", "sim.objects", "sim.geometry", "sim.colours", "sim.placement"}

# What a folder must not import, as prefixes below `robodx`.
FORBIDDEN = {
    "analysis": ("sim", "robots", "running", "tasks", "experts", "policies", "suites"),
    "report": ("sim", "robots", "running", "tasks", "experts", "policies", "suites"),
    "policies": ("tasks", "suites"),
    "experts": ("tasks", "suites", "running"),
    "scoring": ("robots", "tasks", "running", "policies", "experts", "suites"),
    "language": ("robots", "tasks", "running", "policies", "experts", "suites", "scoring"),
    "sim": ("robots", "tasks", "running", "policies", "experts", "suites", "scoring", "language"),
    "robots": ("tasks", "running", "policies", "experts", "suites", "scoring", "language"),
    "tasks": ("robots", "running", "policies", "experts", "suites", "perturbations", "analysis"),
    "perturbations": ("tasks", "running", "suites", "experts"),
    "sight": ("robots", "tasks", "running", "suites", "perturbations", "scoring", "analysis"),
    "wires": ("policies", "robots", "tasks", "running", "experts", "suites", "perturbations", "analysis"),
}


def imports(path: Path, *, at_runtime_only: bool = False) -> set[str]:
    """The modules a file imports, absolute names; with `at_runtime_only` without what is for type checkers."""
    tree = ast.parse(path.read_text())
    skipped = {
        id(child)
        for node in ast.walk(tree)
        if at_runtime_only and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{path} has a relative import"
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def files(folder: str) -> list[Path]:
    return sorted((SOURCE / folder).rglob("*.py"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_arrows_point_one_way(folder: str) -> None:
    for path in files(folder):
        for name in imports(path, at_runtime_only=True):
            inner = name.removeprefix("robodx.")
            if name.startswith("robodx."):
                assert inner.split(".")[0] not in FORBIDDEN.get(folder, ()), f"{path} imports {name}"
            assert folder == "cli" or not name.startswith("robodx.cli"), f"{path} imports the command line"


def test_only_sim_and_robots_import_mujoco() -> None:
    for folder in FOLDERS:
        if folder not in ("sim", "robots"):
            for path in files(folder):
                assert not any(name.split(".")[0] == "mujoco" for name in imports(path)), path


def test_tasks_import_only_declarations_of_the_simulator() -> None:
    for path in files("tasks"):
        for name in imports(path, at_runtime_only=True):
            if name.startswith("robodx.sim."):
                assert any(name.removeprefix("robodx.").startswith(allowed) for allowed in DECLARATIONS), (path, name)


def test_sight_knows_of_the_simulator_only_what_its_declarations_say() -> None:
    for path in files("sight"):
        for name in imports(path):
            if name.startswith("robodx.sim."):
                assert any(name.removeprefix("robodx.").startswith(allowed) for allowed in DECLARATIONS), (path, name)


def test_wires_know_no_simulator() -> None:
    for path in files("wires"):
        for name in imports(path, at_runtime_only=True):
            assert not name.startswith("robodx.sim.") or name.startswith("robodx.sim.geometry"), (path, name)


def test_the_public_names_are_these() -> None:
    assert sorted(robodx.__all__) == [
        "CameraRequest", "Environment", "EpisodeFacts", "Estimate", "Observation", "Perturbation", "Planned", "Policy",
        "PolicySpec", "Results", "Situation", "Trial", "__version__", "evaluate", "load", "make_policy", "metric",
        "perturbation", "policy", "quantity", "rollout", "suite", "task", "wrap",
    ]  # fmt: skip
    for name in robodx.__all__:
        assert getattr(robodx, name) is not None
    with pytest.raises(AttributeError, match="has no 'polcy'"):
        robodx.polcy  # noqa: B018


@pytest.mark.parametrize("statement", ["import robodx", "import robodx.cli", "import robodx.analysis.summary"])
def test_light_imports_do_not_load_the_simulator(statement: str) -> None:
    check = f"{statement}; import sys; sys.exit('mujoco' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_listing_tasks_declares_without_simulating() -> None:
    check = "import robodx.tasks.control, robodx.tasks.primitive, sys; sys.exit('mujoco' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_listing_policies_loads_no_library_of_a_protocol() -> None:
    heavy = "{'zmq', 'websockets', 'lerobot', 'torch'}"
    listing = "import sys; from robodx.policy_contract import POLICIES; list(POLICIES)"
    check = f"{listing}; sys.exit(bool({heavy} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_every_module_says_what_it_is_for() -> None:
    for path in SOURCE.rglob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), path
