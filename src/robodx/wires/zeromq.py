"""A ZeroMQ connection to a server that answers each request in turn, read by deadlines; the end of it is noticed.

The library bounds the size of a frame and the number of messages that wait, but not the number of a message's frames:
all of them are in memory before any can be read. A peer that means harm can fill the memory with one message of many
frames, whichever end it is at; nor does it bound the number of connections, or close that of one client. ZeroMQ is
therefore for servers and clients that one trusts; websockets are bounded.
"""

from __future__ import annotations

import socket
import time

import zmq

from robodx.wires.base import Address, Closed, WireError
from robodx.wires.messages import MAX_REPLY_BYTES
from robodx.wires.serving import ASK_EVERY_S, ASK_TIMES, HANDSHAKE_S, SILENCE_S

# Replies that may wait unread: a server that sends without being asked must not fill the memory.
MAX_WAITING = 16
FAILED = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_AUTH
EVENTS = zmq.EVENT_HANDSHAKE_SUCCEEDED | FAILED | zmq.EVENT_DISCONNECTED


def limit_silence(router: zmq.Socket[bytes]) -> None:
    """End connections of clients that never say what they are, or that vanished without a word."""
    router.setsockopt(zmq.HANDSHAKE_IVL, round(1000 * HANDSHAKE_S))
    # Any name will do: where one is set, what does not begin with ZeroMQ 4's greeting is not taken for a client of
    # ZeroMQ 2, which has no handshake and so no end of it.
    router.setsockopt_string(zmq.ZAP_DOMAIN, "robodx")
    router.setsockopt(zmq.TCP_KEEPALIVE, 1)
    router.setsockopt(zmq.TCP_KEEPALIVE_IDLE, SILENCE_S)
    router.setsockopt(zmq.TCP_KEEPALIVE_INTVL, ASK_EVERY_S)
    router.setsockopt(zmq.TCP_KEEPALIVE_CNT, ASK_TIMES)


class Dealer:
    """One connection. After any error it is of no more use: close it and open another.

    A dealer and not a requester: several requests may be under way, and a lost reply wedges nothing. It never connects
    again by itself, so that a late reply to an old question cannot be taken for the answer to a new one.
    """

    def __init__(self, address: Address, within_s: float) -> None:
        self._address = address
        end = time.monotonic() + within_s
        # ZeroMQ connects in the background and says nothing of a server that is not there; the plain socket does.
        with socket.create_connection((address.host, address.port), timeout=within_s) as plain:
            host, port = plain.getpeername()[:2]
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.RECONNECT_IVL, -1)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_REPLY_BYTES)
        self._socket.setsockopt(zmq.RCVHWM, MAX_WAITING)
        self._socket.setsockopt(zmq.IPV6, ":" in host)
        self._monitor: zmq.Socket[bytes] = self._socket.get_monitor_socket(EVENTS)
        self._poller = zmq.Poller()
        self._poller.register(self._monitor, zmq.POLLIN)
        try:
            self._socket.connect(f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}")
            self._shake_hands(end)
        except BaseException:
            self.close()
            raise
        self._poller.register(self._socket, zmq.POLLIN)

    @property
    def is_quiet(self) -> bool:
        """Whether it is open and nothing has come that nobody asked for."""
        return not self._poller.poll(0)

    def send(self, data: bytes) -> None:
        try:
            # The empty frame is what a requester would put in front.
            self._socket.send_multipart([b"", data], flags=zmq.DONTWAIT)
        except zmq.Again as error:
            raise Closed(f"the server at {self._address} closed the connection") from error

    def receive(self, within_s: float) -> bytes:
        """The next reply: they come in the order of the requests."""
        ready = dict(self._poller.poll(round(1000 * within_s)))
        if not ready:
            raise WireError(self._address.late(within_s))
        # A reply that came before the end still counts.
        if self._socket not in ready and not self._socket.poll(0):
            raise Closed(
                f"the server at {self._address} closed the connection, or sent more than {MAX_REPLY_BYTES >> 20} MiB"
            )
        frames = self._socket.recv_multipart()
        if len(frames) != 2 or frames[0]:
            sizes = [len(frame) for frame in frames]
            raise WireError(f"the server at {self._address} sent frames of {sizes} bytes, not an empty one and a reply")
        return bytes(frames[1])

    def close(self) -> None:
        """At once: a server that hangs is not waited for."""
        self._socket.disable_monitor()
        self._monitor.close(0)
        self._socket.close(0)

    def _shake_hands(self, end: float) -> None:
        if not self._monitor.poll(round(1000 * max(end - time.monotonic(), 0))):
            # The library's own thread shakes hands, however busy the server is.
            raise TimeoutError("it accepts connections, but does not speak ZeroMQ")
        event = int.from_bytes(self._monitor.recv_multipart()[0][:2], "little")
        if event != zmq.EVENT_HANDSHAKE_SUCCEEDED:
            raise OSError("it does not speak ZeroMQ, or is no server of request and reply")
