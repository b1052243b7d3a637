"""Bad policies, tasks and plugins: each is run once, plainly or with workers, in batches, checked or served."""

from __future__ import annotations

import random
from collections.abc import Iterator

from hostile.bad_plugins import PLUGINS, Plugin, others
from hostile.bad_policies import ANY, POLICIES, Bad
from hostile.judging import Case
from hostile.places import TASK, Places

PART = "policies"
# Any of these may wait for its errors to be tried again.
DEADLINE_S = 90.0


def cases(places: Places, rng: random.Random) -> Iterator[Case]:
    (places.folder / "bad").mkdir()
    for number, policy in enumerate(POLICIES):
        path = f"bad/policy_{number}.py"
        (places.folder / path).write_text(policy.source)
        # Without workers, the process that would tell of it is the one that some of them kill.
        plain = () if "only workers" in policy.modes else ("run",) * len(policy.modes)
        yield _case(policy, rng.choice((*plain, *policy.modes)), path, places)
    for number, plugin in enumerate([*PLUGINS, *others()]):
        yield _plugin(plugin, f"bad/plugin_{number}.py", places)


def _case(policy: Bad, mode: str, path: str, places: Places) -> Case:
    out = places.fresh()
    more = {"batch": ("--batch", "2"), "process": ("--policy-process", "--workers", "2")}.get(mode, ())
    if "workers" in mode:
        more = ("--workers", "2")
    words: tuple[str, ...] = ("run", TASK, "--policy", "bad", "--seeds", "2", "--out", out, "--plugin", path, *more)
    exits, says = policy.exits, policy.says
    if mode == "check":
        words = ("check", "bad", "--plugin", path)
    elif mode == "serve":
        words, exits, says = ("serve", "bad", "--port", "0", "--plugin", path), ANY, ""
    return Case(
        PART, f"{policy.name} ({mode})", words, exits, says=says, cwd=places.folder, deadline_s=DEADLINE_S,
        serves="Serving" if mode == "serve" else None,
    )  # fmt: skip


def _plugin(plugin: Plugin, path: str, places: Places) -> Case:
    source = plugin.source
    (places.folder / path).write_bytes(source if isinstance(source, bytes) else source.encode())
    words = tuple(word.replace("{new}", places.fresh()) for word in plugin.words)
    return Case(
        PART, plugin.name, (*words, "--plugin", path), plugin.exits, says=plugin.says, cwd=places.folder,
        deadline_s=DEADLINE_S, serves="Serving" if words[0] == "serve" else None,
    )  # fmt: skip
