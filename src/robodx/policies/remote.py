"""A policy at the other end of a wire, as the policies' own folder offers it; it lives with the wires."""

from robodx.wires.remote import Declared, RemotePolicy, connect, declared

__all__ = ["Declared", "RemotePolicy", "connect", "declared"]
