# SPDX-License-Identifier: Apache-2.0
"""Ports, control socket and life of the P4 switch's process."""

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from finsy import P4TableEntry

from .p4_switch import (
    DEVICE,
    P4_PROGRAMS,
    PROGRAM,
    Client,
    Failed,
    Switch,
    client_of,
    entry,
    frame,
    insert,
    receive,
    switch_of,
)

START = ("--program", f"{P4_PROGRAMS}/control_plane.json", "--p4info", f"{P4_PROGRAMS}/control_plane.p4info.txtpb")


@pytest.fixture
def switch() -> Iterator[Switch]:
    """Frames to 0xB leave by port 2, those to 0xC by port 1."""
    with switch_of(*START, ports=2) as made:
        made.until_port(1, "up")
        made.until_port(2, "up")
        with client_of(made) as client:
            fill(client)
        yield made


def fill(client: Client) -> None:
    client.lead()
    client.write(insert(entry("switching", {"dst": 0xB}, "forward port=2")))
    client.write(insert(entry("switching", {"dst": 0xC}, "forward port=1")))


def port(switch: Switch, number: int) -> dict[str, object]:
    return next(each for each in switch.call("stats")["ports"] if each["number"] == number)


def test_frames_pass_with_their_vlan_tag(switch: Switch) -> None:
    one, two = switch.host(1), switch.host(2)
    for sent in (frame(0xB), frame(0xB, kind=0x8100), frame(0xB, payload=b"x" * 1400)):
        one.send(sent)
        assert receive(two) == sent
    two.send(frame(0xC))
    assert receive(one) == frame(0xC)
    figures = port(switch, 1)
    assert (figures["rx_packets"], figures["tx_packets"], figures["drops"]) == (3, 1, {})
    assert figures["rx_bytes"] == 60 + 60 + 1414
    stats = switch.call("stats")
    assert stats["pipeline"]["packets_in"] == 4
    switching = next(each for each in stats["tables"] if each["name"] == "MyIngress.switching")
    assert switching == {"name": "MyIngress.switching", "entries": 2, "size": 65536, "hits": 4, "misses": 0}


def test_drops_are_counted_by_reason(switch: Switch) -> None:
    one, two = switch.host(1), switch.host(2)
    with client_of(switch) as client:
        client.lead(2)
        client.write(insert(entry("switching", {"dst": 0xD}, "forward port=77")))
    one.send(frame(0xD))
    one.send(frame(0xE))
    switch.namespace.ip("link", "set", "s2", "mtu", "1000")
    one.send(frame(0xB, payload=b"x" * 1200))
    one.send(frame(0xB))
    assert receive(two) == frame(0xB)
    assert switch.call("stats")["pipeline"]["drops"] == {"no_such_port": 1, "marked_in_ingress": 1}
    assert port(switch, 2)["drops"] == {"tx_too_long": 1}
    switch.namespace.ip("link", "set", "s2", "down")
    switch.until_port(2, "down")
    one.send(frame(0xB))
    switch.until(lambda: port(switch, 2)["drops"] == {"tx_too_long": 1, "tx_down": 1})


def test_an_interface_goes_and_comes_back(switch: Switch) -> None:
    switch.namespace.ip("link", "delete", "s2")
    switch.until_port(2, "absent")
    assert port(switch, 2)["failure"] == "there is no interface s2"
    switch.host(1).send(frame(0xB))
    switch.until(lambda: port(switch, 2)["drops"] == {"tx_down": 1})
    switch.add_link(2)
    switch.until_port(2, "up")
    again = switch.hosts.socket("h2")
    switch.host(1).send(frame(0xB))
    assert receive(again) == frame(0xB)
    assert port(switch, 2)["tx_packets"] == 1
    again.close()


def test_ports_are_set_as_a_whole(switch: Switch) -> None:
    one, two = switch.host(1), switch.host(2)
    one.send(frame(0xB))
    receive(two)
    first = {"number": 1, "name": "1", "interface": "s1"}
    ports = switch.call("set_ports", ports=[first, {"number": 3, "name": "uplink", "interface": "s2"}])["ports"]
    assert [(each["number"], each["name"], each["state"]) for each in ports] == [(1, "1", "up"), (3, "uplink", "up")]
    assert port(switch, 1)["rx_packets"] == 1
    assert port(switch, 3)["tx_packets"] == 0
    switch.call("set_ports", ports=[{**first, "name": "downlink"}, {"number": 3, "name": "uplink", "interface": "s2"}])
    assert (port(switch, 1)["name"], port(switch, 1)["rx_packets"]) == ("downlink", 1)
    two.send(frame(0xC))
    assert receive(one) == frame(0xC)
    for wrong, pointer in (
        ([{**first, "number": 510}], "/ports/0/number"),
        ([{**first, "number": 512}], "/ports/0/number"),
        ([first, {**first, "interface": "s9"}], "/ports/1/number"),
        ([first, {**first, "number": 2}], "/ports/1/interface"),
        ([{**first, "interface": "x" * 16}], "/ports/0/interface"),
        ([{**first, "interface": ""}], "/ports/0/interface"),
        ([{**first, "more": 1}], "/ports/0/more"),
        ([7], "/ports/0"),
        (7, "/ports"),
    ):
        assert switch.request("set_ports", ports=wrong)["error"]["pointer"] == pointer
    assert [each["number"] for each in switch.call("describe")["ports"]] == [1, 3]


def test_a_packet_leaves_a_trace(switch: Switch) -> None:
    assert switch.call("trace", count=2, port=1) == {"armed": 2}
    switch.host(2).send(frame(0xC))
    switch.host(1).send(frame(0xB))
    receive(switch.host(2))
    traces = switch.until(lambda: switch.call("traces")["traces"])
    assert [(each["sequence"], each["port"], each["bytes"]) for each in traces] == [(1, 1, 60)]
    steps = traces[0]["steps"]
    lookup = next(each for each in steps if each["step"] == "table_lookup" and each["table"] == "MyIngress.switching")
    assert lookup["hit"]
    assert lookup["key"] == [{"name": "h.ethernet.dst", "value": "0xb"}]
    assert {"step": "action_run", "action": "MyIngress.forward", "args": [{"name": "port", "value": "0x2"}]} in steps
    assert steps[-1] == {"step": "sent", "port": 2, "bytes": 60}
    assert switch.call("traces", after=1) == {"traces": [], "armed": 1, "lost": 0}
    assert switch.request("trace", count=101)["error"]["pointer"] == "/count"
    assert switch.request("trace", count=1, port=512)["error"]["pointer"] == "/port"


def test_without_a_pipeline_frames_are_counted() -> None:
    with switch_of(ports=1) as switch:
        switch.until_port(1, "up")
        switch.host(1).send(frame(0xB))
        switch.until(lambda: switch.call("stats")["unrouted"] == 1)
        assert switch.call("stats")["pipeline"] is None
        assert switch.call("describe")["program"] is None


def test_wrong_requests_are_refused(switch: Switch) -> None:
    assert switch.request("nothing")["error"]["code"] == "bad-request"
    assert switch.request("stats", more=1)["error"]["pointer"] == "/more"
    with socket.socket(socket.AF_UNIX) as to, to.makefile("rwb") as lines:
        to.connect(f"{switch.directory}/control")
        for line in (b"{", b"[]", b'{"id":1}', b"\xff\xfe", b'{"id":1,"method":"stats","params":[]}'):
            lines.write(line + b"\n")
            lines.flush()
            assert b'"error"' in lines.readline()
    assert switch.request("heartbeat", path="control.beat")["result"] is not None


def test_bytes_at_random_instead_of_http2(switch: Switch) -> None:
    chance = random.Random(3)
    for _ in range(50):
        with socket.socket(socket.AF_UNIX) as to:
            to.settimeout(5)
            to.connect(f"{switch.directory}/grpc")
            prologue = chance.choice([b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])
            try:
                to.sendall(prologue + chance.randbytes(chance.randrange(2000)))
                to.shutdown(socket.SHUT_WR)
            except OSError:
                pass
    with client_of(switch) as client:
        client.lead(9)


def test_after_a_kill_all_begins_anew(switch: Switch) -> None:
    epoch = switch.call("describe")["epoch"]
    with client_of(switch) as client:
        client.lead(9)
        switch.process.kill()
        switch.process.wait()
        with pytest.raises(Failed) as gone:
            client.next("arbitration")
        assert gone.value.code == "UNAVAILABLE"
    switch.start()
    assert switch.call("describe")["epoch"] != epoch
    switch.until_port(2, "up")
    with client_of(switch) as client:
        client.arbitrate(1)
        assert client.next("arbitration").status.code == 0
        client.assert_there(P4TableEntry("switching"))
        client.write(insert(entry("switching", {"dst": 0xB}, "forward port=2")))
    switch.host(1).send(frame(0xB))
    assert receive(switch.host(2)) == frame(0xB)


def test_its_ports_are_open_before_it_can_be_programmed(switch: Switch) -> None:
    address = switch.directory / "grpc"
    for _ in range(3):
        switch.process.kill()
        switch.process.wait()
        address.unlink(missing_ok=True)
        switch.launch()
        while not address.exists():
            assert switch.process.poll() is None
        switch.process.send_signal(signal.SIGSTOP)
        sockets = Path(f"/proc/{switch.process.pid}/net/packet").read_text().splitlines()[1:]
        assert len(sockets) == 2
        switch.process.send_signal(signal.SIGCONT)


def test_frames_and_requests_wait_while_it_is_stopped(switch: Switch) -> None:
    switch.process.send_signal(signal.SIGSTOP)
    for number in range(100):
        switch.host(1).send(frame(0xB, src=number))
    with client_of(switch) as client:
        client.arbitrate(9)
        switch.process.send_signal(signal.SIGCONT)
        assert client.next("arbitration").status.code == 0
    assert [receive(switch.host(2))[11] for _ in range(100)] == list(range(100))


@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "shutdown"])
def test_it_ends_cleanly_with_streams_open(switch: Switch, how: str) -> None:
    with client_of(switch) as client, client_of(switch, reads=False) as deaf:
        client.lead(9)
        deaf.arbitrate(3)
        if how == "shutdown":
            switch.call("shutdown")
        else:
            switch.process.send_signal(getattr(signal, how))
        assert switch.process.wait(5) == 0


def test_it_sleeps_while_nothing_comes(switch: Switch) -> None:
    before = switch.call("stats")
    time.sleep(1)
    after = switch.call("stats")
    assert after["cpu_ns"] - before["cpu_ns"] < 0.02 * (after["t_ns"] - before["t_ns"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--device-id", "0"], "--device-id must be 1"),
        (["--p4runtime", "10.0.0.1:5"], "10.0.0.1:5: must be unix:/path, 127.0.0.1:PORT"),
        (["--p4runtime", "127.0.0.1:0"], "the port must be 1 to 65535"),
        (["--p4runtime", "unix:relative"], "an absolute path"),
        (["--port", "1"], "--port must be NUMBER@INTERFACE"),
        (["--port", "510@x"], "--port 510 is there twice, or the CPU port"),
        (["--port", "1@x", "--port", "2@x"], "interface x is there twice"),
        (["--program", "/no/file"], "--program and --p4info belong together"),
        (["--program", "/no/file", "--p4info", "/no/file"], "/no/file cannot be read"),
        (["--program", f"{P4_PROGRAMS}/control_plane.p4", "--p4info", START[3]], "p4_device_config: is not JSON"),
        (["--program", START[1], "--p4info", START[1]], "control_plane.json:1:1: Expected identifier"),
        (["--nothing"], "unknown option"),
        (["more"], "unexpected argument more"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_command_line(arguments: list[str], words: str, tmp_path: object) -> None:
    given = ["--device-id", str(DEVICE), "--p4runtime", f"unix:{tmp_path}/p", "--control", f"{tmp_path}/c"]
    result = subprocess.run([PROGRAM, *given, *arguments], capture_output=True, text=True, timeout=20, check=False)
    assert result.returncode == 2
    assert words in result.stderr


def test_help_and_an_address_in_use(switch: Switch) -> None:
    result = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("usage: orrery-p4-switch")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        command = [PROGRAM, "--device-id", "1", "--p4runtime", address, "--control", f"{switch.directory}/other"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert result.returncode == 1
    assert f"P4Runtime cannot be served at {address}" in result.stderr
    assert os.path.exists(f"{switch.directory}/control")  # noqa: PTH110


def test_rate_between_two_ports(switch: Switch, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = switch.host(1), switch.host(2)
    two.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
    sent = frame(0xB)
    count = 50_000
    start = time.monotonic()
    before = switch.call("stats")
    for _ in range(count):
        one.send(sent)
    passed = switch.until(
        lambda: (figures := switch.call("stats"))["pipeline"]["packets_in"] >= count * 0.5 and figures
    )
    cpu_us = (passed["cpu_ns"] - before["cpu_ns"]) / 1e3 / passed["pipeline"]["packets_in"]
    with capsys.disabled():
        rate = passed["pipeline"]["packets_in"] / (time.monotonic() - start)
        print(f"\nP4 switch: {rate / 1e3:.0f} k frames/s from one sender in Python, {cpu_us:.1f} us of CPU a frame")
