"""Chooses MuJoCo's OpenGL backend, says what is missing, and owns the one GL context of a process."""

import atexit
import ctypes
import ctypes.util
import functools
import importlib
import os
import sys
from dataclasses import dataclass
from typing import Protocol

from robodx.errors import UserError

# What a headless backend must be able to load: every group, by any one of its names.
_LIBRARIES: dict[str, tuple[tuple[str, ...], ...]] = {
    "egl": (("libEGL.so.1",), ("libOpenGL.so.0", "libGL.so.1")),
    "osmesa": (("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"),),
}
_BACKENDS = {"linux": ("egl", "osmesa", "glfw", "glx"), "darwin": ("cgl", "glfw"), "win32": ("glfw", "wgl")}
_OFF = ("disable", "disabled", "off", "false", "0")
_AUTOMATIC = ("", "enable", "enabled", "on", "true", "1")
# Tells the processes started from this one why rendering is off; without it, the user switched it off.
_REFUSED = "ROBODX_GL_REFUSED"

# Rendering goes to MuJoCo's own offscreen buffers, so this only bounds OSMesa's unused window buffer.
_CONTEXT_PIXELS = 1024
_GL_RENDERER = 0x1F01

_INSTALL = """\
  Debian, Ubuntu  apt-get install libegl1 libgl1 libgl1-mesa-dri
  Fedora          dnf install mesa-libEGL mesa-libGL mesa-dri-drivers
  or OSMesa       apt-get install libosmesa6 (Fedora: mesa-libOSMesa), and set MUJOCO_GL=osmesa
  macOS           nothing to install"""
_STATE_ONLY = "Runs that ask for no camera work without it."


class GLUnavailable(UserError):
    """Nothing can be rendered here; the message says why and what to install."""


class GLContext(Protocol):
    """What MuJoCo's backends have in common."""

    def make_current(self) -> None: ...

    def free(self) -> None: ...


@dataclass(frozen=True)
class GLStatus:
    """Whether this machine can render, and what to do if not."""

    backend: str
    is_available: bool
    renderer: str | None
    missing: tuple[str, ...]
    advice: str


def choose_backend() -> str:
    """Settles MUJOCO_GL and returns it; call before mujoco is imported.

    A set MUJOCO_GL is kept if its libraries load. It becomes "disable" if they do not, because `import mujoco` would
    otherwise fail, and runs without cameras with it.
    """
    wanted = os.environ.get("MUJOCO_GL", "").strip().lower()
    valid = _BACKENDS.get(sys.platform, ("glfw",))
    if wanted in _OFF:
        return "disable"
    if wanted not in (*valid, *_AUTOMATIC):
        raise GLUnavailable(f'MUJOCO_GL is "{wanted}". Choose from {", ".join(valid)}, disable, or unset it.')
    backend = _automatic() if wanted in _AUTOMATIC else wanted
    if missing_libraries(backend):
        os.environ[_REFUSED], backend = backend, "disable"
    os.environ["MUJOCO_GL"] = backend
    return backend


def missing_libraries(backend: str) -> tuple[str, ...]:
    """The libraries that `backend` needs and that cannot be loaded."""
    return tuple(" or ".join(names) for names in _LIBRARIES.get(backend, ()) if not any(map(_loads, names)))


@functools.cache
def status() -> GLStatus:
    """Tries to render in this process and reports the outcome."""
    backend = os.environ.get("MUJOCO_GL", "")
    try:
        backend = choose_backend()
        return GLStatus(backend, True, renderer_name(), (), "")
    except GLUnavailable as error:
        missing = missing_libraries(os.environ.get(_REFUSED, "") if backend == "disable" else backend)
        return GLStatus(backend, False, None, missing, str(error))


_context: GLContext | None = None
_owner_pid = 0


def context() -> GLContext:
    """The GL context of this process, current in the calling thread: made on first use (120 ms), then reused."""
    global _context, _owner_pid
    if _context is None:
        _context, _owner_pid = _create(choose_backend()), os.getpid()
        atexit.register(_release)
    elif _owner_pid != os.getpid():
        raise RuntimeError("A GL context does not survive a fork: start workers with the spawn method.")
    else:
        _context.make_current()
    return _context


def _release() -> None:
    """Frees the context while PyOpenGL still works: left to the interpreter's end, OSMesa prints a traceback."""
    if _context is not None and _owner_pid == os.getpid():
        _context.free()


def renderer_name() -> str:
    """The driver's GL_RENDERER string: images are comparable bit for bit only where it is the same."""
    context()
    get_string = _gl_library(os.environ["MUJOCO_GL"]).glGetString
    get_string.argtypes, get_string.restype = (ctypes.c_uint,), ctypes.c_char_p
    name = get_string(_GL_RENDERER)
    if name is None:
        raise GLUnavailable(_explain("the GL context does not answer"))
    return str(name.decode())


def _automatic() -> str:
    if sys.platform != "linux":
        return _BACKENDS.get(sys.platform, ("glfw",))[0]
    for backend in ("egl", "osmesa"):
        if not missing_libraries(backend):
            return backend
    # A window's context draws on screen as well as offscreen, but it needs a display and is the last choice.
    return "glfw" if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") else "egl"


def _create(backend: str) -> GLContext:
    if backend == "disable":
        refused = os.environ.get(_REFUSED)
        if refused is None:
            raise GLUnavailable(f"Rendering is switched off by MUJOCO_GL=disable: unset it. {_STATE_ONLY}")
        raise GLUnavailable(_explain(f"{refused} needs {' and '.join(missing_libraries(refused))}"))
    module = "glfw" if backend in ("glx", "wgl") else backend
    try:
        # Not mujoco.GLContext: that is fixed when mujoco is first imported, perhaps before MUJOCO_GL was settled.
        made: GLContext = importlib.import_module(f"mujoco.{module}").GLContext(_CONTEXT_PIXELS, _CONTEXT_PIXELS)
        made.make_current()
    except Exception as error:  # PyOpenGL and the drivers raise whatever they please
        raise GLUnavailable(_explain(f"{backend} could not be initialised: {error}")) from error
    return made


def _explain(why: str) -> str:
    return f"Cannot render: {why}\n{_INSTALL}\n{_STATE_ONLY}"


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _gl_library(backend: str) -> ctypes.CDLL:
    if sys.platform == "linux":
        names = _LIBRARIES.get(backend, _LIBRARIES["egl"])[-1]
        return ctypes.CDLL(next(filter(_loads, names), names[-1]))
    return ctypes.CDLL(ctypes.util.find_library("OpenGL" if sys.platform == "darwin" else "opengl32"))
