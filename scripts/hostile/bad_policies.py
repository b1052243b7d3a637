"""Sources of policies that break the contract, each in its own way."""

from __future__ import annotations

from dataclasses import dataclass

FINE, WRONG, ANY = frozenset({0}), frozenset({1, 2}), frozenset({0, 1, 2})
# Whoever raises says it: the user must be told.
REASON = "the very reason"

HEAD = '''
import itertools, os, signal, sys, threading, time, warnings
import numpy as np
from robodx import CameraRequest, PolicySpec, policy

HOLD = np.array([[0, 0, 0, 0, 0, 0, 1]], dtype=np.float32)

class Odd(BaseException):
    """No Exception."""

class Dumb(Exception):
    """Cannot say what it is."""
    def __str__(self):
        raise ValueError("no words")

class Heavy(Exception):
    """Cannot be sent to another process."""
    def __init__(self, one, two):
        super().__init__(f"{one} {two}")
        self.lock = threading.Lock()
'''
BODY = '''
@policy("bad")
class Bad:
    """Is bad."""
    spec = PolicySpec(state=(), uses_language=False)
    def reset(self, starts):
        self.asked = 0
    def act(self, observations):
        return [HOLD for _ in observations]
    def finish(self, ids):
        pass
'''


@dataclass(frozen=True)
class Bad:
    """A policy; `modes` are the ways to run it besides in this process."""

    name: str
    source: str
    exits: frozenset[int] = WRONG
    says: str = ""
    modes: tuple[str, ...] = ("workers", "batch", "process", "check", "serve")


def _act(name: str, *lines: str, exits: frozenset[int] = WRONG, says: str = "", modes: tuple[str, ...] = ()) -> Bad:
    body = "\n        ".join(lines)
    source = BODY.replace("return [HOLD for _ in observations]", body)
    return Bad(name, HEAD + source, exits, says, modes or ("workers", "batch", "process", "check"))


def _raises(what: str, *, says: str = "", first: str = "") -> Bad:
    return _act(f"act raises {what}", *([first] if first else []), f"raise {what}", says=says)


def _spec(value: str, exits: frozenset[int] = WRONG) -> Bad:
    return Bad(f"spec = {value}", HEAD + BODY.replace("PolicySpec(state=(), uses_language=False)", value), exits)


def _method(name: str, method: str, *lines: str, exits: frozenset[int] = WRONG, says: str = "") -> Bad:
    """With one more method, or with another in the place of one that is there."""
    body = "\n        ".join(lines)
    return Bad(name, f"{HEAD}{BODY}    def {method}:\n        {body}\n", exits, says)


def _without(method: str) -> Bad:
    return Bad(f"no {method}", f"{HEAD}{BODY}    del {method}\n")


REASONS = tuple(
    _raises(f'{kind}("{REASON}")', says=REASON)
    for kind in (
        "ValueError", "KeyError", "MemoryError", "RecursionError", "StopIteration", "SystemExit", "KeyboardInterrupt",
        "GeneratorExit", "Odd", "OSError", "UnicodeError", "AssertionError",
    )
)  # fmt: skip

ACTS = (
    _raises("Dumb()"),
    _raises('Heavy("two", "words")', says="two words"),
    _raises('ValueError("\\x1b[31mred\\x07\\x9b2J")'),
    _raises('ValueError("\\ud800 half a character")'),
    _raises('ValueError("many\\nlines\\n" * 1000)'),
    _raises('ExceptionGroup("several", [ValueError("one"), KeyError("two")])', says="several"),
    _act("act exits with 0", "sys.exit(0)"),
    _act("act leaves with 0", "os._exit(0)"),
    _act("act leaves with 3", "os._exit(3)"),
    _act("act recurses for ever", "return self.act(observations)", says="recursion"),
    _act("act takes all memory", "return [np.zeros((10**12, 7), np.float32)]", says="memory"),
    _act("act dies of a signal", "os.kill(os.getpid(), signal.SIGKILL)", modes=("only workers", "process")),
    _act("act touches forbidden memory", "import ctypes", "ctypes.string_at(0)", modes=("only workers", "process")),
    _act("act aborts", "os.abort()", modes=("only workers", "process")),
    _act("act returns None", "return None"),
    _act("act returns a number", "return 3"),
    _act("act returns a text", 'return "up"'),
    _act("act returns a map", "return {one.episode_id: HOLD for one in observations}"),
    _act("act returns nothing", "return []"),
    _act("act returns too many", "return [HOLD] * (len(observations) + 1)"),
    _act("act returns without end", "return itertools.repeat(HOLD)"),
    _act("act returns its class", "return [Bad]"),
    _act("act yields", "yield HOLD", exits=ANY),
    _act("act gives None", "return [None for _ in observations]"),
    _act("act gives texts", 'return [np.array([["a"] * 7]) for _ in observations]'),
    _act("act gives objects", "return [np.array([[self] * 7], dtype=object) for _ in observations]"),
    _act("act gives complex numbers", "return [HOLD * 1j for _ in observations]"),
    _act("act gives dates", 'return [HOLD.astype("M8[s]") for _ in observations]'),
    _act("act gives NaN", 'return [HOLD * float("nan") for _ in observations]'),
    _act("act gives infinities", 'return [HOLD + float("inf") for _ in observations]'),
    _act("act gives an empty chunk", "return [HOLD[:0] for _ in observations]"),
    _act("act gives too few numbers", "return [HOLD[:, :3] for _ in observations]"),
    _act("act gives three dimensions", "return [HOLD[None] for _ in observations]"),
    _act("act gives no dimension", "return [np.float32(1) for _ in observations]"),
    _act("act gives lists of several lengths", "return [[[0.0], [0.0, 1.0]] for _ in observations]"),
    _act("act gives a long chunk", "return [np.repeat(HOLD, 10**6, axis=0) for _ in observations]", exits=ANY),
    _act("act gives huge numbers", "return [HOLD * np.float32(3e38) for _ in observations]", exits=ANY),
    _act("act gives NaN later", "self.asked += 1",
         "return [HOLD * (1 if self.asked < 3 else np.nan) for _ in observations]", exits=ANY),
    _act("act forgets to await", "async def later(): return HOLD", "return [later() for _ in observations]"),
    _act("act gives an exception's class", "return [ValueError for _ in observations]"),
)  # fmt: skip

# What a policy does to the process that it is in, and not to its actions: the run goes on.
MEDDLERS = tuple(
    _act(f"act meddles: {line}", line, "return [HOLD for _ in observations]", exits=FINE, modes=("workers", "batch"))
    for line in (
        'os.chdir("/")',
        'np.seterr(all="raise")',
        'warnings.simplefilter("error")',
        "os.environ.clear()",
        "observations[0].state.clear() if hasattr(observations[0].state, 'clear') else None",
        "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
        "self.asked or threading.Thread(target=time.sleep, args=(1000,)).start(); self.asked = 1",
        "sys.stdout.write('x' * 5000 + '\\n')",
        "threading.current_thread() is threading.main_thread() and signal.signal(signal.SIGINT, signal.SIG_IGN)",
        "sys.setrecursionlimit(120)",
        "np.random.seed(0)",
        "import gc; gc.disable()",
    )
)

METHODS = (
    *(_without(method) for method in ("spec", "act")),
    Bad("act is a number", f"{HEAD}{BODY}    act = 3\n"),
    _method("act takes nothing", "act(self)", "return [HOLD]"),
    Bad("act is async", f"{HEAD}{BODY}    async def act(self, observations):\n        return [HOLD]\n"),
    _method("reset raises", "reset(self, starts)", f'raise ValueError("{REASON}")', says=REASON),
    _method("reset exits", "reset(self, starts)", f'sys.exit("{REASON}")', says=REASON),
    _method("finish raises", "finish(self, ids)", f'raise ValueError("{REASON}")', exits=ANY, says=REASON),
    _method("finish exits", "finish(self, ids)", "sys.exit(0)", exits=ANY),
    _method("close raises", "close(self)", f'raise ValueError("{REASON}")', exits=ANY),
    _method("close exits", "close(self)", "sys.exit(5)", exits=ANY),
    _method("close interrupts", "close(self)", "raise KeyboardInterrupt", exits=ANY),
    _method("close sleeps", "close(self)", "time.sleep(1000)", exits=ANY),
    _method("close takes an argument", "close(self, all)", "pass", exits=ANY),
    _method("__init__ raises", "__init__(self)", f'raise ValueError("{REASON}")', says=REASON),
    _method("__init__ raises no Exception", "__init__(self)", f'raise Odd("{REASON}")', says=REASON),
    _method("__init__ interrupts", "__init__(self)", "raise KeyboardInterrupt"),
    _method("__init__ exits", "__init__(self)", "sys.exit(0)"),
    _method("__init__ leaves", "__init__(self)", "os._exit(0)"),
    _method("__init__ wants an argument", "__init__(self, weights)", "pass", says="weights"),
    _method("__init__ imports what is not there", "__init__(self)", "import no_such_package", says="no_such_package"),
    _method("__init__ raises what does not travel", "__init__(self)", 'raise Heavy("two", "words")', says="two words"),
    _method("__getattr__ answers all", "__getattr__(self, name)", "return lambda *a, **k: None", exits=ANY),
    Bad("spec is a property that raises", HEAD + BODY.replace(
        "spec = PolicySpec(state=(), uses_language=False)",
        f'@property\n    def spec(self):\n        raise ValueError("{REASON}")'), says=REASON),
    Bad("spec changes", HEAD + BODY.replace(
        "spec = PolicySpec(state=(), uses_language=False)",
        "@property\n    def spec(self):\n        return PolicySpec(state=(), hz=float(5 + time.time_ns() % 40))"), ANY),
)  # fmt: skip

SPECS = (
    *(_spec(value) for value in ("None", "{}", '{"hz": 20}', "PolicySpec", "3", '"spec"', "object()")),
    *(_spec(f"PolicySpec({fields})") for fields in (
        'hz=float("nan")', 'hz="fast"', "hz=0", "hz=None", 'action_space="nothing"', "action_space=None",
        'cameras=("front",)', 'cameras="front"', "cameras=None", 'cameras=(CameraRequest("nowhere"),)',
        'cameras=(CameraRequest("front", height=10**9),)', 'cameras=(CameraRequest("front", height=1.5),)',
        'cameras=(CameraRequest("front", height="big"),)', "cameras=(CameraRequest(None),)", 'state=("nothing",)',
        'state="ee_pose"', "state=None", "state=3", "replan=0", "replan=1.5", 'replan="all"', 'latency_s=float("nan")',
        'latency_s="short"', "action_width=3", 'action_width="7"', 'delta_frame="moon"', "nothing=1",
    )),
    *(_spec(f"PolicySpec({fields})", ANY) for fields in (
        "replan=10**20", "action_width=10**20", 'uses_language="no"', "is_privileged=True", "hz=59.999",
        'cameras=[CameraRequest("front")]', "latency_s=10",
    )),
)  # fmt: skip

POLICIES = (*REASONS, *ACTS, *MEDDLERS, *METHODS, *SPECS)
