"""Presets that are written for a user: whole, readable again, never over another file; addresses without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from robodx.errors import UserError
from robodx.policy_contract import make_policy, opened
from robodx.wires.drafting import draft
from robodx.wires.preset import BadPreset
from robodx.wires.preset_files import SHIPPED, find_preset, shipped
from robodx.wires.protocols.base import served_protocols
from robodx.wires.remote import RemotePolicy
from tests.serving import served


@pytest.mark.parametrize("protocol", served_protocols())
def test_what_a_server_of_ours_says_becomes_a_preset_that_fits_it(protocol: str, tmp_path: Path) -> None:
    with served("random", protocol) as server:
        assert draft(server.address, None, tmp_path / "my.toml") == "what the server says of itself"
        written = (tmp_path / "my.toml").read_text()
        assert "scale_m = 1.0" in written and "gripper_open = 1.0" in written, "what could be changed is there"
        with opened(server.address) as server_info, opened(server.address, str(tmp_path / "my.toml")) as given:
            assert isinstance(server_info, RemotePolicy) and isinstance(given, RemotePolicy)
            assert given.preset.as_dict() | {"name": "native"} == server_info.preset.as_dict()


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_preset_is_copied_with_its_comments(name: str, tmp_path: Path) -> None:
    draft("openpi://nowhere:1", name, tmp_path / "my.toml")
    assert (tmp_path / "my.toml").read_text() == (SHIPPED / f"{name}.toml").read_text()
    assert find_preset(str(tmp_path / "my.toml")).actions == find_preset(name).actions


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text("mine")
    with pytest.raises(UserError, match="already exists"):
        draft("openpi://nowhere:1", "droid", tmp_path / "my.toml")
    assert (tmp_path / "my.toml").read_text() == "mine"
    with pytest.raises(UserError, match=r"a preset is a \.toml file"):
        draft("openpi://nowhere:1", "droid", tmp_path / "my.yaml")
    with pytest.raises(UserError, match="random is not a server"):
        draft("random", None, tmp_path / "other.toml")


def test_a_bad_preset_is_told_before_the_server_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("settle_steps = 1000000000000")
    with pytest.raises(BadPreset, match="settle_steps must be 0 to 100000, not 1000000000000"):
        make_policy("openpi://127.0.0.1:1", str(tmp_path / "bad.toml"))


@pytest.mark.parametrize("scheme", ["openpi", "gr00t", "vla-eval", "openvla+http"])
def test_a_password_in_an_address_is_refused_and_not_repeated(scheme: str) -> None:
    with pytest.raises(UserError, match="ROBODX_API_KEY") as caught:
        make_policy(f"{scheme}://user:secret@localhost:8000", "droid")
    assert "secret" not in str(caught.value)
