# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch: its two daemons. The agent of the bridges decides what they forward."""

import asyncio
import logging
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from pathlib import Path

from orrery_twin.adapters.process import BoundedLog, CommandFailed, end, run, spawn

log = logging.getLogger(__name__)

RUN_DIRECTORY = Path("/run/openvswitch")
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
OFCTL = ["ovs-ofctl", "-O", "OpenFlow15"]
RESTART_DELAY_S = 0.2
LAST_RESTART_DELAY_S = 10.0
PROBE_INTERVAL_S = 5.0
PROBE_TIMEOUT_S = 10.0
UNANSWERED_PROBES_MAX = 2
"""After so many in a row, ovsdb-server counts as hung. A single one may be due to a stall of twind itself."""


class SwitchDaemons:
    """ovsdb-server and ovs-vswitchd with the userspace datapath and segmentation offload; restarted when they die.

    An ovsdb-server that hangs is killed and restarted.
    """

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
        try:
            await self._start("ovsdb-server", commands["ovsdb-server"])
            # ovs-vswitchd reads it only when it starts.
            offload = "other_config:userspace-tso-enable=true"
            await self._until_ready(["--no-wait", "init", "--", "set", "Open_vSwitch", ".", offload])
            await self._start("ovs-vswitchd", commands["ovs-vswitchd"])
        except BaseException:
            await self.stop()
            raise
        self._watchers = [asyncio.create_task(self._keep(name, command)) for name, command in commands.items()]
        self._watchers.append(asyncio.create_task(self._probe_database()))

    async def stop(self) -> None:
        for watcher in self._watchers:
            watcher.cancel()
        await asyncio.gather(*self._watchers, return_exceptions=True)
        self._watchers = []
        for name in ("ovs-vswitchd", "ovsdb-server"):
            if process := self._processes.pop(name, None):
                await end(process)

    async def _start(self, name: str, arguments: list[str]) -> None:
        self._processes[name] = await spawn([name, *arguments], log=self._log)

    async def _keep(self, name: str, arguments: list[str]) -> None:
        delay_s = RESTART_DELAY_S
        while True:
            await self._processes[name].wait()
            await asyncio.sleep(delay_s)
            try:
                await self._start(name, arguments)
            except (OSError, CommandFailed) as error:
                delay_s = min(delay_s * 2, LAST_RESTART_DELAY_S)
                log.error("%s cannot be started: %s; next attempt in %g s", name, error, delay_s)
                continue
            delay_s = RESTART_DELAY_S
            try:
                if name == "ovs-vswitchd" and await self._made_bridges(self._processes[name]):
                    await self._on_restart()
            except Exception:
                log.exception("the restart of %s could not be reported", name)

    async def _made_bridges(self, process: Process) -> bool:
        """Wait for a restarted ovs-vswitchd, even while the database is down; return False if it died again."""
        while process.returncode is None:
            try:
                # A change without --no-wait is answered once every bridge is up.
                await self._until_ready(["set", "Open_vSwitch", ".", f"external_ids:restarted={process.pid}"])
            except (CommandFailed, TimeoutError):
                continue
            except OSError:
                await asyncio.sleep(RESTART_DELAY_S)
                continue
            return True
        return False

    async def _probe_database(self) -> None:
        silent = 0
        while True:
            await asyncio.sleep(PROBE_INTERVAL_S)
            process = self._processes["ovsdb-server"]
            try:
                await run(["ovsdb-client", "list-dbs", f"unix:{RUN_DIRECTORY / 'db.sock'}"], timeout_s=PROBE_TIMEOUT_S)
                silent = 0
            except CommandFailed as failure:
                silent = silent + 1 if failure.timed_out else 0
            except OSError as error:
                log.warning("ovsdb-server cannot be probed: %s", error)
            if silent >= UNANSWERED_PROBES_MAX:
                silent = 0
                log.error("ovsdb-server, process %d, does not answer: killing it", process.pid)
                await end(process, at_once=True)

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
