# SPDX-License-Identifier: Apache-2.0
"""twind: serves the twin's API on a unix socket. Started by twin/bin/twin-launcher in namespaces of its own."""

import argparse
import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from aiohttp import web

from orrery_twin.adapters.board_build import BoardBuild
from orrery_twin.adapters.capabilities import probe_all
from orrery_twin.adapters.docker_daemons import DockerDaemons
from orrery_twin.adapters.process import run
from orrery_twin.api.app import Services, make_app
from orrery_twin.contract.models import Capability
from orrery_twin.domain.topology import Machine
from orrery_twin.service.captures import Captures
from orrery_twin.service.containers import Containers
from orrery_twin.service.directories import Directories
from orrery_twin.service.faults import Faults
from orrery_twin.service.hub import Hub
from orrery_twin.service.pcaps import Pcaps
from orrery_twin.service.traffic import Traffic
from orrery_twin.service.traffic_journal import TrafficJournal
from orrery_twin.service.twin import Twin


async def serve(directories: Directories, cgroup: str) -> None:
    # What is made here is nobody else's: directories, files and the socket of the API.
    os.umask(0o077)
    await run(["ip", "link", "set", "lo", "up"])
    boards = BoardBuild.of_checkout()
    capabilities = {capability.id: capability for capability in await probe_all(boards)}
    hub = Hub()
    daemons = DockerDaemons.of_machine(directories.state, cgroup)
    containers = Containers(daemons, directories, hub, daemons.missing() or _no_limits(capabilities["cgroup-cpu"]))
    containers.start()
    machine = Machine(capabilities["netem"].available, boards.slots_of_profile())
    twin = Twin(directories, hub, machine, boards, containers)
    pcaps = Pcaps(directories.state / "pcaps")
    traffic = Traffic(twin, pcaps, hub, TrafficJournal(directories.state / "traffic.json"))

    def told() -> list[Capability]:
        return [*capabilities.values(), containers.capability()]

    services = Services(twin, traffic, Captures(twin, hub), Faults(twin, hub), pcaps, hub, told)

    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    background = [asyncio.create_task(twin.run()), asyncio.create_task(twin.publish_counters())]
    runner = web.AppRunner(make_app(services), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    socket = directories.run / "twind.sock"
    socket.unlink(missing_ok=True)
    await web.UnixSite(runner, str(socket)).start()
    logging.getLogger(__name__).info("serving %s", socket)
    await stopping.wait()
    traffic.forget()
    # Whatever runs here ends with the namespace.
    for task in background:
        task.cancel()
    socket.unlink(missing_ok=True)


def _no_limits(cgroup: Capability) -> str | None:
    """Why nothing can be confined; None when it can."""
    return None if cgroup.available else f"control groups cannot be made ({cgroup.detail})"


def main() -> None:
    parser = argparse.ArgumentParser(prog="twind", description=__doc__)
    parser.add_argument("--run-dir", type=Path, required=True)
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--cgroup", required=True, help="name of the control group of what runs in containers")
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
