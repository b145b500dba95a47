# SPDX-License-Identifier: Apache-2.0
"""The container engine: Docker in the twin's own namespaces, for the agents of all emulated servers."""

import asyncio
from collections.abc import Collection
from pathlib import Path

from orrery_twin.adapters.docker_api import DockerApi, DockerFailed, DockerInfo
from orrery_twin.adapters.docker_daemons import UMASK, DockerDaemons
from orrery_twin.adapters.process import BoundedLog
from orrery_twin.contract.models import Capability
from orrery_twin.service.directories import Directories
from orrery_twin.service.hub import Hub
from orrery_twin.service.supervisor import Supervised

RETRY_S = 0.05
PROBE_S = 2.0
"""Pause after each answer of an engine that is offered."""
IMAGES_KEPT = 4
REMOVE_TIMEOUT_S = 15.0
NODE_LABEL = "orrery.node"
"""Label by which agents mark their containers."""
FALLBACK = "no container NFs; NFs run in the engine"


class Containers:
    """`obstacle`: why there is no container engine.

    The socket for agents exists only while the engine answers and has no containers of an earlier network.
    """

    def __init__(self, daemons: DockerDaemons, directories: Directories, hub: Hub, obstacle: str | None) -> None:
        self._offered_socket = directories.run / "docker.sock"
        self._own_socket = directories.run / "docker.new"
        self._hub = hub
        self._obstacle = obstacle
        self._info: DockerInfo | None = None
        self._trouble: str | None = None
        self._has_leftovers = True
        self._opening: asyncio.Task[None] | None = None
        logs = directories.state / "logs"
        self._containerd = Supervised(
            "container-engine",
            "containerd",
            daemons.containerd,
            namespace_of=None,
            log=BoundedLog(logs / "containerd.log"),
            hub=hub,
            umask=UMASK,
            on_change=lambda: None,
        )
        self._dockerd = Supervised(
            "container-engine",
            "dockerd",
            lambda: daemons.dockerd(self._own_socket),
            namespace_of=None,
            log=BoundedLog(logs / "dockerd.log"),
            hub=hub,
            umask=UMASK,
            on_change=self._dockerd_changed,
        )

    @property
    def socket(self) -> Path | None:
        """Where agents find the engine, now or soon; None if there is none."""
        return self._offered_socket if self._obstacle is None else None

    def start(self) -> None:
        self._withdraw()
        if self._obstacle is None:
            self._containerd.start()
            self._dockerd.start()

    async def remove_at(self, servers: Collection[str]) -> None:
        """Their servers are gone. If the engine cannot remove their containers now, it removes all before it is offered
        again.
        """
        if self._info is None:
            self._has_leftovers = True
            return
        try:
            await self._remove(DockerApi(self._offered_socket), servers)
        except DockerFailed as error:
            self._has_leftovers = True
            self._hub.event("container-engine.stuck", "dockerd", f"containers stay: {error}", "warning")
            await self._dockerd.stop(at_once=True)
            self._withdraw()
            self._dockerd.start()

    def capability(self) -> Capability:
        info = self._info if self._containerd.pid and self._trouble is None else None
        return Capability(
            id="docker",
            title="Containers",
            where="twin",
            available=info is not None,
            detail=f"Docker {info.version}, {info.storage_driver}" if info else self._why_not(),
            fallback=None if info else FALLBACK,
        )

    def _why_not(self) -> str:
        for process in (self._containerd, self._dockerd):
            if process.detail:
                return f"{process.subject} {process.detail}"
        if self._info:
            return f"dockerd does not answer: {self._trouble}"
        return self._obstacle or f"dockerd is starting{f': {self._trouble}' if self._trouble else ''}"

    def _dockerd_changed(self) -> None:
        self._withdraw()
        if self._dockerd.pid is not None:
            self._opening = asyncio.create_task(self._open())

    def _withdraw(self) -> None:
        if self._opening:
            self._opening.cancel()
            self._opening = None
        self._info, self._trouble = None, None
        self._offered_socket.unlink(missing_ok=True)

    async def _open(self) -> None:
        """Offer the engine once it answers and is empty; retry until then."""
        api = DockerApi(self._own_socket)
        while True:
            try:
                info = await api.info()
                if self._has_leftovers:
                    await self._remove(api, None)
                    self._has_leftovers = False
                    await api.remove_images_but(IMAGES_KEPT)
                break
            except DockerFailed as error:
                self._trouble = str(error)
            await asyncio.sleep(RETRY_S)
        # A socket answers under any name.
        self._own_socket.replace(self._offered_socket)
        self._info, self._trouble = info, None
        self._hub.event("container-engine.ready", "dockerd", f"version {info.version}")
        await self._watch(DockerApi(self._offered_socket))

    async def _watch(self, api: DockerApi) -> None:
        """One that hangs keeps its process and its socket."""
        while True:
            await asyncio.sleep(PROBE_S)
            try:
                await api.ping()
                self._trouble = None
            except DockerFailed as error:
                self._trouble = str(error)

    async def _remove(self, api: DockerApi, servers: Collection[str] | None) -> None:
        """Remove the containers of these servers' agents; None: all."""
        try:
            async with asyncio.timeout(REMOVE_TIMEOUT_S):
                for server in [None] if servers is None else servers:
                    await api.remove_containers(server and f"{NODE_LABEL}={server}")
        except TimeoutError:
            raise DockerFailed(f"not removed within {REMOVE_TIMEOUT_S:g} s") from None
