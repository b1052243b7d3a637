"""Sources of plugins that cannot be loaded, and of tasks and other entries that break their contracts."""

from __future__ import annotations

from dataclasses import dataclass

from hostile.bad_policies import ANY, FINE, REASON, WRONG
from hostile.judging import ROOT

EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class Plugin:
    """A file, and the words of the command that uses it."""

    name: str
    source: str | bytes
    words: tuple[str, ...]
    exits: frozenset[int] = WRONG
    says: str = ""


LISTED = ("list", "policies")
FILES = (
    Plugin("a plugin of nothing", "", LISTED, FINE),
    Plugin("a plugin with a syntax error", "def broken(:", LISTED, says="SyntaxError"),
    Plugin("a plugin that imports what is not there", "import no_such_package", LISTED, says="no_such_package"),
    Plugin("a plugin that divides by zero", "1 / 0", LISTED, says="ZeroDivisionError"),
    Plugin("a plugin that exits with 0", "import sys; sys.exit(0)", LISTED),
    Plugin("a plugin that exits with words", f'import sys; sys.exit("{REASON}")', LISTED, says=REASON),
    Plugin("a plugin that quits", "quit()", LISTED),
    Plugin("a plugin that leaves", "import os; os._exit(0)", LISTED),
    Plugin("a plugin that interrupts", "raise KeyboardInterrupt", LISTED),
    Plugin(
        "a plugin that raises no Exception", f'class A(BaseException): pass\nraise A("{REASON}")', LISTED, says=REASON
    ),
    Plugin(
        "a plugin that cannot say why", "class A(Exception):\n  def __str__(self): raise ValueError\nraise A", LISTED
    ),
    Plugin("a plugin that recurses", "def f(): f()\nf()", LISTED, says="recursion"),
    Plugin("a plugin with escape codes", r'raise ValueError("\x1b[31mred\x07")', LISTED),
    Plugin("a plugin with half a character", r'raise ValueError("\ud800")', LISTED),
    Plugin("a plugin of zeros", b"\x00" * 100, LISTED),
    Plugin("a plugin of noise", bytes(range(128, 256)), LISTED),
    Plugin("a policy without a docstring", "from robodx import policy\n@policy('x')\ndef f(): pass", LISTED, ANY),
    Plugin("a policy without a name", "from robodx import policy\n@policy('')\ndef f():\n  'A.'", LISTED, ANY),
    Plugin("a policy named by a number", "from robodx import policy\n@policy(3)\ndef f():\n  'A.'", LISTED, ANY),
    Plugin(
        "a policy with escape codes",
        "from robodx import policy\n@policy('\\x1b[31m')\ndef f():\n  'A.\\x1b'",
        LISTED,
        ANY,
    ),
    Plugin(
        "a policy with a taken name",
        "from robodx import policy\n@policy('still')\ndef f():\n  'A.'",
        LISTED,
        says="still",
    ),
    Plugin("a policy that is no function", "from robodx import policy\npolicy('x')(3)", LISTED, ANY),
)

TASK = '''
import math, os, random, sys
from robodx import Situation, task
from robodx.language.meaning import put
from robodx.language.phrasing import say
from robodx.scoring.from_meaning import stages_for
from robodx.sim.objects import cube, cylinder
from robodx.sim.scene import Region, tabletop

LEFT = Region(x=(-0.2, 0.0), y=(0.05, 0.2))
RIGHT = Region(x=(-0.2, 0.0), y=(-0.2, -0.05))

@task(family="bad", varies=("robot", "layout"), chance=1 / 2, time_limit_s=2.0)
def bad(streams):
    """Put the orange cube on the purple cylinder."""
    scene = tabletop(cube("orange").within(LEFT), cylinder("purple", radius_m=0.03).within(RIGHT))
    instruction = say(put("orange cube", "on", "purple cylinder"))
    return Situation(scene, instruction, stages_for(instruction.meaning, scene))
'''
RUN = ("run", "bad", "--policy", "still", "--seeds", "2", "--out", "{new}")
FIRST = "    scene = tabletop"


def _task(
    name: str, old: str, new: str, exits: frozenset[int] = WRONG, says: str = "", more: tuple[str, ...] = ()
) -> Plugin:
    assert old in TASK, old
    return Plugin(f"a task: {name}", TASK.replace(old, new, 1), (*RUN, *more), exits, says)


def _fact(fact: str, exits: frozenset[int] = WRONG) -> Plugin:
    name = fact.partition("=")[0]
    old = {"family": 'family="bad"', "varies": 'varies=("robot", "layout")', "chance": "chance=1 / 2"}
    old["time_limit_s"] = "time_limit_s=2.0"
    if name in old:
        return _task(fact, old[name], fact, exits)
    return _task(fact, "time_limit_s=2.0", f"time_limit_s=2.0, {fact}", exits)


TASKS = (
    _task("as it should be", "bad", "bad", FINE),
    _task("raises", FIRST, f'    raise ValueError("{REASON}")\n{FIRST}', says=REASON),
    _task(
        "raises with workers", FIRST, f'    raise ValueError("{REASON}")\n{FIRST}', says=REASON, more=("--workers", "2")
    ),
    _task("exits", FIRST, f"    sys.exit(0)\n{FIRST}"),
    _task("leaves", FIRST, f"    os._exit(0)\n{FIRST}"),
    _task("interrupts", FIRST, f"    raise KeyboardInterrupt\n{FIRST}"),
    _task("raises escape codes", FIRST, f'    raise ValueError("\\x1b[31m")\n{FIRST}'),
    _task("returns None", FIRST, f"    return None\n{FIRST}"),
    _task("returns a map", FIRST, f"    return {{}}\n{FIRST}"),
    _task("yields", FIRST, f"    yield\n{FIRST}"),
    _task("takes nothing", "bad(streams)", "bad()"),
    _task("has no stages", "stages_for(instruction.meaning, scene)", "()", says="stage"),
    _task("has stages that are texts", "stages_for(instruction.meaning, scene)", '("lift",)'),
    _task("has None for stages", "stages_for(instruction.meaning, scene)", "None"),
    _task("has an unknown relation", '"on", "purple', '"beneath", "purple', says="on"),
    _task("speaks of what is not there", '"orange cube", "on"', '"green sphere", "on"'),
    _task("speaks of nothing", '"orange cube", "on"', '"", "on"'),
    _task("has an unknown colour", 'cube("orange")', 'cube("octarine")'),
    _task("has a colour that is a number", 'cube("orange")', "cube(3)"),
    _task("has an empty scene", 'cube("orange").within(LEFT), cylinder("purple", radius_m=0.03).within(RIGHT)', ""),
    _task("has a scene of texts", 'cube("orange").within(LEFT)', '"cube"'),
    _task(
        "has the same object twice",
        'cube("orange").within(LEFT),',
        'cube("orange").within(LEFT), cube("orange").within(LEFT),',
        ANY,
    ),
    _task("has a cylinder of size NaN", "radius_m=0.03", "radius_m=math.nan"),
    _task("has a cylinder of size 0", "radius_m=0.03", "radius_m=0.0"),
    _task("has a cylinder of negative size", "radius_m=0.03", "radius_m=-1.0"),
    _task("has a cylinder as large as the world", "radius_m=0.03", "radius_m=1e9"),
    _task("has a region inside out", "x=(-0.2, 0.0), y=(0.05, 0.2)", "x=(0.2, -0.2), y=(0.2, 0.05)", ANY),
    _task("has a region of NaN", "x=(-0.2, 0.0), y=(0.05, 0.2)", "x=(math.nan, 0.0), y=(0.05, 0.2)"),
    _task("has a region far away", "x=(-0.2, 0.0), y=(0.05, 0.2)", "x=(1e6, 1e6), y=(0.05, 0.2)", ANY),
    _task(
        "has no room for its objects",
        "tabletop(",
        'tabletop(*(cube("red", half_m=0.05).within(LEFT).named(str(n)) for n in range(60)), ',
        ANY,
    ),
    _task("draws what it has not declared", FIRST, f"    streams.rng('timing')\n{FIRST}"),
    _task(
        "is another at each call",
        'cylinder("purple", radius_m=0.03)',
        'cylinder("purple", radius_m=random.uniform(0.02, 0.04))',
        ANY,
    ),
    _task("has no docstring", '    """Put the orange cube on the purple cylinder."""\n', "", ANY),
    _task("has escape codes in its docstring", "Put the orange", r"\x1b[31mPut\x07 the orange", ANY),
    *(_fact(f"time_limit_s={value}") for value in ("math.nan", "math.inf", "1e12", "-1.0", "0.0", '"ten"', "None")),
    _fact("time_limit_s=1e-9", ANY),
    *(_fact(f"chance={value}") for value in ("math.nan", "0", "2", '"half"', "None")),
    *(_fact(f"family={value}") for value in ('""', '"a/b"', "None", '"\\x1b[31m"')),
    *(_fact(f"varies={value}") for value in ('("nothing",)', '"layout"', "None", "3")),
    *(_fact(f"version={value}") for value in ("-1", '"x"', "10**20", "None")),
    *(_fact(fact) for fact in ('tier="nothing"', "tags=3", "tags=(3,)", "primitive=3")),
)


def _example(name: str, old: str, new: str, words: str, exits: frozenset[int] = WRONG, says: str = "") -> Plugin:
    source = (EXAMPLES / name).read_text()
    assert old in source, f"{name} has no longer: {old}"
    return Plugin(f"{name}: {new.splitlines()[0][:40]}", source.replace(old, new, 1), tuple(words.split()), exits, says)


def others() -> list[Plugin]:
    """The examples of all that can be registered, each with a mistake in it."""
    raising = f'raise ValueError("{REASON}")'
    shaky = "run primitive/press_switch --policy still --seeds 1 --perturb shaky=weak --out {new}"
    plain = "run primitive/press_switch --policy still --seeds 1 --out {new}"
    metric = "summary run --metric quick_success"
    noise = "noise = self.draws"
    division = "return len(episodes.filter"
    hesitating = "return float((speeds"
    return [
        _example("my_perturbation.py", noise, f"{raising}\n        {noise}", shaky, says=REASON),
        _example("my_perturbation.py", noise, f"return None\n        {noise}", shaky),
        _example("my_perturbation.py", noise, f"return 3\n        {noise}", shaky),
        _example("my_perturbation.py", noise, f"raise SystemExit(0)\n        {noise}", shaky),
        _example("my_perturbation.py", "(0.0, self.severity", "(np.nan, self.severity", shaky, ANY),
        _example("my_perturbation.py", '"weak": 0.002', '"weak": float("nan")', shaky),
        _example("my_perturbation.py", '"weak": 0.002', '"weak": None', shaky),
        _example("my_perturbation.py", 'kind="execution"', 'kind="nothing"', shaky),
        _example("my_metric.py", division, f"{raising}\n    {division}", metric, says=REASON),
        _example("my_metric.py", division, f'return "many"\n    {division}', metric),
        _example("my_metric.py", division, f'return float("nan")\n    {division}', metric, ANY),
        _example("my_metric.py", division, f'return episodes["nothing"]\n    {division}', metric, says="nothing"),
        _example("my_metric.py", 'better="higher"', 'better="nothing"', metric),
        _example("my_quantity.py", hesitating, f"{raising}\n    {hesitating}", plain, says=REASON),
        _example("my_quantity.py", hesitating, f'return "long"\n    {hesitating}', plain),
        _example("my_quantity.py", hesitating, f'return float("nan")\n    {hesitating}', plain, ANY),
        _example("my_section.py", "known = {", f"{raising}\n    known = {{", "report run -o section.html", says=REASON),
        _example("my_section.py", "known = {", "return 3\n    known = {", "report run -o section.html"),
        _example("my_section.py", "order=85", 'order="last"', "report run -o section.html"),
        _example("my_finding.py", "is_long = (", f"{raising}\n    is_long = (", "findings run", says=REASON),
        _example("my_finding.py", '"flag", "detour", is_long', '"flag", "detour", None', "findings run", ANY),
        _example("my_finding.py", "def detours", "def detour_s", "findings run", says="detours"),
        _example(
            "my_verb.py",
            "return (~Tilted",
            f"{raising}\n    return (~Tilted",
            "run mine --policy expert --seeds 1 --out {new}",
            says=REASON,
        ),
        _example(
            "my_verb.py",
            "hand, name =",
            f"{raising}\n    hand, name =",
            "run mine --policy expert --seeds 1 --out {new}",
            says=REASON,
        ),
        _example(
            "my_protocol.py",
            "turn = threading.Lock()",
            raising,
            "serve still --protocol json-lines --port 0",
            says=REASON,
        ),
        _example(
            "my_protocol.py",
            "return JsonLines(",
            "return None and JsonLines(",
            "check json-lines://127.0.0.1:1?connect=0.2",
        ),
    ]


PLUGINS = (*FILES, *TASKS)
