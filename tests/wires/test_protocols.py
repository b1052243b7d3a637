"""Protocols are declared in one file each; that of the example, a plugin, is served and asked over a real socket."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from robodx.errors import Stop
from robodx.policy_contract import POLICIES, make_policy
from robodx.records.table import load
from robodx.registry import UnknownName
from robodx.running.request import Request
from robodx.running.run import run
from robodx.wires.base import Reply, WireError
from robodx.wires.pipelining import Ended, ask_ahead
from robodx.wires.protocols.base import PROTOCOLS, protocol, serve, served_protocols
from tests.serving import ROBODX, served

TASK = "primitive/press_switch"
PLUGIN = ("--plugin", str(Path(__file__).parent.parent.parent / "examples" / "my_protocol.py"))


def hashes(folder: Path) -> dict[int, str]:
    return dict(load(folder).select("seed", "trajectory_hash").iter_rows())


def test_a_protocol_of_one_plugin_file_is_listed_served_and_asked(tmp_path: Path) -> None:
    run(Request((TASK,), "expert", 3), tmp_path / "recorded")

    def say(*words: str, expect: int = 0) -> str:
        # In a process of its own: what a plugin registers stays.
        done = subprocess.run([*ROBODX, *words, *PLUGIN], cwd=tmp_path, text=True, capture_output=True, timeout=120)
        assert done.returncode == expect, done.stderr
        return done.stdout + done.stderr

    rows = {row["protocol"]: row for row in json.loads(say("list", "protocols", "--json"))}
    assert rows["json-lines"] == {
        "protocol": "json-lines", "is_served": True, "summary": "A server that speaks lines of JSON."
    }  # fmt: skip
    assert "json-lines:" in say("list", "policies")
    assert "There are: gr00t, json-lines, openpi, vla-eval." in say("serve", "still", "--protocol", "x", expect=2)
    with served(f"replay:{tmp_path / 'recorded'}", "json-lines", *PLUGIN) as server:
        assert "It can be run." in say("check", server.address, "--task", TASK)
        say("run", TASK, "--policy", server.address, "--seeds", "3", "--batch", "2", "--out", "asked")
    assert hashes(tmp_path / "asked") == hashes(tmp_path / "recorded")


def test_each_protocol_is_a_policy_of_the_same_name_and_words() -> None:
    assert {"gr00t", "lerobot", "openpi", "openvla+http", "vla-eval"} <= set(PROTOCOLS) <= set(POLICIES)
    for one in PROTOCOLS.entries():
        assert (POLICIES[one.name].takes, POLICIES[one.name].summary) == (one.takes, one.summary)


@pytest.mark.parametrize("name", ["lerobot", "openvla+http", "opnpi"])
def test_only_what_has_a_server_is_served(name: str) -> None:
    assert name not in served_protocols()
    with pytest.raises(UnknownName, match=f'No protocol "{name}"'.replace("+", r"\+")):
        serve(make_policy("still"), name, lambda port, preset: None)


def test_a_protocol_does_not_take_a_policys_name() -> None:
    with pytest.raises(ValueError, match='a policy named "still" is registered already'):
        protocol("still")(PROTOCOLS["openpi"].open_wire)
    assert "still" not in PROTOCOLS


class Line:
    """A connection that remembers what was done with it, and answers as it is told: number → reply or error."""

    def __init__(self, answer: Callable[[int], Reply | WireError]) -> None:
        self.answer, self.done = answer, list[str]()

    def ask(self, count: int, in_flight: int) -> list[Reply | WireError]:
        return ask_ahead(
            count, self._send, self._receive, in_flight=in_flight,
            connect=lambda: self.done.append("open"), lose=lambda: self.done.append("lose"),
        )  # fmt: skip

    def _send(self, number: int) -> int:
        self.done.append(f"send {number}")
        return number

    def _receive(self, number: int) -> Reply | WireError:
        self.done.append(f"take {number}")
        return self.answer(number)


def number_of(number: int) -> Reply:
    return {"actions": number}


def test_so_many_requests_are_under_way_and_no_more() -> None:
    line = Line(number_of)
    assert line.ask(4, in_flight=2) == [number_of(index) for index in range(4)]
    assert line.done == ["open", "send 0", "send 1", "take 0", "send 2", "take 1", "send 3", "take 2", "take 3"]
    assert Line(number_of).ask(0, in_flight=2) == []


def test_an_error_that_is_answered_is_one_requests_alone() -> None:
    error = WireError("that one")
    line = Line(lambda number: error if number == 1 else number_of(number))
    assert line.ask(3, in_flight=2) == [number_of(0), error, number_of(2)]
    assert "lose" not in line.done


def test_after_a_connections_error_the_rest_err_alike() -> None:
    error = WireError("gone")

    def answer(number: int) -> Reply:
        if number == 1:
            raise error
        return number_of(number)

    line = Line(answer)
    assert line.ask(4, in_flight=2) == [number_of(0), error, error, error]
    assert line.done[-2:] == ["take 1", "lose"]


def test_what_a_server_that_ended_had_not_looked_at_is_sent_again() -> None:
    error = WireError("failed")

    def answer(number: int) -> Reply:
        if number == 0:
            raise Ended(error)
        return number_of(number)

    line = Line(answer)
    assert line.ask(3, in_flight=3) == [error, number_of(1), number_of(2)]
    assert line.done == [
        "open", "send 0", "send 1", "send 2", "take 0", "open", "send 1", "send 2", "take 1", "take 2",
    ]  # fmt: skip


def test_what_is_no_error_of_a_wire_lets_go_of_the_connection_and_passes() -> None:
    def answer(number: int) -> Reply:
        raise Stop("enough")

    line = Line(answer)
    with pytest.raises(Stop, match="enough"):
        line.ask(1, in_flight=1)
    assert line.done[-1] == "lose"
