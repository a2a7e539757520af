"""Kerncap: one GPU kernel dispatch as a bundle that can be held, run and edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kerncap.workflows.remote import RemoteSession, connect
    from kerncap.workflows.session import Session

__all__ = ["RemoteSession", "Session", "connect"]


def __getattr__(name: str) -> Any:
    # Only who uses it pays for its imports: every command of the CLI imports this package.
    if name == "Session":
        from kerncap.workflows.session import Session

        return Session
    if name in ("RemoteSession", "connect"):
        from kerncap.workflows import remote

        return getattr(remote, name)
    raise AttributeError(f"module 'kerncap' has no attribute {name!r}")
