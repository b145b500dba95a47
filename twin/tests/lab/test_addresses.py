# SPDX-License-Identifier: Apache-2.0
"""Several addresses of hosts and servers, IPv4 and IPv6, on one switch and across two."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from .conftest import Lab

Rack = dict[str, Any]
PORT = 7000
LISTEN = (
    "import socket,sys\n"
    "s=socket.socket(socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET)\n"
    "s.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1)\n"
    "s.bind((sys.argv[1],int(sys.argv[2])));s.listen();print('up',flush=True)\n"
    "while True:\n c,a=s.accept();c.sendall(a[0].encode());c.close()\n"
)
CONNECT = (
    "import socket,sys\n"
    "a,p,f=sys.argv[1:]\n"
    "s=socket.create_connection((a,int(p)),5,(f,0) if f else None)\n"
    "print(s.recv(99).decode())\n"
)


def two_leaves(rack: Rack) -> Rack:
    """Web hosts at a second leaf; client-1 and server-1 at both; a delay on the trunk."""
    leaf = rack["switches"][0]
    moved = [link | {"b": link["b"] | {"node": "leaf-2"}} if "web" in link["id"] else link for link in rack["links"]]
    links = [
        {"id": "trunk", "a": {"node": "leaf-1", "port": "up"}, "b": {"node": "leaf-2", "port": "up"}},
        {"id": "second", "a": {"node": "client-1", "port": "eth1"}, "b": {"node": "leaf-2", "port": "p14"}},
        {"id": "management", "a": {"node": "server-1", "port": "nic1"}, "b": {"node": "leaf-2", "port": "p15"}},
    ]
    rack["hosts"][0]["addresses"] += [{"address": "fd00::1:1"}, {"address": "10.0.5.1", "port": "eth1"}]
    rack["hosts"][0]["addresses"].append({"address": "fd00::5:1", "port": "eth1"})
    rack["hosts"][2]["addresses"].append({"address": "fd00::2:1"})
    rack["servers"][0]["nics"].append({"name": "nic1", "bandwidth_bps": 1e9})
    rack["servers"][0]["addresses"] = [{"address": address, "port": "nic1"} for address in ("10.0.6.1", "fd00::6:1")]
    further = [link | {"bandwidth_bps": 1e9} for link in links]
    return rack | {"switches": [leaf, leaf | {"id": "leaf-2"}], "links": [*moved, *further]}


@contextmanager
def listening(lab: Lab, node: str, address: str) -> Iterator[None]:
    command = lab.entering([sys.executable, "-c", LISTEN, address, str(PORT)], node)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "up\n"
        try:
            yield
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("node", "address", "expected"),
    [
        ("web-1", "10.0.2.1", "10.0.1.1"),
        ("web-1", "fd00::2:1", "fd00::1:1"),
        ("server-1", "10.0.6.1", "10.0.1.1"),
        ("server-1", "fd00::6:1", "fd00::1:1"),
    ],
)
def test_each_address_is_reached_and_answers(lab: Lab, rack: Rack, node: str, address: str, expected: str) -> None:
    lab.put_spec(two_leaves(rack), generation=70)
    with listening(lab, node, address):
        client = [sys.executable, "-c", CONNECT, address, str(PORT)]
        assert lab.inside([*client, ""], "client-1").strip() == expected
        other = "fd00::5:1" if ":" in address else "10.0.5.1"
        before = sent_at(lab, "eth1")
        assert lab.inside([*client, other], "client-1").strip() == other
        assert sent_at(lab, "eth1") > before
        if node != "web-1":
            assert lab.inside([*client, ""], "client-1").strip() == expected


def sent_at(lab: Lab, interface: str) -> int:
    return int(lab.inside(["cat", "/proc/self/net/dev"], "client-1").split(f"{interface}:")[1].split()[9])
