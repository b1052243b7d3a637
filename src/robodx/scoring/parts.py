"""What stages, conditions and events are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from robodx.scoring.conditions import Condition
from robodx.scoring.contact import Grasped, Released
from robodx.scoring.stages import Stage


def walk(node: object) -> Iterator[object]:
    """A declaration and everything in it, in the order in which it is written."""
    yield node
    for part in _parts(node):
        yield from walk(part)


def leaves(node: object) -> list[Condition]:
    """The conditions in it that have no condition in them."""
    found = [leaf for part in _parts(node) for leaf in leaves(part)]
    return found or ([node] if isinstance(node, Condition) else [])


def grasped_in(stage: Stage | Condition) -> list[str]:
    """What a stage wants grasped."""
    conditions = leaves(stage)
    # To be let go of settles it: what is put somewhere is held before, and not when it is there.
    if any(isinstance(one, Released) for one in conditions):
        return []
    return [one.thing for one in conditions if isinstance(one, Grasped)]


def _parts(node: object) -> list[object]:
    if isinstance(node, tuple | list):
        return list(node)
    return [getattr(node, field.name) for field in fields(node)] if is_dataclass(node) else []
