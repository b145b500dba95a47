# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch: its two daemons. The agent of the bridges decides what they forward."""

import asyncio
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from pathlib import Path

from orrery_twin.adapters.process import BoundedLog, CommandFailed, end, run, spawn

RUN_DIRECTORY = Path("/run/openvswitch")
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
OFCTL = ["ovs-ofctl", "-O", "OpenFlow15"]
RESTART_DELAY_S = 0.2


class SwitchDaemons:
    """ovsdb-server and ovs-vswitchd with the userspace datapath and segmentation offload; restarted when they die."""

    def __init__(self, log_directory: Path, on_restart: Callable[[], Awaitable[None]]) -> None:
        self._log = BoundedLog(log_directory / "openvswitch.log")
        self._on_restart = on_restart
        self._processes: dict[str, Process] = {}
        self._watchers: list[asyncio.Task[None]] = []

    @property
    def switch_pid(self) -> int | None:
        process = self._processes.get("ovs-vswitchd")
        return process.pid if process and process.returncode is None else None

    async def start(self) -> None:
        if self._processes:
            return
        database, socket = RUN_DIRECTORY / "conf.db", RUN_DIRECTORY / "db.sock"
        RUN_DIRECTORY.mkdir(exist_ok=True)
        if not database.exists():
            await run(["ovsdb-tool", "create", str(database), SCHEMA])
        quiet = ["-vsyslog:off", "-vfile:off", "-vconsole:warn"]
        pid_files = f"--pidfile={RUN_DIRECTORY}/"
        commands = {
            "ovsdb-server": [str(database), f"--remote=punix:{socket}", pid_files + "ovsdb-server.pid", *quiet],
            "ovs-vswitchd": [f"unix:{socket}", pid_files + "ovs-vswitchd.pid", "--mlockall", *quiet],
        }
        await self._start("ovsdb-server", commands["ovsdb-server"])
        # ovs-vswitchd reads it only when it starts.
        offload = "other_config:userspace-tso-enable=true"
        await self._until_ready(["--no-wait", "init", "--", "set", "Open_vSwitch", ".", offload])
        await self._start("ovs-vswitchd", commands["ovs-vswitchd"])
        self._watchers = [asyncio.create_task(self._keep(name, command)) for name, command in commands.items()]

    async def stop(self) -> None:
        for watcher in self._watchers:
            watcher.cancel()
        await asyncio.gather(*self._watchers, return_exceptions=True)
        for name in ("ovs-vswitchd", "ovsdb-server"):
            if process := self._processes.pop(name, None):
                await end(process)

    async def _start(self, name: str, arguments: list[str]) -> None:
        self._processes[name] = await spawn([name, *arguments], log=self._log)

    async def _keep(self, name: str, arguments: list[str]) -> None:
        while True:
            await self._processes[name].wait()
            await asyncio.sleep(RESTART_DELAY_S)
            await self._start(name, arguments)
            if name == "ovs-vswitchd" and await self._made_bridges(self._processes[name]):
                await self._on_restart()

    async def _made_bridges(self, process: Process) -> bool:
        """Wait for a restarted ovs-vswitchd, even while the database is down; return False if it died again."""
        while process.returncode is None:
            try:
                # A change without --no-wait is answered once every bridge is up.
                await self._until_ready(["set", "Open_vSwitch", ".", f"external_ids:restarted={process.pid}"])
            except (CommandFailed, TimeoutError):
                continue
            return True
        return False

    async def _until_ready(self, arguments: list[str]) -> None:
        """Wait for the database's socket, and ovs-vsctl for the daemon's answer."""
        async with asyncio.timeout(10):
            while not (RUN_DIRECTORY / "db.sock").exists():
                await asyncio.sleep(0.005)
        await run(["ovs-vsctl", "--timeout=10", "--retry", *arguments], timeout_s=11)


async def send_one_frame(bridge: str, port: int) -> None:
    """Send an empty frame of a local experimental type. Open vSwitch opens its sending socket with the first frame."""
    frame = "00" * 12 + "88b5" + "00" * 46
    await run([*OFCTL, "packet-out", bridge, f"in_port=controller packet={frame} actions=output:{port}"])
