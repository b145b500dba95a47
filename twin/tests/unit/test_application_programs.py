# SPDX-License-Identifier: Apache-2.0
"""The programs of applications, run as processes that talk over the loopback interface."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

import pytest

from orrery_twin.applications.iperf3_client.kind import SentMeter
from orrery_twin.applications.kind import own_program
from orrery_twin.applications.pcap_replay import program as pcap_replay
from orrery_twin.applications.probe.packets import PROBE, REPLY
from orrery_twin.applications.probe.program import SILENCE_S, Probe
from orrery_twin.applications.probe_server.program import ProbeServer
from orrery_twin.applications.report import LatestError


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


LOOPBACKS = [
    "127.0.0.1",
    pytest.param("::1", marks=pytest.mark.skipif(not has_ipv6(), reason="the loopback interface has no IPv6")),
]


def free_port(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def server_process(kind: str, port: int) -> Iterator[subprocess.Popen[str]]:
    """Wait until it is ready, that is, has reported."""
    command = own_program(f"orrery_twin.applications.{kind}.program", {"port": port})
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            next_report(process)
            yield process
        finally:
            process.kill()


def next_report(process: subprocess.Popen[str]) -> dict[str, float]:
    assert process.stdout
    metrics: dict[str, float] = json.loads(process.stdout.readline())["metrics"]
    return metrics


@contextmanager
def server(kind: str, port: int) -> Iterator[Any]:
    """Wait until it is ready; return its next report."""
    with server_process(kind, port) as process:
        yield lambda: next_report(process)


def client(kind: str, settings: dict[str, Any]) -> dict[str, float]:
    """Its last report."""
    command = own_program(f"orrery_twin.applications.{kind}.program", settings)
    result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    metrics: dict[str, float] = json.loads(result.stdout.splitlines()[-1])["metrics"]
    return metrics


@pytest.mark.parametrize("address", LOOPBACKS)
def test_requests_and_replies(address: str) -> None:
    port = free_port(socket.SOCK_STREAM)
    with server("http_server", port) as report:
        wanted = {"address": address, "port": port, "path": "/echo", "body": "x" * 100}
        metrics = client("http_client", wanted | {"rate_per_s": 100, "count": 10, "duration_s": 0})
        assert (metrics["sent"], metrics["received"], metrics["errors"]) == (10, 10, 0)
        while (heard := report())["requests"] < 10:
            pass
        assert heard["errors"] == 0


@pytest.mark.parametrize("address", LOOPBACKS)
def test_probes(address: str) -> None:
    port = free_port(socket.SOCK_DGRAM)
    with server("probe_server", port) as report:
        metrics = client("probe", {"address": address, "port": port, "rate_per_s": 100, "duration_s": 0.5})
        assert (metrics["received"], metrics["lost"]) == (metrics["sent"], 0)
        assert metrics["latency_p50_us"] > 0
        while report()["received"] < metrics["sent"]:
            pass


def test_a_probe_that_is_interrupted_waits_for_its_last_replies_and_ends() -> None:
    port = free_port(socket.SOCK_DGRAM)
    settings = {"address": "127.0.0.1", "port": port, "rate_per_s": 200, "duration_s": 0}
    command = own_program("orrery_twin.applications.probe.program", settings)
    with (
        server("probe_server", port) as report,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
    ):
        while next_report(process)["received"] == 0:
            pass
        process.send_signal(signal.SIGINT)
        assert process.stdout
        last = json.loads(process.stdout.read().splitlines()[-1])["metrics"]
        assert process.wait() == 0
        while report()["received"] < last["sent"]:
            pass
    assert (last["received"], last["lost"]) == (last["sent"], 0)


def test_a_probe_server_ignores_what_is_no_probe() -> None:
    port = free_port(socket.SOCK_DGRAM)
    with server("probe_server", port) as report, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for payload in (b"", b"x", b"x" * 1400):
            sender.sendto(payload, ("127.0.0.1", port))
        while (heard := report())["errors"] < 3:
            pass
        assert heard["received"] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may have larger buffers")
@pytest.mark.parametrize(("count", "overflows"), [(5_000, False), (50_000, True)])
def test_a_probe_server_that_stalls_tells_what_it_missed(count: int, overflows: bool) -> None:
    port = free_port(socket.SOCK_DGRAM)
    with server_process("probe_server", port) as process, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", port))
        process.send_signal(signal.SIGSTOP)
        for sequence in range(count):
            sender.send(PROBE.pack(1, sequence, 0))
        process.send_signal(signal.SIGCONT)
        while (heard := next_report(process))["received"] == 0:
            pass
        sender.send(PROBE.pack(1, count, 0))  # the kernel tells of an overflow with what comes after it
        while heard["received"] + heard["overflow"] < count + 1:
            heard = next_report(process)
        assert (heard["overflow"] > 0) == overflows
        assert heard["errors"] == heard["overflow"]


def test_a_server_that_stalls_while_the_last_probes_arrive_is_no_loss() -> None:
    port = free_port(socket.SOCK_DGRAM)
    settings = {"address": "127.0.0.1", "port": port, "rate_per_s": 200, "duration_s": 0.5}
    command = own_program("orrery_twin.applications.probe.program", settings)
    with (
        server_process("probe_server", port) as stalled,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
    ):
        stalled.send_signal(signal.SIGSTOP)
        while (told := next_report(process))["lost"] < told["sent"] or told["sent"] < 50:
            pass
        stalled.send_signal(signal.SIGCONT)
        assert process.stdout
        last = json.loads(process.stdout.read().splitlines()[-1])["metrics"]
    assert (told["received"], last["received"], last["lost"]) == (0, last["sent"], 0)


def test_a_server_that_lags_is_waited_for_as_long_as_it_answers() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        settings = {"address": "127.0.0.1", "port": server.getsockname()[1], "rate_per_s": 20, "duration_s": 0.5}
        command = own_program("orrery_twin.applications.probe.program", settings)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            probes = [server.recvfrom(2048)]
            server.settimeout(1)
            with suppress(TimeoutError):
                while True:
                    probes.append(server.recvfrom(2048))
            begin = time.monotonic()
            # From one reply to the next it takes less than the silence that ends it; to the last one, more.
            for count, (payload, sender) in enumerate([probes[0], probes[0], probes[-1]]):
                time.sleep(max(0.0, begin + count * 0.6 * SILENCE_S - time.monotonic()))
                session, sequence, sent_ns = PROBE.unpack(payload)
                server.sendto(REPLY.pack(session, sequence, sent_ns, sent_ns + 1000, sequence), sender)
            assert process.stdout
            last = json.loads(process.stdout.read().splitlines()[-1])["metrics"]
    assert (last["sent"], last["received"], last["lost"]) == (len(probes), len(probes), 0)


def test_a_closed_port_is_loss_not_an_end() -> None:
    port = free_port(socket.SOCK_DGRAM)
    metrics = client("probe", {"address": "127.0.0.1", "port": port, "rate_per_s": 100, "duration_s": 0.3})
    assert metrics["lost"] == metrics["sent"] > 0


def test_every_probe_that_does_not_arrive_is_lost_and_no_other() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        settings = {"address": "127.0.0.1", "port": server.getsockname()[1], "rate_per_s": 200, "duration_s": 0.4}
        command = own_program("orrery_twin.applications.probe.program", settings)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            server.settimeout(1)
            arrived = 0
            with suppress(TimeoutError):
                while True:
                    payload, sender = server.recvfrom(2048)
                    session, sequence, sent_ns = PROBE.unpack(payload)
                    if sequence % 10 == 0:
                        continue
                    arrived += 1
                    if sequence % 3 != 0:  # lost replies do not distort the loss
                        server.sendto(REPLY.pack(session, sequence, sent_ns, sent_ns + 1000, arrived), sender)
            assert process.stdout
            metrics = json.loads(process.stdout.read().splitlines()[-1])["metrics"]
    assert metrics["lost"] == pytest.approx(metrics["sent"] / 10, abs=2)
    assert metrics["received"] == pytest.approx(metrics["sent"] * 0.9, abs=2)


def test_an_http_client_reports_an_error_until_requests_succeed() -> None:
    port = free_port(socket.SOCK_STREAM)
    settings = {"address": "127.0.0.1", "port": port, "path": "/", "body": ""}
    limits = {"rate_per_s": 20, "count": 0, "duration_s": 0}
    command = own_program("orrery_twin.applications.http_client.program", settings | limits)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            reports = (json.loads(line) for line in process.stdout)
            failing = next(reports)
            assert "Connect call failed" in failing["detail"]
            with server("http_server", port):
                answered = islice((one for one in reports if one["metrics"]["received"] > 0), 30)
                well = next(one for one in answered if one["detail"] is None)
        finally:
            process.kill()
    assert well["metrics"]["errors"] >= failing["metrics"]["errors"] > 0


def test_an_error_is_told_until_an_interval_has_only_successes() -> None:
    error = LatestError()
    assert error.end_interval() is None
    error.failed("no reply in 3 s")
    error.succeeded()
    assert error.end_interval() == "no reply in 3 s"
    assert error.end_interval() == "no reply in 3 s"
    error.succeeded()
    assert error.end_interval() is None
    assert error.latest == "no reply in 3 s"


NOT_ALLOWED = ("255.255.255.255", 9)
"""Broadcasts need SO_BROADCAST."""


def details(capsys: pytest.CaptureFixture[str]) -> list[str | None]:
    return [json.loads(line)["detail"] for line in capsys.readouterr().out.splitlines()]


def test_a_probe_reports_an_error_until_it_can_send(capsys: pytest.CaptureFixture[str]) -> None:
    probe = Probe({"address": NOT_ALLOWED[0], "port": NOT_ALLOWED[1]})
    probe._send()
    probe._report(1)
    probe._target = ("127.0.0.1", free_port(socket.SOCK_DGRAM))
    probe._send()
    probe._report(2)
    probe._report(3, is_last=True)
    assert details(capsys) == ["[Errno 13] Permission denied", None, "[Errno 13] Permission denied"]


def test_a_probe_server_reports_an_error_until_it_can_reply() -> None:
    server = ProbeServer(0)
    server._reply(b"", (f"::ffff:{NOT_ALLOWED[0]}", NOT_ALLOWED[1]))
    assert server._error.end_interval() == "[Errno 13] Permission denied"
    server._reply(b"", ("::ffff:127.0.0.1", free_port(socket.SOCK_DGRAM)))
    assert server._error.end_interval() is None


def test_a_replay_reports_an_error_until_a_frame_is_sent() -> None:
    counts = pcap_replay.Counts()
    sender, receiver = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with sender, receiver:
        pcap_replay._send(sender, bytes(1 << 24), counts)
        assert counts.error.end_interval() == f"a frame of {1 << 24} bytes does not fit the link"
        pcap_replay._send(sender, bytes(60), counts)
        assert counts.error.end_interval() is None
    assert (counts.sent, counts.errors) == (2, 1)


def test_an_iperf3_client_reports_an_error_until_it_sends() -> None:
    meter = SentMeter(1000)
    meter.take("iperf3: error - unable to write to stream socket: Network is unreachable")
    meter.take("[  5]   1.00-2.00   sec  0.00 Bytes  0.00 Kbits/sec  0")
    assert meter.detail == "error - unable to write to stream socket: Network is unreachable"
    meter.take("[  5]   2.00-3.00   sec  1.00 MBytes  8389 Kbits/sec  0")
    assert meter.detail is None
