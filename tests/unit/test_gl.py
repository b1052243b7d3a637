"""The GL backend is chosen by what loads here, and a machine without GL is told what to install."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from robodx.sim import gl

# Loaded by the interpreter before anything else: makes the GL libraries unloadable, as on a bare machine.
HIDE_GL = """
import ctypes
load = ctypes.CDLL.__init__
def load_unless_gl(self, name=None, *args, **kwargs):
    if str(name).startswith(("libEGL", "libGL", "libOpenGL", "libOSMesa")):
        raise OSError(f"{name}: cannot open shared object file")
    load(self, name, *args, **kwargs)
ctypes.CDLL.__init__ = load_unless_gl
"""
STEP_WITHOUT_CAMERAS = """
from robodx.sim import gl
print(gl.choose_backend())
import mujoco
model = mujoco.MjModel.from_xml_string("<mujoco/>")
data = mujoco.MjData(model)
mujoco.mj_step(model, data)
print(data.time > 0)
print(gl.status().advice)
"""


def run(code: str, *, path: Path | None = None, **variables: str) -> str:
    """What a fresh interpreter prints, with nothing chosen yet but `variables`."""
    clean = {k: v for k, v in os.environ.items() if k not in ("MUJOCO_GL", "ROBODX_GL_REFUSED", "DISPLAY")}
    if path is not None:
        (path / "sitecustomize.py").write_text(HIDE_GL)
        clean["PYTHONPATH"] = str(path)
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env=clean | variables, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment in which nothing is chosen and no display is there; what the test sets is undone."""
    for name in ("MUJOCO_GL", "ROBODX_GL_REFUSED", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return monkeypatch


def test_importing_the_module_imports_no_mujoco() -> None:
    code = "import sys; from robodx.sim import gl; gl.choose_backend(); print('mujoco' in sys.modules)"
    assert run(code) == "False\n"


def test_missing_libraries_are_named_with_the_packages_that_hold_them(tmp_path: Path) -> None:
    code = "from robodx.sim import gl; s = gl.status(); print(s.is_available, s.renderer, s.missing); print(s.advice)"
    printed = run(code, path=tmp_path)
    assert printed.startswith("False None ('libEGL.so.1', 'libOpenGL.so.0 or libGL.so.1')")
    assert "apt-get install libegl1 libgl1 libgl1-mesa-dri" in printed
    assert "libosmesa6" in printed and "MUJOCO_GL=osmesa" in printed
    assert "mesa-libEGL" in printed


@pytest.mark.parametrize("wanted", ["", "egl", "osmesa"])
def test_state_only_simulation_works_without_gl(tmp_path: Path, wanted: str) -> None:
    backend, stepped, advice = run(STEP_WITHOUT_CAMERAS, path=tmp_path, MUJOCO_GL=wanted).split("\n", 2)
    assert (backend, stepped) == ("disable", "True")
    assert advice.startswith(f"Cannot render: {wanted or 'egl'} needs lib")


def test_processes_started_from_one_without_gl_give_the_same_advice(tmp_path: Path) -> None:
    status = "import subprocess, sys; from robodx.sim import gl; print(gl.status())"
    parent, child = run(
        f"{status}; sys.stdout.flush(); subprocess.run([sys.executable, '-c', {status!r}], check=True)", path=tmp_path
    ).splitlines()
    assert parent == child
    assert "libegl1" in child


def test_libraries_without_a_driver_give_the_cause_and_the_advice(tmp_path: Path) -> None:
    code = "from robodx.sim import gl; import mujoco; print(gl.status().advice)"
    printed = run(code, MUJOCO_GL="egl", __EGL_VENDOR_LIBRARY_DIRS=str(tmp_path))
    assert printed.startswith("Cannot render: egl could not be initialised: ")
    assert "libgl1-mesa-dri" in printed


def test_context_is_made_once_and_reused() -> None:
    made = gl.context()
    assert gl.context() is made
    assert gl.status().is_available
    assert gl.status().renderer == gl.renderer_name() != ""


def test_context_works_even_if_mujoco_was_imported_before_the_choice() -> None:
    assert run("import mujoco; from robodx.sim import gl; print(gl.renderer_name())").strip() == gl.renderer_name()


def test_forked_process_is_refused_the_context_of_its_parent(environment: pytest.MonkeyPatch) -> None:
    gl.context()
    environment.setattr(os, "getpid", lambda: -1)
    with pytest.raises(RuntimeError, match="spawn"):
        gl.context()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one backend")
@pytest.mark.parametrize(
    ("loadable", "display", "expected"),
    [
        (("libEGL.so.1", "libGL.so.1", "libOSMesa.so.8"), ":0", "egl"),
        (("libEGL.so.1", "libOSMesa.so.8"), ":0", "osmesa"),
        (("libGL.so.1",), ":0", "glfw"),
        (("libGL.so.1",), "", "disable"),
    ],
)
def test_first_backend_whose_libraries_load_is_chosen(
    environment: pytest.MonkeyPatch, loadable: tuple[str, ...], display: str, expected: str
) -> None:
    environment.setattr(gl, "_loads", loadable.__contains__)
    environment.setenv("DISPLAY", display)
    assert gl.choose_backend() == os.environ["MUJOCO_GL"] == expected


def test_explicit_choice_is_kept(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("MUJOCO_GL", "glfw")
    assert gl.choose_backend() == os.environ["MUJOCO_GL"] == "glfw"


def test_rendering_switched_off_says_so() -> None:
    printed = run("from robodx.sim import gl; print(gl.status().advice)", MUJOCO_GL="off")
    assert "switched off" in printed and "apt-get" not in printed


def test_unknown_choice_names_the_valid_ones(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("MUJOCO_GL", "elg")
    with pytest.raises(gl.GLUnavailable, match=r'"elg".*glfw.*disable'):
        gl.choose_backend()
