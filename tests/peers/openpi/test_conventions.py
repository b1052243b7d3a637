"""openpi's client speaks DROID's conventions to a policy of RoboDx, and is told what fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openpi_client.image_tools import resize_with_pad
from openpi_client.websocket_client_policy import WebsocketClientPolicy

Serve = Callable[..., int]
PLUGIN = Path(__file__).with_name("echo_policy.py")


@pytest.fixture
def client(serve: Serve) -> WebsocketClientPolicy:
    port = serve("echo", "--plugin", str(PLUGIN), "--preset", "droid")
    return WebsocketClientPolicy("127.0.0.1", port, api_key="none is needed")


def seen(**changes: Any) -> dict[str, Any]:
    """As openpi's example for DROID makes it, of pictures as its cameras take them."""
    return {
        "observation/exterior_image_1_left": resize_with_pad(np.full((720, 1280, 3), 3, np.uint8), 224, 224),
        "observation/wrist_image_left": resize_with_pad(np.full((720, 1280, 3), 2, np.uint8), 224, 224),
        "observation/joint_position": np.linspace(-0.9, 0.9, 7),
        "observation/gripper_position": np.array([0.25]),
        "prompt": "stack the cubes",
        **changes,
    }


def test_what_openpi_sends_is_what_the_policy_sees(client: WebsocketClientPolicy) -> None:
    """Pictures without their black bands, positions, openings; and velocities back in DROID's unit."""
    assert client.get_server_metadata()["robodx"]["preset"]["name"] == "droid"
    for _ in range(3):
        actions = client.infer(seen())["actions"]
        assert actions.shape == (5, 8) and actions.dtype == np.float32
        assert np.allclose(actions[:, :7], np.linspace(-0.9, 0.9, 7) / 3, atol=1e-6)
        assert np.allclose(actions[:, 7], 0.25), "closed by a quarter there, open by three quarters here"
    client.reset()


def test_a_failing_policy_is_an_error_with_a_traceback(client: WebsocketClientPolicy) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)Traceback.*this one is refused"):
        client.infer(seen(prompt="refuse"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"observation/gripper_position": np.zeros(2)}, "a state of 2 numbers"),
        ({"observation/wrist_image_left": np.zeros((224, 224, 3))}, "float64"),
        ({"observation/wrist_image_left": np.zeros((100, 100, 3), np.uint8)}, "100"),
    ],
)
def test_a_request_that_does_not_fit_is_an_error_that_says_why(
    client: WebsocketClientPolicy, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(RuntimeError, match=words):
        client.infer(seen(**change))


def test_a_request_without_a_key_is_an_error_that_names_it(client: WebsocketClientPolicy) -> None:
    request = seen()
    del request["observation/gripper_position"]
    with pytest.raises(RuntimeError, match="has no observation/gripper_position"):
        client.infer(request)
