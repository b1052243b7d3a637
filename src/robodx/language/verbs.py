"""How each verb is said and read; the verbs themselves are in the folder `verbs`."""

from __future__ import annotations

from dataclasses import dataclass

from robodx.registry import Registry, UnknownName


@dataclass(frozen=True)
class Phrasings:
    """Templates over {target}, {place} and {distance}; the first of `train` is the canonical one."""

    train: tuple[str, ...]
    test: tuple[str, ...]
    # Understood as well, but never said.
    read: tuple[str, ...] = ()
    # The verb that it forbids: to leave a thing is not to pick it up.
    negates: str | None = None


# By verb and relation: "pick", "put in".
PHRASINGS: Registry[Phrasings] = Registry("verb", "verbs")


def act(action: str, relation: str | None) -> str:
    """The name of a verb with a relation, under which its phrasings, stages and plan are registered."""
    return action if relation is None else f"{action} {relation}"


def phrasings(action: str, relation: str | None) -> Phrasings:
    """Of a verb with a relation; one that it does not take is answered with those that it takes."""
    try:
        return PHRASINGS[act(action, relation)]
    except UnknownName:
        takes = [name.removeprefix(f"{action} ") for name in PHRASINGS if name.startswith(f"{action} ")]
        if not takes:
            raise
        raise UnknownName(
            f'The verb "{action}" takes no relation "{relation}". It takes: {", ".join(takes)}.'
        ) from None
