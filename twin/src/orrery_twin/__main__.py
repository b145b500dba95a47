# SPDX-License-Identifier: Apache-2.0
"""twind: serve the twin's API on a unix socket. Started by twin/bin/twin-launcher in its own namespaces."""

import argparse
import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from aiohttp import web

from orrery_twin.adapters.board_build import BoardBuild
from orrery_twin.adapters.capabilities import built_parts, probe_all
from orrery_twin.adapters.docker_daemons import DockerDaemons
from orrery_twin.adapters.p4_software import missing_software
from orrery_twin.adapters.process import run
from orrery_twin.api.app import Services, make_app
from orrery_twin.contract.models import Capability
from orrery_twin.domain.topology import Machine
from orrery_twin.service.application_journal import ApplicationJournal
from orrery_twin.service.applications import Applications
from orrery_twin.service.captures import Captures
from orrery_twin.service.containers import Containers
from orrery_twin.service.delay_lines import missing as no_delay_lines
from orrery_twin.service.directories import Directories
from orrery_twin.service.faults import Faults
from orrery_twin.service.hub import Hub
from orrery_twin.service.pcaps import Pcaps
from orrery_twin.service.twin import Twin


async def serve(directories: Directories, cgroup: str) -> None:
    # Keep directories, files and the API socket private to this user.
    os.umask(0o077)
    await run(["ip", "link", "set", "lo", "up"])
    boards = BoardBuild.of_checkout()
    capabilities = {capability.id: capability for capability in await probe_all(no_delay_lines())}
    hub = Hub()
    daemons = DockerDaemons.of_machine(directories.state, cgroup)
    containers = Containers(daemons, directories, hub, daemons.missing() or _no_limits(capabilities["cgroup-cpu"]))
    containers.start()
    machine = Machine(no_delay_lines(), _no_ipv6(), missing_software, boards.slots_of_profile())
    twin = Twin(directories, hub, machine, boards, containers)
    pcaps = Pcaps(directories.state / "pcaps")

    def told() -> list[Capability]:
        return [*capabilities.values(), *built_parts(boards), containers.capability()]

    applications = Applications(
        twin, pcaps, hub, ApplicationJournal(directories.state / "applications.json"), directories.state / "logs"
    )
    services = Services(twin, applications, Captures(twin, hub), Faults(twin, hub), pcaps, hub, told)

    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    background = [asyncio.create_task(part) for part in (twin.run(), twin.publish_link_changes(), applications.run())]
    runner = web.AppRunner(make_app(services), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    socket = directories.run / "twind.sock"
    socket.unlink(missing_ok=True)
    await web.UnixSite(runner, str(socket)).start()
    # The server has its own sockets there; in a container of its own it is not root.
    owner = directories.run.stat()
    os.chown(socket, owner.st_uid, owner.st_gid)
    logging.getLogger(__name__).info("serving %s", socket)
    await until_stopped(stopping, background)
    # Whatever still runs ends with the namespace.
    for task in background:
        task.cancel()
    socket.unlink(missing_ok=True)


async def until_stopped(stopping: asyncio.Event, background: list[asyncio.Task[None]]) -> None:
    """Raises if a background task ends: the server then starts a twind that is whole."""
    stopped = asyncio.create_task(stopping.wait())
    await asyncio.wait([stopped, *background], return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    for task in background:
        if task.done() and not stopping.is_set():
            raise RuntimeError(f"{task.get_coro()} ended") from task.exception()


def _no_ipv6() -> str | None:
    """Return why nodes cannot have IPv6 addresses; None if they can."""
    return None if Path("/proc/sys/net/ipv6").exists() else "the kernel does not support it"


def _no_limits(cgroup: Capability) -> str | None:
    """Return why nothing can be confined; None if it can."""
    return None if cgroup.available else f"control groups cannot be created ({cgroup.detail})"


def main() -> None:
    parser = argparse.ArgumentParser(prog="twind", description=__doc__)
    parser.add_argument("--run-dir", type=Path, required=True)
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--cgroup", required=True, help="name of the control group for containers")
    parser.add_argument("--log-level", default="info")
    arguments = parser.parse_args()
    logging.basicConfig(
        level=arguments.log_level.upper(), format="twind %(levelname)s %(name)s: %(message)s", stream=sys.stderr
    )
    if os.environ.get("ORRERY_TWIN_NAMESPACE") != "1":
        parser.error("twind changes the network it runs in: start it with twin/bin/twin-launcher")
    if sys.version_info < (3, 12):
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
    asyncio.run(serve(Directories(arguments.run_dir, arguments.state_dir), arguments.cgroup))


if __name__ == "__main__":
    main()
