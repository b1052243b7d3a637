"""What a user's policy, task, plugin or metric does wrong is told in one line: whose code it was, and where."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from robodx import PolicySpec
from robodx.analysis.findings.kinds.base import FINDING_KINDS, FindingKind, register
from robodx.analysis.metrics.base import METRICS, metric
from robodx.compatibility.checking import check
from robodx.errors import Leave, Stop, UserError
from robodx.language.meaning import put
from robodx.language.phrasing import say
from robodx.language.reference import Where, the
from robodx.policy_contract import (
    CLOSE_S,
    POLICIES,
    ActionChunk,
    EpisodeStart,
    Observation,
    make_policy,
    opened,
    policy,
)
from robodx.records.trial import Trial
from robodx.registry import Registry, UnknownName, load_plugin
from robodx.running.rollout import rollout
from robodx.running.workers import STOP_S
from robodx.scoring.sides import Flanking
from robodx.sim.scene import tabletop
from robodx.suites.base import SUITES, SuiteRequest, ask
from robodx.tasks.base import TASKS, Situation, task
from robodx.users_code import (
    LONGEST_MESSAGE,
    UsersCodeError,
    calling,
    contained,
    exits_noticed,
    interrupt,
    notice_exits,
    told,
)
from robodx.verbs.put import plan_at, stages_at
from robodx.wires.base import Address
from robodx.wires.local import Local
from robodx.wires.protocols import lerobot
from tests.commands import call

TASK = "primitive/press_switch"
HERE = r"\(.*test_users_code\.py:\d+\)$"
HOLD = np.repeat(np.array([[0, 0, 0, 0, 0, 0, 1]], dtype=np.float32), 400, axis=0)


class Odd(BaseException):
    """No Exception."""


class Mute(Exception):
    """Cannot even be read."""

    def __str__(self) -> str:
        raise ValueError


class Holding:
    """Holds still."""

    spec: Any = PolicySpec(uses_language=False, state=())

    def reset(self, starts: Sequence[EpisodeStart]) -> None: ...

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        return [HOLD for _ in observations]

    def finish(self, ids: Sequence[str]) -> None: ...


def throws(error: BaseException) -> Callable[..., Any]:
    def throw(*_: object) -> None:
        raise error

    return throw


# What code may do instead of going on, and how it is told.
ENDINGS = [
    pytest.param(throws(KeyError("weights")), "raised KeyError: 'weights'", id="exception"),
    pytest.param(throws(Mute()), "raised Mute: its message cannot be read", id="mute"),
    pytest.param(throws(Odd("odd")), "raised Odd: odd", id="base exception"),
    pytest.param(throws(GeneratorExit()), "raised GeneratorExit", id="generator exit"),
    pytest.param(throws(KeyboardInterrupt()), "raised KeyboardInterrupt, though nobody pressed Ctrl-C", id="interrupt"),
    pytest.param(lambda *_: sys.exit(0), r"called sys\.exit\(0\)", id="sys.exit"),
    pytest.param(lambda *_: os._exit(0), r"called os\._exit\(0\)", id="os._exit"),
]


def with_all(registry: Registry[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what the test adds be forgotten when it ends."""
    monkeypatch.setattr(registry, "_entries", {name: registry[name] for name in registry})


@pytest.fixture(autouse=True)
def as_on_the_command_line() -> Iterator[None]:
    """With its handler of Ctrl-C, and with os._exit in sight."""
    before = signal.signal(signal.SIGINT, interrupt)
    with exits_noticed():
        yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("ends", "told"), ENDINGS)
def test_what_a_constructor_does_is_told(ends: Callable[..., Any], told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Built(Holding):
        __init__ = ends

    with_all(POLICIES, monkeypatch)
    policy("made")(Built)
    monkeypatch.setattr(sys.modules[__name__], "Built", Built, raising=False)
    for name in ("made", f"python:{__name__}:Built"):
        with pytest.raises(UsersCodeError, match=rf'{name}"? {told} {HERE}'):
            make_policy(name)


@pytest.mark.parametrize(("ends", "told"), ENDINGS)
@pytest.mark.parametrize("method", ["reset", "act"])
def test_what_a_policy_does_costs_no_more_than_its_episode(method: str, ends: Callable[..., Any], told: str) -> None:
    mine = Holding()
    setattr(mine, method, ends)
    # A batch of two has a thread of its own.
    for batch in (1, 2):
        (episode,) = [one.episode for one in rollout([Trial(TASK, 2, "mine", 0)], mine, batch=batch)]
        assert episode.outcome == "error" and episode.error
        last = episode.error.strip().splitlines()[-1]
        is_exception = told.startswith(("raised KeyError", "raised Mute"))
        assert "KeyError: 'weights'" in last or "Mute" in last if is_exception else told.replace("\\", "") in last


def test_what_a_policy_does_at_an_episodes_end_is_told() -> None:
    mine = Holding()
    mine.finish = lambda ids: os._exit(0)  # type: ignore[method-assign]
    (episode,) = [one.episode for one in rollout([Trial(TASK, 2, "mine", 0)], mine)]
    assert "the policy called os._exit(0)" in (episode.error or "")


@pytest.mark.parametrize(("ends", "told"), ENDINGS)
def test_check_names_what_the_policy_did(ends: Callable[..., Any], told: str) -> None:
    mine = Holding()
    mine.act = ends  # type: ignore[method-assign]
    (problem,) = check("mine", mine, task=TASK).problems
    assert "act" in problem and told.replace("\\", "") in problem


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (None, "act returned a NoneType: it must return a list with one chunk of actions"),
        ([], "act returned a list of 0: it must return a list with one chunk of actions"),
        ([ValueError("not today")], "its act raised ValueError: not today"),
        ([[[0.0], [0.0, 0.0]]], "its act raised ValueError: "),
    ],
)
def test_check_names_a_reply_that_is_none(reply: Any, told: str) -> None:
    mine = Holding()
    mine.act = lambda observations: reply  # type: ignore[method-assign]
    (problem,) = check("mine", mine, task=TASK).problems
    assert told in problem


def test_a_server_of_such_a_policy_goes_on() -> None:
    mine = Holding()
    mine.act = lambda observations: os._exit(0)  # type: ignore[method-assign]
    wire = Local(mine)
    preset = wire.endpoint.preset
    observation = Observation("one", 0, 0.0, "", {})
    (reply,) = wire.ask([("one", preset.request(observation, None))])
    assert "the policy's act called os._exit(0)" in str(reply)


class Without:
    """Lacks its spec."""

    reset = act = finish = throws(KeyError("never called"))


class Listed(Holding):
    def __init__(self) -> None:
        self.spec = {"action_space": "ee_delta"}


class Unspecified(Holding):
    @property
    def spec(self) -> PolicySpec:
        raise RuntimeError("spec!")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (f"python:{__name__}:Without", "it has no spec"),
        (f"python:{__name__}:Listed", r"has a dict as its spec: it must be a PolicySpec"),
        (f"python:{__name__}:Unspecified", rf"raised RuntimeError: spec! {HERE}"),
        ("python:..:x", r'names no module: "\.\."'),
        ("python:os:_exit", r"raised TypeError: os\._exit\(\) missing 1"),
        ("python:os.path:join", "raised TypeError"),
        (f"openpi://{300 * 'a'}:8000", r"is no host name: it has 1 to 253 letters"),
        (f"gr00t://{'.'.join(100 * ['abc'])}", r"\(399 letters\) is no host name"),
    ],
)
def test_what_is_no_policy_is_refused(name: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        make_policy(name)


@pytest.mark.parametrize("module", ["my-policy", "runs.2024.policy"])
def test_a_module_need_not_be_called_by_an_identifier(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path.joinpath(*module.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"from {__name__} import Holding\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert isinstance(make_policy(f"python:{module}:Holding"), Holding)


def test_what_is_told_is_no_longer_than_a_person_reads() -> None:
    for error in (SystemExit(10_000 * "x"), ValueError(10_000 * "x")):
        assert len(told("it", error)) < LONGEST_MESSAGE + 50


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "gpu-3.lab.example", "my_box"])
def test_hosts_are_hosts(host: str) -> None:
    assert Address.parse("openpi", f"//{host}:8000").host == host.strip("[]")


@pytest.mark.parametrize("words", [("serve", "still", "--host"), ("view", "--host")])
def test_an_interface_that_is_no_name_is_refused(words: tuple[str, ...], tmp_path: Path) -> None:
    assert "is no host name" in call(*words, 300 * "a", cwd=tmp_path, expect=2)


def test_a_huge_number_of_films_is_refused(tmp_path: Path) -> None:
    said = call("run", TASK, "--policy", "still", "--video", 10**20, cwd=tmp_path, expect=2)  # type: ignore[arg-type]
    assert "--video" in said and "10000" in said


# Tasks.


@pytest.fixture
def own_task(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], str]:
    """Registers a function as the task `mine/…` for the time of the test."""

    with_all(TASKS, monkeypatch)

    def add(situate: Callable[..., Any]) -> str:
        situate.__name__ = "broken"
        return task(family="mine", varies=(), chance=1.0)(situate).id

    return add


@pytest.mark.parametrize(("ends", "told"), ENDINGS)
def test_what_a_task_does_is_told(
    ends: Callable[..., Any], told: str, own_task: Callable[[Callable[..., Any]], str]
) -> None:
    name = own_task(lambda streams: ends())
    with pytest.raises(UsersCodeError, match=rf"^the task mine/broken {told} {HERE}"):
        TASKS[name].situation(0)


@pytest.mark.parametrize(
    ("situate", "told"),
    [
        (lambda streams: None, "returned a NoneType: it must return a Situation"),
        (lambda streams: Situation(tabletop(), say(put("red cube", "on", "green cube")), ()), "at least one stage"),
        (lambda streams: Situation(None, None, ()), "scene of a situation must be of RoboDx's Scene, not None"),  # type: ignore[arg-type]
        (
            lambda streams: Situation(tabletop(), say(put("red cube", "on", "green cube")), ("done",)),  # type: ignore[arg-type]
            "a stage of a situation must be a Stage or a Condition, not 'done'",
        ),
    ],
)
def test_a_task_that_lays_nothing_out_ends_a_run_in_a_line(
    situate: Callable[..., Any], told: str, own_task: Callable[[Callable[..., Any]], str], tmp_path: Path
) -> None:
    name = own_task(situate)
    said = call("run", name, "--policy", "still", "--out", "run", cwd=tmp_path, expect=2)
    assert "robodx: the task mine/broken " in said and told in said and "Traceback" not in said


@pytest.mark.parametrize(
    ("make", "choices"),
    [
        (
            lambda: say(put("red cube", "onto", "green cube")),
            'verb "put" takes no relation "onto". It takes: behind, be',
        ),
        (lambda: put("red cube", "xyz", "green cube"), 'No relation "xyz". There are: back, behind'),  # type: ignore[arg-type]
        (lambda: put("red cube", None, "green cube"), 'No relation "None". Did you mean'),  # type: ignore[arg-type]
        (lambda: Where("upon", the("red cube")), 'No relation "upon"'),  # type: ignore[arg-type]
        (lambda: Flanking("a", "b", "above"), 'No side to be on "above". There are: behind, in front of'),  # type: ignore[arg-type]
        (lambda: stages_at("above"), "There are: behind, in front of"),  # type: ignore[arg-type]
        (lambda: plan_at("above"), "There are: behind, in front of"),  # type: ignore[arg-type]
    ],
)
def test_an_unknown_relation_is_answered_with_the_known_ones(make: Callable[[], object], choices: str) -> None:
    with pytest.raises(UnknownName) as refused:
        make()
    assert choices in str(refused.value)


# Plugins.


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import sys\nsys.exit(0)", r"it called sys\.exit\(0\)"),
        ("import os\nos._exit(0)", r"it called os\._exit\(0\)"),
        ("from os import _exit\n_exit(3)", r"it called os\._exit\(3\)"),
        ("\nraise KeyboardInterrupt", "it raised KeyboardInterrupt, though nobody pressed Ctrl-C"),
        ("class Odd(BaseException): pass\nraise Odd('x')", "it raised Odd: x"),
        ("import json\njson.loads('{')", "it raised JSONDecodeError"),
    ],
)
def test_what_a_plugin_does_is_told_with_its_own_line(source: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(source)
    with pytest.raises(UserError, match=rf"bad\.py cannot be imported: {told}.* \(.*bad\.py:2\)$"):
        load_plugin(str(path), is_known=True)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("from robodx.registry import require\nrequire('relation', 'beside', ['on', 'in'])", 'No relation "beside"'),
        ("\nthis is no Python", "raised SyntaxError"),
    ],
)
def test_a_mistake_that_we_know_of_is_told_with_its_place_too(source: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(source)
    with pytest.raises(UserError, match=rf"{told}.* \(.*bad\.py:2\)$"):
        load_plugin(str(path), is_known=True)


def test_an_error_in_an_episode_says_where_in_the_users_code_it_was() -> None:
    mine = Holding()
    mine.act = throws(KeyError("image"))  # type: ignore[method-assign]
    (finished,) = rollout([Trial(TASK, 2, "mine", 0)], mine)
    assert re.search(rf"\nKeyError: 'image' {HERE}", (finished.episode.error or "").strip())


def test_metrics_suites_and_findings_say_whose_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for registry in (METRICS, SUITES, FINDING_KINDS):
        with_all(registry, monkeypatch)
    nothing: dict[str, float] = {}

    def broken(*_: object) -> Any:
        yield nothing["column"]

    def average(episodes: pl.DataFrame) -> float:
        """Of nothing."""
        return nothing["column"]

    SUITES.add("broken", broken)
    measure = metric(unit="score", better="higher")(average)
    kind = register(FindingKind("broken", "It is broken", conditions=broken, by_condition=throws(SystemExit(1))))
    for asked, who in (
        (lambda: ask("broken", pl.DataFrame(), SuiteRequest("still", 1)), "the suite broken"),
        (lambda: measure.function(pl.DataFrame()), "the metric average"),
        (lambda: kind.conditions(pl.DataFrame()), "the kind of finding broken"),
    ):
        with pytest.raises(UsersCodeError, match=rf"^{who} raised KeyError: 'column' {HERE}"):
            asked()
    with pytest.raises(UsersCodeError, match=r"the kind of finding broken called sys\.exit\(1\)"):
        kind.by_condition(None, None)  # type: ignore[arg-type]


# Ctrl-C, and what is ours.


@pytest.mark.parametrize("then", [lambda: None, lambda: sys.exit(1), throws(ValueError("cleaned up"))])
def test_ctrl_c_stays_one_whatever_the_code_makes_of_it(then: Callable[[], None]) -> None:
    with pytest.raises(KeyboardInterrupt), contained("the policy"):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        except KeyboardInterrupt:
            then()


def test_without_our_handler_an_interrupt_is_one() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt), contained("the policy"):
        raise KeyboardInterrupt


@pytest.mark.parametrize("error", [Stop("no server"), Leave(0)])
def test_what_is_to_end_the_process_does(error: BaseException) -> None:
    with pytest.raises(type(error)), calling("the policy"):
        raise error


def test_a_defect_of_ours_keeps_its_traceback() -> None:
    with pytest.raises(KeyError), calling("the policy", make_policy):
        raise KeyError("ours")


def test_a_child_of_the_users_code_may_end_as_it_likes() -> None:
    with calling("the policy"):
        child = os.fork()
        if not child:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_os_exit_elsewhere_says_where_and_is_no_success() -> None:
    notice = Path(os.devnull)
    child = os.fork()
    if not child:
        # As in a thread that a policy has started: nobody waits for what it raises.
        sys.stderr = notice.open("w")
        notice_exits()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


# Closing.


class Closing(Holding):
    """Does something when it is closed."""

    close: Callable[[], object]


CLOSINGS = [
    (lambda: time.sleep(30), "was not closed within 0.2 s"),
    (throws(RuntimeError("cannot close")), "was not closed: it raised RuntimeError: cannot close"),
    (throws(Odd("odd")), "was not closed: its close raised Odd: odd"),
    (lambda: sys.exit(0), "was not closed: its close called sys.exit(0)"),
    (lambda: os._exit(0), "was not closed: its close called os._exit(0)"),
]


@pytest.mark.parametrize(("close", "told"), CLOSINGS)
def test_a_policy_that_does_not_close_is_told(
    close: Callable[[], object], told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("robodx.policy_contract.CLOSE_S", 0.2)
    monkeypatch.setattr(Closing, "close", staticmethod(close), raising=False)
    with opened(f"python:{__name__}:Closing"):
        pass
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f'The policy "python:{__name__}:Closing" {told}')


def test_a_run_whose_policy_does_not_close_has_its_summary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("robodx.policy_contract.CLOSE_S", 0.2)
    monkeypatch.setattr(Closing, "close", lambda self: time.sleep(30), raising=False)
    begun_s = time.monotonic()
    said = call("run", TASK, "--policy", f"python:{__name__}:Closing", "--seeds", "2", cwd=tmp_path)
    assert "was not closed within 0.2 s" in said and "2 episodes." in said
    assert time.monotonic() - begun_s < 20


def test_a_policy_is_closed_in_the_callers_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[threading.Thread] = []
    monkeypatch.setattr(Closing, "close", lambda self: closed.append(threading.current_thread()), raising=False)
    with opened(f"python:{__name__}:Closing"):
        pass
    assert closed == [threading.current_thread()], "what was opened in a thread may have to be closed there"


CANNOT = '''
from robodx import policy
from robodx.policy_contract import make_policy

@policy("cannot_close")
class CannotClose:
    """Stands still."""
    def __init__(self):
        still = make_policy("still")
        self.spec, self.reset, self.act, self.finish = still.spec, still.reset, still.act, still.finish
    def close(self):
        raise RuntimeError("cannot close")
'''


def test_two_workers_run_all_episodes_of_a_policy_that_cannot_be_closed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_all(POLICIES, monkeypatch)
    (tmp_path / "cannot.py").write_text(CANNOT)
    words = ("--policy", "cannot_close", "--plugin", "cannot.py", "--seeds", "2", "--workers", "2")
    assert "2 episodes." in call("run", TASK, *words, cwd=tmp_path)
    # Here it was built to see what it declares.
    assert 'The policy "cannot_close" was not closed: it raised' in capfd.readouterr().err
    assert STOP_S > CLOSE_S, "a worker has the time to say so"
    assert lerobot.STOP_S < CLOSE_S, "a server that does not end is killed, and not left behind"


@pytest.mark.parametrize(("arguments", "status"), [(("list", "robots"), 0), (("list", "nothing"), 2)])
def test_a_thread_that_a_plugin_left_running_does_not_keep_the_command_from_ending(
    arguments: tuple[str, ...], status: int, tmp_path: Path
) -> None:
    plugin = tmp_path / "sleepy.py"
    plugin.write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), name='sleepy').start()\n"
    )
    command = [sys.executable, "-c", "from robodx.cli import main; main()", *arguments, "--plugin", str(plugin)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == status
    assert ended.stderr.endswith("robodx: ends without waiting for threads that are still running: sleepy\n")


@pytest.mark.parametrize("ends", ["print('x' * 2**17)", "raise RuntimeError('a bug of ours')"])
def test_a_thread_does_not_keep_a_command_whose_reader_has_gone_or_that_has_a_bug(ends: str, tmp_path: Path) -> None:
    start = "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()"
    patched = f"{start}\nimport robodx.cli as cli\ndef run():\n    {ends}\ncli._run = run\ncli.main()"
    with subprocess.Popen(
        [sys.executable, "-c", patched], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as running:
        assert running.stdout is not None
        running.stdout.close()
        assert running.wait(timeout=60) != 0 or "print" in ends


def test_idle_threads_of_a_pool_are_not_reported(tmp_path: Path) -> None:
    plugin = tmp_path / "pooled.py"
    plugin.write_text(
        "from concurrent.futures import ThreadPoolExecutor\nPOOL = ThreadPoolExecutor()\nPOOL.submit(int).result()\n"
    )
    command = [sys.executable, "-c", "from robodx.cli import main; main()", "list", "robots", "--plugin", str(plugin)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_command_in_the_process_of_a_test_leaves_the_threads_of_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robodx.users_code.LAST_THREADS_S", 0.0)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        call("list", "robots", cwd=tmp_path)
        time.sleep(0.2)


def test_polars_finishes_before_an_interrupt() -> None:
    """It panics, and prints a traceback of its own, where anything is raised while it works."""

    def rows() -> Iterator[int]:
        yield 1
        signal.raise_signal(signal.SIGINT)
        yield 2

    made: list[pl.DataFrame] = []
    with pytest.raises(KeyboardInterrupt):
        made.append(pl.DataFrame({"number": rows()}))
        time.sleep(10)
    assert made[0]["number"].to_list() == [1, 2]
