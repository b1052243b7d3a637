"""LeRobot checkpoints: in this process where LeRobot is installed, else behind a script with its own dependencies."""

from __future__ import annotations

import atexit
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from robodx.errors import UserError
from robodx.output import print_text
from robodx.policy_contract import CLOSE_S
from robodx.wires.base import Address, Names, Reply, Request, ServerInfo, Wire, WireError, read_seconds
from robodx.wires.lerobot_features import server_info
from robodx.wires.protocols.base import protocol
from robodx.wires.protocols.openpi import OpenPi

if TYPE_CHECKING:
    from robodx.wires.lerobot_server import Checkpoint

SCRIPT = Path(__file__).parent.with_name("lerobot_server.py")
# A Python that has LeRobot, msgpack and websockets: the script then runs with that one.
PYTHON = "ROBODX_LEROBOT_PYTHON"
# Ports by checkpoint, for the worker processes of the one that started the servers: they share them.
SERVERS = "ROBODX_LEROBOT_SERVERS"
HOST = "127.0.0.1"
OPTIONS = ("device", "timeout", "connect")
# The first start of the script installs several GB.
START_S = 3600.0
NEWS_S = 20.0
# Less than a policy's `close` has in all: a server that does not end by then is killed within that time.
STOP_S = CLOSE_S - 1.0
READY = re.compile(r"^Serving .* at ws://\S+:(\d+)$")
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True)
class Place:
    """`PATH?device=DEVICE&timeout=SECONDS&connect=SECONDS`."""

    folder: Path
    device: str | None = None
    # Of one call.
    timeout_s: float = Address.timeout_s
    # How long the script may take to be ready.
    start_s: float = START_S

    @classmethod
    def parse(cls, text: str) -> Place:
        name = f"lerobot:{text}"
        path, _, query = text.partition("?")
        options = dict(parse_qsl(query, keep_blank_values=True))
        for key in options:
            if key not in OPTIONS:
                raise UserError(f'"{name}": no option "{key}". There are: {", ".join(OPTIONS)}')
        seconds = {key: read_seconds(name, key, options[key]) for key in ("timeout", "connect") if key in options}
        return cls(
            find_checkpoint(path),
            options.get("device") or None,
            seconds.get("timeout", cls.timeout_s),
            seconds.get("connect", cls.start_s),
        )

    @property
    def key(self) -> str:
        return f"{self.folder}?device={self.device or ''}"


def find_checkpoint(path: str) -> Path:
    """The folder with config.json; a training's own folder holds it in `pretrained_model`. Nothing is downloaded."""
    folder = Path(path).expanduser().resolve()
    if not folder.exists():
        hint = ""
        if HUB_NAME.fullmatch(path):
            hint = f" Nothing is downloaded here; if it is a name on the hub: hf download {path} --local-dir {path}"
        raise UserError(f"there is no checkpoint folder {folder}.{hint}")
    for inside in (folder, folder / "pretrained_model"):
        if (inside / "config.json").is_file():
            folder = inside
            break
    else:
        raise UserError(f"{folder} is not a LeRobot checkpoint: it has no config.json")
    try:
        config = json.loads((folder / "config.json").read_text())
    except (OSError, ValueError) as error:
        raise UserError(f"{folder / 'config.json'} cannot be read: {error}") from error
    if not isinstance(config, dict) or "type" not in config or "input_features" not in config:
        raise UserError(f"{folder} is not a LeRobot checkpoint: its config.json has no type and input_features")
    return folder


@protocol("lerobot", takes="PATH")
def open_checkpoint(place: str) -> Wire:
    """A LeRobot checkpoint (ACT, Diffusion Policy, SmolVLA, π0 …); ?device=cuda chooses where it runs.

    In this process, unless LeRobot is not installed in it or another Python is named.
    """
    where = Place.parse(place)
    if os.environ.get(PYTHON):
        return Launched(where)
    try:
        importlib.metadata.distribution("lerobot")
    except importlib.metadata.PackageNotFoundError:
        return Launched(where)
    return InProcess(where)


class InProcess:
    """The checkpoint itself; several requests are one batch."""

    names = Names()
    losses = 0

    def __init__(self, place: Place) -> None:
        self._place = place
        self._checkpoint: Checkpoint | None = None

    def describe(self) -> ServerInfo:
        return server_info(self._loaded().about)

    def start(self, episode_id: str, instruction: str) -> None: ...

    def ask(self, requests: Sequence[tuple[str, Request]]) -> list[Reply | WireError]:
        try:
            replies = self._loaded().answer([request for _, request in requests])
        except Exception as error:
            # Of a whole batch: which of them it was cannot be known.
            raise WireError(f"the checkpoint {self._place.folder} failed: {type(error).__name__}: {error}") from error
        return [WireError(str(reply)) if isinstance(reply, Exception) else reply for reply in replies]

    def finish(self, episode_id: str) -> None: ...

    def close(self) -> None:
        self._checkpoint = None

    def _loaded(self) -> Checkpoint:
        if self._checkpoint is None:
            from robodx.wires.lerobot_server import Checkpoint, Refused

            try:
                # LeRobot says that it loads; a command's answer is not the place.
                with redirect_stdout(sys.stderr), _offline():
                    self._checkpoint = Checkpoint(self._place.folder, self._place.device)
            except Refused as error:
                raise UserError(str(error)) from error
            # What LeRobot raises on a checkpoint that it does not know is many things.
            except Exception as error:
                raise UserError(
                    f"the checkpoint {self._place.folder} does not load: {type(error).__name__}: {error}"
                ) from error
        return self._checkpoint


@contextmanager
def _offline() -> Iterator[None]:
    """As the script: what a checkpoint does not hold is not fetched, unless HF_HUB_OFFLINE=0. The setting is undone."""
    is_set = "HF_HUB_OFFLINE" in os.environ
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        yield
    finally:
        if not is_set:
            del os.environ["HF_HUB_OFFLINE"]


class Launched:
    """openpi's wire to the script, which is started first; one that died is started again at the next call."""

    names = Names()
    # What the script remembers outlasts a connection, and it says itself where its memory has a gap.
    losses = 0

    def __init__(self, place: Place) -> None:
        self._place = place
        self._server: Server | None = None
        self._wire: OpenPi | None = None

    def describe(self) -> ServerInfo:
        return self._open().describe()

    def start(self, episode_id: str, instruction: str) -> None:
        self._open().start(episode_id, instruction)

    def ask(self, requests: Sequence[tuple[str, Request]]) -> list[Reply | WireError]:
        replies = self._open().ask(requests)
        if self._server is not None and any(isinstance(reply, WireError) for reply in replies):
            # A dying process closes its connections before it can be seen to be dead.
            self._server.has_ended(0.2)
        return replies

    def finish(self, episode_id: str) -> None: ...

    def close(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        if self._server is not None:
            self._server.release()
            self._server = None

    def _open(self) -> OpenPi:
        if self._server is not None and not self._server.is_running:
            print_text(
                f"The LeRobot server for {self._place.folder} died: {self._server.last_words()}", file=sys.stderr
            )
            self.close()
        if self._wire is None:
            port, place = self._port(), self._place
            patience_s = min(place.start_s, Address.connect_s)
            self._wire = OpenPi(Address(HOST, port, timeout_s=place.timeout_s, connect_s=patience_s))
        return self._wire

    def _port(self) -> int:
        shared = json.loads(os.environ.get(SERVERS, "{}")).get(self._place.key)
        if shared is not None and self._place.key not in RUNNING:
            return int(shared)
        self._server = Server.of(self._place)
        return self._server.port


class Server:
    """The script as a process, which ends with this one however it ends: it watches the other end of a pipe."""

    def __init__(self, place: Place) -> None:
        self._key, self._users = place.key, 0
        self._lines: deque[str] = deque(maxlen=30)
        self._ready = threading.Event()
        self.port = 0
        # In a session of its own: Ctrl-C is for this process, which then stops it.
        self._process = subprocess.Popen(
            _command(place),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self._wait(place)
        except BaseException:
            self.stop()
            raise

    @classmethod
    def of(cls, place: Place) -> Server:
        """The one for the checkpoint in this process and those it starts."""
        server = RUNNING.get(place.key)
        if server is None or not server.is_running:
            if server is not None:
                server.stop()
            server = RUNNING[place.key] = cls(place)
            _tell_children()
        server._users += 1
        return server

    def release(self) -> None:
        self._users -= 1
        if self._users <= 0:
            self.stop()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def has_ended(self, within_s: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(within_s)
        return not self.is_running

    def last_words(self) -> str:
        return "\n".join(self._lines) or f"it said nothing, and exited with {self._process.poll()}"

    def stop(self) -> None:
        if RUNNING.get(self._key) is self:
            del RUNNING[self._key]
            _tell_children()
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        if not self.has_ended(STOP_S):
            # It may be installing, and does not listen yet.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _listen(self) -> None:
        """To the end, for a pipe that nobody empties would stop the script."""
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.append(line.rstrip())
                found = READY.match(line.rstrip())
                if found and not self._ready.is_set():
                    self.port = int(found[1])
                    self._ready.set()

    def _wait(self, place: Place) -> None:
        first = "" if os.environ.get(PYTHON) else " The first start installs LeRobot, several GB."
        print_text(f"Starting a server for the LeRobot checkpoint {place.folder}.{first}", file=sys.stderr)
        begun = news = time.monotonic()
        while not self._ready.wait(0.1):
            now = time.monotonic()
            if not self.is_running:
                # What it said last may still be on its way.
                self._ready.wait(0.5)
                raise UserError(f"the LeRobot server for {place.folder} did not start:\n{self.last_words()}")
            if now - begun > place.start_s:
                raise UserError(
                    f"the LeRobot server for {place.folder} was not ready after {place.start_s:g} s "
                    f"(?connect=SECONDS waits longer):\n{self.last_words()}"
                )
            if now - news > NEWS_S:
                news = now
                print_text(f"… {now - begun:.0f} s: {self._lines[-1] if self._lines else 'waiting'}", file=sys.stderr)


RUNNING: dict[str, Server] = {}


@atexit.register
def _stop_all() -> None:
    for server in list(RUNNING.values()):
        server.stop()


def _tell_children() -> None:
    os.environ[SERVERS] = json.dumps({key: server.port for key, server in RUNNING.items()})


def _command(place: Place) -> list[str]:
    script = [str(SCRIPT), str(place.folder), "--host", HOST, "--port", "0", "--until-stdin-ends"]
    if place.device:
        script += ["--device", place.device]
    python = os.environ.get(PYTHON)
    if python:
        if shutil.which(python) is None:
            raise UserError(f"{PYTHON} names {python}, which cannot be executed")
        return [python, *script]
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "run", "--script", *script]
    if importlib.util.find_spec("uv") is not None:
        return [sys.executable, "-m", "uv", "run", "--script", *script]
    raise UserError(
        "a LeRobot checkpoint needs LeRobot, which is not installed here, or uv, which installs it for a server of "
        f"its own: pip install uv. Or let {PYTHON} name a Python that has lerobot, msgpack and websockets."
    )
