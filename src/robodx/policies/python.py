"""Your own policy, by its import path."""

from __future__ import annotations

import importlib
from typing import TypeGuard

from robodx.errors import UserError
from robodx.policy_contract import REQUIRED, MinimalPolicy, policy
from robodx.users_code import calling


@policy("python", takes="PACKAGE.MODULE:NAME")
def from_python(place: str) -> MinimalPolicy:
    """Your policy object, or a class or factory that makes one without arguments."""
    module_name, _, name = place.partition(":")
    if not name:
        raise UserError(f"python:{place} does not name an object: write python:PACKAGE.MODULE:NAME")
    # Not that it is an identifier: my-policy.py can be imported by its name.
    if not all(module_name.split(".")):
        raise UserError(f'python:{place} names no module: "{module_name}" cannot be imported; write PACKAGE.MODULE')
    with calling(f"no policy at python:{place}: importing it"):
        try:
            found = importlib.import_module(module_name)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as error:
            raise UserError(f"no policy at python:{place}: {error}") from error
    with calling(f"python:{place}"):
        made = found if _is_policy(found) and not isinstance(found, type) else _call(found, place)
        if not _is_policy(made):
            missing = [method for method in REQUIRED if not hasattr(made, method)]
            raise UserError(
                f"python:{place} gives a {type(made).__name__}, which is not a policy: it has no {', '.join(missing)}"
            )
    return made


def _is_policy(candidate: object) -> TypeGuard[MinimalPolicy]:
    return all(hasattr(candidate, name) for name in REQUIRED)


def _call(factory: object, place: str) -> object:
    if not callable(factory):
        raise UserError(f"python:{place} is a {type(factory).__name__}: neither a policy nor something that makes one")
    return factory()
