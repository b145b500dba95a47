# SPDX-License-Identifier: Apache-2.0
"""Traffic that hosts make: each stream is one generator process in the sending host's namespace."""

import asyncio
import json
import secrets
from asyncio.subprocess import Process
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from orrery_twin.adapters.process import end, python_module, spawn
from orrery_twin.contract.models import (
    LatencyUs,
    TrafficRequest,
    TrafficRequestHttp,
    TrafficRequestIperf3,
    TrafficRequestPcap,
    TrafficRequestProbe,
    TrafficStatus,
)
from orrery_twin.domain.iperf import IperfCounts
from orrery_twin.domain.refusal import FieldFault, Refused
from orrery_twin.domain.topology import BuildPlan, NodePlan
from orrery_twin.service.hosts import HTTP_PORT
from orrery_twin.service.hub import Hub, now_ms
from orrery_twin.service.pcaps import Pcaps
from orrery_twin.service.traffic_journal import Running, TrafficJournal
from orrery_twin.service.twin import Twin

RUNNING_MAX = 64
FINISHED_MAX = 100
IPERF_FIRST_PORT, IPERF_LAST_PORT = 5201, 5300
READY_TIMEOUT_S = 5.0
TCP_MSS_MIN = 88


class Report(BaseModel):
    sent: int
    received: int
    errors: int
    bits_per_second: float
    latency_us: LatencyUs | None
    detail: str | None


@dataclass
class Stream:
    status: TrafficStatus
    port: int = 0
    processes: list[Process] = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    receiver: asyncio.Task[None] | None = None

    @property
    def is_over(self) -> bool:
        return self.status.ended_ms is not None


class Traffic:
    def __init__(self, twin: Twin, pcaps: Pcaps, hub: Hub, journal: TrafficJournal) -> None:
        self._twin = twin
        self._pcaps = pcaps
        self._hub = hub
        self._journal = journal
        self._interrupted = journal.read()
        self._streams: dict[str, Stream] = {}
        twin.before_tear_down.append(self.stop_all)
        twin.when_up.append(self.resume)

    def all(self) -> list[TrafficStatus]:
        return [stream.status for stream in self._streams.values()]

    def get(self, traffic_id: str) -> TrafficStatus | None:
        stream = self._streams.get(traffic_id)
        return stream.status if stream else None

    def start(self, request: TrafficRequest) -> TrafficStatus:
        """Raises Refused when the twin is not up or the request names what is not there."""
        return self._start(request, "traffic-" + secrets.token_hex(6), now_ms())

    def resume(self) -> None:
        """Starts again what ran when an earlier twind was killed, for the time that it still had."""
        interrupted, self._interrupted = self._interrupted, []
        for entry in interrupted:
            request = entry.rest(now_ms())
            if request is None:
                continue
            try:
                self._start(request, entry.id, entry.started_ms)
            except Refused as refusal:
                self._hub.event("traffic.lost", entry.id, f"not started again: {refusal}", "warning")
            else:
                self._hub.event("traffic.resumed", entry.id, "started again after the twin was lost", "warning")

    def forget(self) -> None:
        """An orderly end: nothing is to be started again."""
        self._journal.write([])

    def _start(self, request: TrafficRequest, traffic_id: str, started_ms: float) -> TrafficStatus:
        plan = self._twin.plan
        if plan is None:
            raise Refused("the twin is not up", status=409)
        if sum(not stream.is_over for stream in self._streams.values()) >= RUNNING_MAX:
            raise Refused(f"at most {RUNNING_MAX} streams run at a time", status=429)
        self._check(plan, request)
        status = TrafficStatus(
            id=traffic_id,
            request=request,
            state="starting",
            started_ms=started_ms,
            ended_ms=None,
            sent=0,
            received=0,
            errors=0,
            bits_per_second=None,
            latency_us=None,
            detail=None,
        )
        stream = Stream(status)
        if isinstance(request, TrafficRequestIperf3):
            stream.port = self._free_iperf_port(request.to)
        self._streams[status.id] = stream
        self._note()
        stream.task = asyncio.create_task(self._run(stream, plan))
        return status

    def replays(self, pcap_id: str) -> bool:
        """Whether a stream that is not over sends the capture."""
        running = [stream.status.request for stream in self._streams.values() if not stream.is_over]
        return any(isinstance(one, TrafficRequestPcap) and one.pcap_id == pcap_id for one in running)

    async def stop(self, traffic_id: str) -> TrafficStatus | None:
        stream = self._streams.get(traffic_id)
        if stream is None:
            return None
        await self._stop(stream)
        return stream.status

    async def stop_all(self) -> None:
        await asyncio.gather(*(self._stop(stream) for stream in self._streams.values()))

    def _check(self, plan: BuildPlan, request: TrafficRequest) -> None:
        faults = []
        for name, value in [("from", request.from_), ("to", getattr(request, "to", None))]:
            node = plan.node(value) if value else None
            if value and (node is None or node.address is None):
                faults.append(FieldFault(f"/{name}", f"there is no host {value}"))
        if not isinstance(request, TrafficRequestPcap) and request.to == request.from_:
            faults.append(FieldFault("/to", "is where the traffic comes from"))
        if isinstance(request, TrafficRequestPcap) and self._pcaps.get(request.pcap_id) is None:
            faults.append(FieldFault("/pcap_id", f"there is no capture {request.pcap_id}"))
        if isinstance(request, TrafficRequestProbe) and self._port_taken(request.to, request.port):
            faults.append(FieldFault("/port", f"another probe to {request.to} uses port {request.port}"))
        if faults:
            raise Refused("the twin cannot make this traffic", faults)

    def _port_taken(self, host: str, port: int) -> bool:
        running = [stream.status.request for stream in self._streams.values() if not stream.is_over]
        return any(isinstance(one, TrafficRequestProbe) and (one.to, one.port) == (host, port) for one in running)

    def _free_iperf_port(self, host: str) -> int:
        taken = {
            stream.port
            for stream in self._streams.values()
            if not stream.is_over and getattr(stream.status.request, "to", None) == host
        }
        return next(port for port in range(IPERF_FIRST_PORT, IPERF_LAST_PORT + 1) if port not in taken)

    async def _run(self, stream: Stream, plan: BuildPlan) -> None:
        request = stream.status.request
        sender = plan.node(request.from_)
        assert sender
        try:
            if isinstance(request, TrafficRequestIperf3):
                failure = await self._iperf(stream, plan, request, sender)
            else:
                failure = await self._generator(stream, plan, request, sender)
        except asyncio.CancelledError:
            self._finish(stream, "stopped")
            raise
        except (OSError, ValueError) as error:
            failure = str(error) or "the receiver did not start in time"
        finally:
            for process in stream.processes:
                await end(process)
            stream.processes.clear()
            if stream.receiver:
                stream.receiver.cancel()
        if failure is None:
            self._finish(stream, "completed")
        else:
            stream.status.detail = failure[:500]
            self._finish(stream, "failed")

    def _finish(self, stream: Stream, state: Any) -> None:
        stream.status.state = state
        stream.status.ended_ms = now_ms()
        request = stream.status.request
        counts = f"{stream.status.sent} sent, {stream.status.received} received"
        message = stream.status.detail or f"{request.kind} from {request.from_}: {counts}"
        if state != "stopped":  # whoever stopped it knows
            self._hub.event(f"traffic.{state}", stream.status.id, message, "warning" if state == "failed" else "info")
        finished = [name for name, other in self._streams.items() if other.is_over]
        for name in finished[: max(0, len(finished) - FINISHED_MAX)]:
            del self._streams[name]
        self._note()

    def _note(self) -> None:
        running = [stream.status for stream in self._streams.values() if not stream.is_over]
        self._journal.write([Running(id=one.id, request=one.request, started_ms=one.started_ms) for one in running])

    async def _stop(self, stream: Stream) -> None:
        if stream.task and not stream.task.done():
            stream.task.cancel()
            await asyncio.gather(stream.task, return_exceptions=True)

    async def _generator(
        self,
        stream: Stream,
        plan: BuildPlan,
        request: TrafficRequestHttp | TrafficRequestProbe | TrafficRequestPcap,
        sender: NodePlan,
    ) -> str | None:
        pids = self._twin.network.pid_of
        settings: dict[str, Any] = request.model_dump()
        if isinstance(request, TrafficRequestPcap):
            link = plan.link_of(sender.id)
            assert link
            module = "orrery_twin.traffic.replay"
            settings.update(file=str(self._pcaps.file(request.pcap_id)), interface=link.far.interface)
        else:
            receiver = plan.node(request.to)
            assert receiver
            settings.update(address=receiver.address)
            if isinstance(request, TrafficRequestProbe):
                module = "orrery_twin.traffic.probe"
                settings.update(from_pid=pids[sender.id], to_pid=pids[receiver.id])
                settings.update(from_address=sender.address, to_address=receiver.address)
            else:
                module = "orrery_twin.traffic.http_client"
                if request.port != HTTP_PORT or not receiver.runs_servers:
                    await self._start_web_server(stream, receiver.id, request.port)
        command = python_module(module, json.dumps(settings))
        process = await self._spawn(stream, command, sender.id)
        return await self._follow(stream, process, lambda line: _take_report(stream.status, line))

    async def _start_web_server(self, stream: Stream, host: str, port: int) -> None:
        """For this stream only: the host has none there."""
        command = python_module("orrery_twin.traffic.http_server", "--port", str(port))
        await self._until_ready(await self._spawn(stream, command, host), "listening")

    async def _iperf(
        self, stream: Stream, plan: BuildPlan, request: TrafficRequestIperf3, sender: NodePlan
    ) -> str | None:
        receiver = plan.node(request.to)
        assert receiver and receiver.address
        port = str(stream.port)
        command = ["iperf3", "-s", "-1", "-p", port, "-f", "k", "-i", "1", "--forceflush"]
        server = await self._spawn(stream, command, receiver.id)
        await self._until_ready(server, "listening")
        counts = IperfCounts(stream.status, request)
        stream.receiver = asyncio.create_task(_take_lines(server, counts.take_received))
        command = ["iperf3", "-c", receiver.address, "-p", port, "-f", "k", "--forceflush", "-i", "1"]
        command += ["-t", str(max(1, round(request.duration_s))), "-b", str(int(request.rate_bps))]
        if request.protocol == "udp":
            command += ["-u", "-l", str(request.packet_bytes)]
        else:
            command += ["-M", str(max(TCP_MSS_MIN, request.packet_bytes))]
        process = await self._spawn(stream, command, sender.id)
        return await self._follow(stream, process, counts.take_sent)

    async def _spawn(self, stream: Stream, command: list[str], host: str) -> Process:
        process = await spawn(command, namespace_of=self._twin.network.pid_of[host], capture_output=True)
        stream.processes.append(process)
        return process

    async def _until_ready(self, process: Process, word: str) -> None:
        assert process.stdout and process.stderr
        async with asyncio.timeout(READY_TIMEOUT_S):
            while line := await process.stdout.readline():
                if word in line.decode(errors="replace").lower():
                    return
        raise OSError(
            (await process.stderr.read()).decode(errors="replace").strip()[-300:] or "the receiver did not start"
        )

    async def _follow(self, stream: Stream, process: Process, take: Callable[[str], None]) -> str | None:
        """Takes every line of output; None when the process ends well, else what it complained of."""
        assert process.stdout and process.stderr
        errors = asyncio.create_task(process.stderr.read())
        stream.status.state = "running"
        complaint = ""
        while line := await process.stdout.readline():
            text = line.decode(errors="replace")
            if "error" in text.lower():
                complaint = text.strip()
            take(text)
        status = await process.wait()
        if status == 0:
            await errors
            return None
        return (
            (await errors).decode(errors="replace").strip()[-300:] or complaint or f"the generator exited with {status}"
        )


def _take_report(status: TrafficStatus, line: str) -> None:
    report = Report.model_validate_json(line)
    status.sent, status.received, status.errors = report.sent, report.received, report.errors
    status.bits_per_second, status.latency_us = report.bits_per_second, report.latency_us
    status.detail = report.detail


async def _take_lines(process: Process, take: Callable[[str], None]) -> None:
    assert process.stdout
    while line := await process.stdout.readline():
        take(line.decode(errors="replace"))
