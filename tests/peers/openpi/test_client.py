"""The real openpi client is answered by `robodx serve`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from openpi_client.websocket_client_policy import WebsocketClientPolicy


def test_openpis_client_gets_actions(serve: Callable[..., int]) -> None:
    client = WebsocketClientPolicy("127.0.0.1", serve("random"))
    assert client.get_server_metadata()["robodx"]["preset"]["name"] == "native"
    replies = [client.infer({"prompt": "Pick up the cube."})["actions"] for _ in range(3)]
    for actions in replies:
        assert actions.ndim == 2 and actions.shape[1] == 7 and actions.dtype == np.float32
        assert np.isfinite(actions).all()
    assert not np.array_equal(replies[0], replies[1])
