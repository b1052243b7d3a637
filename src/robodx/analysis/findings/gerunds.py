"""What doing something is called in a sentence; the verbs themselves are in the folder `verbs`."""

from __future__ import annotations

from robodx.registry import Registry

# By verb: "inserting" of "insert".
GERUNDS: Registry[str] = Registry("gerund", "verbs")


def doing(act: str) -> str:
    """As "putting an object on another", of "put on"; a verb of a plugin that is not loaded stands for itself."""
    verb, _, where = act.partition(" ")
    if verb in GERUNDS:
        verb = GERUNDS[verb]
    return f"{verb} an object{f' {where} another' if where else ''}" if act else "acting on an object"
