"""The shape of the package: which folder may import which, what is public, and that a start stays light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import robodx

SOURCE = Path(robodx.__file__).parent
FOLDERS = sorted(path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__")

# Modules of `sim` that only declare: tasks may use these.
DECLARATIONS = {"sim.scene", "sim.rooms", "sim.objects", "sim.geometry", "sim.colours", "sim.placement"}

# Who may import whom, imports for type checkers included: a folder, or a module that lies in none.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "latex": set(),
    "output": set(),
    "streams": set(),
    "spaces": set(),
    "hosts": set(),
    "user_files": {"errors"},
    "users_code": {"errors", "output"},
    "registry": {"errors", "users_code"},
    "timed_sockets": set(),
    "chat_completions": {"errors", "output", "timed_sockets"},
    "sim": {"errors", "registry", "spaces"},
    "robots": {"sim", "spaces"},
    "language": {"registry", "sim"},
    "scoring": {"language", "registry", "sim"},
    "experts": {"language", "registry", "sim"},
    "tasks": {"errors", "language", "registry", "scoring", "sim", "streams", "users_code"},
    "records": {"errors", "output", "streams"},
    "analysis": {"errors", "records", "registry", "users_code"},
    "datasets": {"errors", "output", "records", "registry", "streams"},
    "verbs": {"analysis", "experts", "language", "registry", "scoring", "sim"},
    "policy_contract": {"errors", "language", "output", "registry", "sim", "spaces", "users_code"},
    "wires": {
        "errors", "hosts", "output", "policy_contract", "registry", "sim", "spaces", "timed_sockets", "user_files",
        "users_code",
    },
    "perturbations": {
        "errors", "language", "policy_contract", "records", "registry", "robots", "scoring", "sim", "streams", "tasks",
    },
    "situations": {"experts", "language", "policy_contract", "records", "scoring", "sim", "tasks"},
    "interventions": {
        "errors", "experts", "language", "records", "registry", "scoring", "sim", "situations", "streams", "tasks",
        "users_code",
    },
    "relations": {
        "errors", "interventions", "policy_contract", "records", "registry", "scoring", "sim", "situations", "streams",
        "tasks",
    },
    "suites": {
        "analysis", "errors", "interventions", "perturbations", "policy_contract", "records", "registry", "relations",
        "sim", "situations", "tasks", "users_code",
    },
    "grounding": {
        "chat_completions", "datasets", "errors", "language", "policy_contract", "registry", "sight", "sim",
    },
    "sight": {"experts", "language", "policy_contract", "registry", "sim"},
    "faults": {"errors", "experts", "language", "policy_contract", "registry", "sim", "streams"},
    "learned": {"errors", "policy_contract", "sim"},
    "policies": {
        "errors", "experts", "faults", "grounding", "language", "learned", "policy_contract", "records", "robots",
        "sight", "sim", "streams", "users_code",
    },
    "running": {
        "analysis", "datasets", "errors", "experts", "faults", "interventions", "language", "output", "perturbations",
        "policies", "policy_contract", "records", "registry", "robots", "scoring", "sim", "situations", "spaces",
        "streams", "suites", "tasks", "user_files", "users_code", "wires",
    },
    "evaluation": {"analysis", "errors", "policy_contract", "running"},
    "wrapping": {"errors", "perturbations", "policy_contract", "streams"},
    "environments": {
        "errors", "policy_contract", "records", "registry", "robots", "running", "sim", "spaces", "tasks",
    },
    "compatibility": {
        "datasets", "errors", "output", "policy_contract", "records", "registry", "robots", "running", "sim", "spaces",
        "streams", "tasks", "users_code", "wires",
    },
    "video": {
        "datasets", "errors", "interventions", "language", "policy_contract", "records", "registry", "running",
        "scoring", "sim", "situations", "tasks", "users_code",
    },
    "fairness": {
        "chat_completions", "errors", "interventions", "records", "registry", "scoring", "sim", "streams", "suites",
        "tasks", "video",
    },
    "report": {"analysis", "errors", "hosts", "latex", "records", "registry", "users_code"},
    "exports": {"analysis", "errors", "records", "registry", "report", "users_code"},
    "teleoperation": {
        "datasets", "errors", "learned", "policies", "policy_contract", "records", "report", "robots", "running",
        "sim", "tasks",
    },
    "terminal": {"analysis", "datasets", "errors", "output", "records", "running", "suites"},
    "catalogue": {
        "analysis", "datasets", "errors", "exports", "faults", "interventions", "perturbations", "policy_contract",
        "records", "registry", "relations", "sim", "suites", "tasks", "wires",
    },
    "cli": {
        "analysis", "catalogue", "chat_completions", "compatibility", "datasets", "errors", "exports", "fairness",
        "interventions",
        "output", "perturbations", "policy_contract", "records", "registry", "report", "running", "sim", "streams",
        "suites", "teleoperation", "terminal", "user_files", "users_code", "video", "wires",
    },
}  # fmt: skip


@cache
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


def node_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imported_nodes(path: Path) -> set[str]:
    """The folders and lone modules of RoboDx that a file imports."""
    names = (name.split(".") for name in imports(path) if name.startswith("robodx."))
    return {parts[1] for parts in names if (SOURCE / parts[1]).is_dir() or (SOURCE / f"{parts[1]}.py").is_file()}


def arrows() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        node = node_of(path)
        if node != "__init__":
            found.setdefault(node, set()).update(imported_nodes(path) - {node})
    return found


def test_imports_are_those_that_are_allowed_and_no_more_are_allowed_than_there_are() -> None:
    assert arrows() == ALLOWED


def test_folders_form_no_cycle() -> None:
    # Raises if they do.
    order = list(TopologicalSorter(ALLOWED).static_order())
    assert order.index("records") < order.index("analysis") < order.index("running") < order.index("cli")


def test_no_module_is_too_long_to_be_read() -> None:
    for path in SOURCE.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 400, path


def test_one_module_imports_mujoco_and_only_sim_and_robots_ask_for_it() -> None:
    found = {path for path in SOURCE.rglob("*.py") if any(name.split(".")[0] == "mujoco" for name in imports(path))}
    assert found == {SOURCE / "sim" / "engine.py"}
    asking = {node_of(path) for path in SOURCE.rglob("*.py") if "robodx.sim.engine" in imports(path)}
    assert asking == {"sim", "robots"}


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
            is_declared = name.startswith(("robodx.sim.geometry", "robodx.sim.robot"))
            assert not name.startswith("robodx.sim.") or is_declared, (path, name)


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


@pytest.mark.parametrize("statement", ["import robodx", "import robodx.cli.commands", "import robodx.analysis.summary"])
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


def test_all_that_is_printed_goes_through_one_function() -> None:
    # The server of a checkpoint tells its port to the process that started it.
    printing = {"output.py", "wires/lerobot_server.py"}
    called = re.compile(r"(?<![\w.])print\(")
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if called.search(path.read_text())}
    assert found == printing, "use robodx.output.print_text"
