# SPDX-License-Identifier: Apache-2.0
"""Captures at a host's own interface: tcpdump in its namespace, parsed here."""

import asyncio
import re
import secrets
import time
from asyncio.subprocess import Process
from collections.abc import Collection

from orrery_twin.adapters.process import CommandFailed, end, run, spawn
from orrery_twin.contract.models import CaptureRequest, CaptureStatus, Packet
from orrery_twin.domain.dissect import dissect
from orrery_twin.domain.pcap_file import Frame, NotACapture, PcapReader
from orrery_twin.domain.refusal import FieldFault, Refused
from orrery_twin.service.hub import Hub
from orrery_twin.service.twin import Twin

RUNNING_MAX = 8
KEPT_MAX = 10
SNAP_BYTES = 128
READY_TIMEOUT_S = 3.0


class Captures:
    def __init__(self, twin: Twin, hub: Hub) -> None:
        self._twin = twin
        self._hub = hub
        self._captures: dict[str, CaptureStatus] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._starting = 0
        twin.before_nodes_leave.append(self.stop_at)

    def all(self) -> list[CaptureStatus]:
        return list(self._captures.values())

    def get(self, capture_id: str) -> CaptureStatus | None:
        return self._captures.get(capture_id)

    async def start(self, request: CaptureRequest) -> CaptureStatus:
        """Return once packets are being captured, so that none sent afterwards is missed."""
        self._place_of(request.host)
        if len(self._tasks) + self._starting >= RUNNING_MAX:
            raise Refused(f"at most {RUNNING_MAX} captures run at a time", status=429)
        self._starting += 1
        try:
            return await self._start(request)
        finally:
            self._starting -= 1

    def _place_of(self, host_id: str) -> tuple[int, str]:
        """A process in the host's network namespace, and the interface. Raises Refused if there is no such host."""
        plan = self._twin.plan
        if plan is None:
            raise Refused("the twin is not up", status=409)
        host, link = plan.node(host_id), plan.link_of(host_id)
        pid = self._twin.network.pid_of.get(host_id)
        if host is None or host.address is None or link is None or pid is None:
            raise Refused("the twin cannot capture this", [FieldFault("/host", f"no host {host_id}")])
        return pid, link.far.interface

    async def _start(self, request: CaptureRequest) -> CaptureStatus:
        await self._check_filter(request.filter)
        place = self._place_of(request.host)
        pid, interface = place
        command = ["tcpdump", "-i", interface, "-n", "-U", "-w", "-", "-s", str(SNAP_BYTES), "-c", str(request.packets)]
        command += ["-Z", "root", "--", request.filter] if request.filter else ["-Z", "root"]
        try:
            process = await spawn(command, namespace_of=pid, capture_output=True)
        except (OSError, CommandFailed) as error:
            raise Refused(f"tcpdump did not start: {error}", status=503) from None
        status = CaptureStatus(
            id="capture-" + secrets.token_hex(6),
            request=request,
            state="running",
            packets=[],
            stopped_by=None,
            elapsed_s=None,
            detail=None,
        )
        try:
            await self._until_listening(process)
        except (OSError, TimeoutError) as error:
            await end(process)
            raise Refused(f"tcpdump did not start: {error}", status=503) from None
        try:
            is_elsewhere = self._place_of(request.host) != place
        except Refused:
            is_elsewhere = True
        if is_elsewhere:
            await end(process)
            raise Refused(f"{request.host} was removed or connected anew meanwhile", status=409)
        over = [name for name in self._captures if name not in self._tasks]
        for name in over[: max(0, len(self._captures) + 1 - KEPT_MAX)]:
            del self._captures[name]
        self._captures[status.id] = status
        task = asyncio.create_task(self._collect(status, process))
        self._tasks[status.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(status.id, None))
        # One that is cancelled before it begins would not end tcpdump.
        await asyncio.sleep(0)
        return status

    async def stop(self, capture_id: str) -> CaptureStatus | None:
        """End a capture before its limits; it keeps its packets. One that has ended stays as it is."""
        status, task = self._captures.get(capture_id), self._tasks.get(capture_id)
        if status and task:
            if status.stopped_by is None and status.detail is None:
                status.stopped_by = "user"
                task.cancel()
            await asyncio.wait([task])
        return status

    async def stop_at(self, hosts: Collection[str]) -> None:
        tasks = [task for name, task in self._tasks.items() if self._captures[name].request.host in hosts]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _check_filter(self, expression: str) -> None:
        if not expression:
            return
        try:
            await run(["tcpdump", "-y", "EN10MB", "-d", "--", expression])
        except CommandFailed as failure:
            reason = re.sub(r"^tcpdump: ", "", failure.output.splitlines()[-1] if failure.output else "not a filter")
            raise Refused("invalid pcap filter", [FieldFault("/filter", reason[:200])]) from None

    async def _until_listening(self, process: Process) -> None:
        assert process.stderr
        said = b""
        async with asyncio.timeout(READY_TIMEOUT_S):
            while line := await process.stderr.readline():
                said = line
                if b"listening on" in line:
                    return
        raise OSError(said.decode(errors="replace").strip() or "it exited at once")

    async def _collect(self, status: CaptureStatus, process: Process) -> None:
        assert process.stdout
        reader = PcapReader()
        began = time.monotonic()
        try:
            async with asyncio.timeout(status.request.duration_s):
                while data := await process.stdout.read(1 << 16):
                    status.packets.extend(map(_packet, reader.feed(data)))
            if len(status.packets) >= status.request.packets:
                status.stopped_by = "packets"
            else:
                status.detail = "tcpdump ended by itself"
        except TimeoutError:
            status.stopped_by = "duration"
        except NotACapture as problem:
            status.detail = str(problem)
        finally:
            await end(process)
            status.elapsed_s = round(time.monotonic() - began, 3)
            status.state = "failed" if status.detail else "completed"
            self._hub.event("capture.completed", status.id, _outcome(status))


def _outcome(status: CaptureStatus) -> str:
    what = f"{len(status.packets)} packets at {status.request.host} in {status.elapsed_s:.1f} s"
    if status.stopped_by == "packets":
        return f"{what}; stopped at the limit of {status.request.packets} packets"
    if status.stopped_by == "user":
        return f"{what}; stopped by a user"
    return f"{what}; {status.detail}" if status.detail else what


def _packet(frame: Frame) -> Packet:
    fields = dissect(frame.data)
    return Packet(
        t_ms=round(frame.t_s * 1000, 3),
        src=fields.src,
        dst=fields.dst,
        protocol=fields.protocol,
        src_port=fields.src_port,
        dst_port=fields.dst_port,
        length=frame.length,
    )
