"""Hosts as browsers name them."""

from __future__ import annotations

import ipaddress
import re

# A name or an address, and a port.
HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:@/]+))(?::[0-9]*)?")


def host_name(host: str) -> str:
    """Of a Host header, without its port; nothing if the header is not just a host and a port."""
    found = HOST.fullmatch(host)
    return "" if found is None else (found[1] or found[2]).lower()


def is_loopback(host: str) -> bool:
    """Whether a name or address is of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
