"""A container is removed whatever happens to the one who started it; the engine is a stand-in here."""

from __future__ import annotations

from typing import Any

import docker.errors
import pytest

from kerncap.runtime.containers import running


class _Engine:
    """Creation is interrupted; the container appears only when it has been asked for `late` times."""

    def __init__(self, late: int, failure: BaseException) -> None:
        self.late = late
        self.failure = failure
        self.containers = self
        self.api = self
        self.created: list[str] = []
        self.removed: list[str] = []
        self.asked = 0

    def create(self, name: str, **_: Any) -> None:
        self.created.append(name)
        raise self.failure

    def remove_container(self, name: str, force: bool) -> None:
        self.asked += 1
        if self.asked <= self.late:
            raise docker.errors.NotFound("no such container")
        self.removed.append(name)


class _NoArguments:
    def sdk_arguments(self) -> dict[str, Any]:
        return {}


def test_an_interrupt_while_a_container_is_created_leaves_none() -> None:
    engine = _Engine(late=2, failure=KeyboardInterrupt())
    run = running.Run(engine, _NoArguments(), 10.0, None)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        run.result()
    assert engine.removed == engine.created
    assert engine.created[0].startswith("kerncap-run-")


def test_a_creation_that_the_engine_refused_is_not_waited_for() -> None:
    engine = _Engine(late=10**6, failure=docker.errors.APIError("no space left"))
    run = running.Run(engine, _NoArguments(), 10.0, None)  # type: ignore[arg-type]
    with pytest.raises(docker.errors.APIError):
        run.result()
    assert engine.asked == 1
