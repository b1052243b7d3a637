"""One small registry for everything that can be named: tasks, policies, robots, perturbations, metrics, suites."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.metadata
import importlib.util
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

from robodx.errors import UserError
from robodx.users_code import calling

T = TypeVar("T")

EXTENSIONS = (
    "robots",
    "tasks",
    "verbs",
    "perturbations",
    "interventions",
    "relations",
    "policies",
    "wires.protocols",
    "suites",
    "datasets.formats",
    "analysis.metrics",
    "analysis.findings.kinds",
    "report.sections",
    "exports",
)


class UnknownName(UserError, LookupError):
    """A name that nothing is registered under; the message suggests the nearest ones."""


class Registry(Generic[T]):
    """Named entries of one kind, in the order of their names.

    One with `folders` fills itself on the first look: every module of those folders is imported, and what other
    packages offer.
    """

    def __init__(self, noun: str, *folders: str) -> None:
        self.noun = noun
        self._entries: dict[str, T] = {}
        self._folders = folders

    def add(self, name: str, entry: T) -> T:
        given: object = name
        if not isinstance(given, str) or not given:
            raise UserError(f"the name of a {self.noun} is a text, not {given!r}")
        if name in self._entries:
            raise ValueError(f'a {self.noun} named "{name}" is registered already')
        self._entries[name] = entry
        return entry

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            self._fill()
        try:
            return self._entries[name]
        except KeyError:
            raise UnknownName(unknown(self.noun, name, self._entries)) from None

    def __contains__(self, name: object) -> bool:
        self._fill()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self._fill()
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        self._fill()
        return len(self._entries)

    def entries(self) -> list[T]:
        return [self._entries[name] for name in self]

    def _fill(self) -> None:
        folders, self._folders = self._folders, ()
        for folder in folders:
            discover(folder)


def unknown(noun: str, name: str, valid: Iterable[str]) -> str:
    """The message for a wrong name: the nearest right ones, or all of them where none is near."""
    choices, name = sorted(valid), str(name)
    near = difflib.get_close_matches(name, choices, n=3, cutoff=0.5)
    near += [choice for choice in choices if choice.split("/")[-1] == name and choice not in near]
    if near:
        return f'No {noun} "{name}". Did you mean {" or ".join(f"{choice!r}" for choice in near)}?'.replace("'", '"')
    return f'No {noun} "{name}". There are: {", ".join(choices) or "none"}.'


def require(noun: str, name: str, valid: Iterable[str]) -> None:
    """Refuse a name that is not among the valid ones."""
    if name not in valid:
        raise UnknownName(unknown(noun, name, valid))


def discover(folder: str) -> None:
    """Import every module of a robodx folder, and what other packages offer under the `robodx` entry point."""
    package = importlib.import_module(f"robodx.{folder}")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    for entry_point in importlib.metadata.entry_points(group="robodx"):
        with calling(f"The entry point {entry_point.name} of another package cannot be loaded: {entry_point.value}"):
            entry_point.load()


def load_plugin(plugin: str, *, is_known: bool = False) -> None:
    """Import a user's own file or module, whose decorators register what it holds."""
    # What ships comes first: a plugin that takes a taken name is then the one that is refused. One that another process
    # has loaded takes none, and what ships is imported when it is needed.
    for folder in () if is_known else EXTENSIONS:
        discover(folder)
    with calling(f"The plugin {plugin} cannot be imported: it"):
        if plugin.endswith(".py"):
            _import_file(Path(plugin).resolve())
        elif getattr(importlib.import_module(plugin), "__file__", None) is None:
            raise UserError(
                f"The plugin {plugin} is a folder without an __init__.py: name a module, or a file that ends in .py."
            )


def fingerprint(plugin: str) -> str | None:
    """Changes with a plugin file's content; of a module only its name is known."""
    if not plugin.endswith(".py"):
        return None
    return hashlib.blake2b(Path(plugin).read_bytes(), digest_size=8).hexdigest()


def _import_file(path: Path) -> None:
    if not path.is_file():
        raise UserError(f"There is no plugin file {path}.")
    # Two files may share a name: the module is named by the whole path.
    name = f"robodx_plugin_{hashlib.blake2b(str(path).encode(), digest_size=6).hexdigest()}_{path.stem}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
