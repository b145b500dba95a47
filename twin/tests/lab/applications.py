# SPDX-License-Identifier: Apache-2.0
"""Declare applications to a lab's twind as the server does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .conftest import Lab

LIMIT_S = 30.0
SERVERS = {
    "http-client": ("http-server", 80),
    "iperf3-client": ("iperf3-server", 5201),
    "probe": ("probe-server", 9000),
}
"""The server of each client kind, and its usual port."""


class Applications:
    """Revisions grow with each change, as the server's do. `to` is resolved by the infrastructure that is up."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.generation = 0
        self.specs: dict[str, dict[str, Any]] = {}

    def declare(self, name: str, kind: str, node: str, enabled: bool = True, **config: Any) -> None:
        definition = {"id": name, "kind": kind, "node": node, "enabled": enabled, "config": config}
        address = self.lab.address_of(config["to"]) if "to" in config else None
        self.specs[name] = {"definition": definition, "revision": self.generation + 1, "address": address}
        self.put()

    def serve(self, kind: str, node: str, port: int) -> None:
        """Run a server there if there is none."""
        name = f"{kind}-{node}-{port}"
        if name not in self.specs:
            self.declare(name, kind, node, port=port)
        self.until_state(name, "running")

    def start(self, kind: str, node: str, **config: Any) -> str:
        """Declare an application and its server; return its name."""
        if kind in SERVERS:
            server, usual_port = SERVERS[kind]
            self.serve(server, config["to"], config.get("port", usual_port))
        name = f"{kind}-{self.generation}"
        self.declare(name, kind, node, **config)
        return name

    def run(self, kind: str, node: str, limit_s: float = LIMIT_S, **config: Any) -> Any:
        """Wait until an application ends by itself; return its status, including what it measured."""
        name = self.start(kind, node, **config)
        status = self.until_state(name, "completed", limit_s)
        self.remove(name)
        return status | status["metrics"]

    def remove(self, name: str) -> None:
        del self.specs[name]
        self.put()

    def clear(self) -> None:
        self.specs.clear()
        self.put()

    def put(self) -> None:
        self.generation += 1
        self.lab.ok("PUT", "/applications", {"generation": self.generation, "applications": list(self.specs.values())})

    def status(self, name: str) -> Any:
        return next(one for one in self.lab.ok("GET", "/applications")["applications"] if one["id"] == name)

    def metric(self, name: str, metric: str) -> float:
        """0 before the first report."""
        return float(self.status(name)["metrics"].get(metric, 0))

    def until(self, name: str, is_so: Callable[[Any], bool], what: str, limit_s: float = LIMIT_S) -> Any:
        def looked() -> Any:
            status = self.status(name)
            return status if is_so(status) else None

        try:
            return self.lab.until(looked, what, limit_s)
        except AssertionError as error:
            raise AssertionError(f"{name}: {self.status(name)}") from error

    def until_state(self, name: str, state: str, limit_s: float = LIMIT_S) -> Any:
        return self.until(name, lambda status: bool(status["state"] == state), state, limit_s)
