# SPDX-License-Identifier: Apache-2.0
"""The programs of applications, run as processes that talk over the loopback interface."""

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from orrery_twin.applications.kind import own_program
from orrery_twin.applications.probe.packets import PROBE, REPLY


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
def server(kind: str, port: int) -> Iterator[Any]:
    """Wait until it is ready, that is, has reported; return its next report."""
    command = own_program(f"orrery_twin.applications.{kind}.program", {"port": port})
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.readline()
        yield lambda: json.loads(process.stdout.readline())["metrics"]  # type: ignore[union-attr]
        process.kill()


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


def test_a_probe_server_ignores_what_is_no_probe() -> None:
    port = free_port(socket.SOCK_DGRAM)
    with server("probe_server", port) as report, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for payload in (b"", b"x", b"x" * 1400):
            sender.sendto(payload, ("127.0.0.1", port))
        while (heard := report())["errors"] < 3:
            pass
        assert heard["received"] == 0


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
