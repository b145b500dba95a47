# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from board.host.board_process import Board, Images

CLONE_NEWNET = 0x40000000
SIDES = ("near0", "far0", "near1", "far1")


def _libc(name: str, *arguments: int) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)


@pytest.fixture(scope="session", autouse=True)
def network() -> Iterator[None]:
    """A network namespace for the whole session."""
    before = os.open("/proc/self/ns/net", os.O_RDONLY)
    _libc("unshare", CLONE_NEWNET)
    yield
    _libc("setns", before, CLONE_NEWNET)
    os.close(before)


def add_link(side: str) -> None:
    """The board's interface `side` and its peer `side`-x, which only the tests use."""
    ip = ["ip", "link"]
    subprocess.run([*ip, "add", side, "mtu", "9000", "type", "veth", "peer", f"{side}-x", "mtu", "9000"], check=True)
    for end in (side, f"{side}-x"):
        Path(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6").write_text("1")
        subprocess.run([*ip, "set", end, "up"], check=True)


@pytest.fixture
def links(network: None) -> Iterator[None]:
    for side in SIDES:
        add_link(side)
    yield
    for side in SIDES:
        subprocess.run(["ip", "link", "del", side], stderr=subprocess.DEVNULL, check=False)


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Images:
    return Images(tmp_path_factory.mktemp("images"))


@pytest.fixture
def start(links: None, images: Images, tmp_path: Path) -> Iterator[Callable[..., Board]]:
    """Power a board on, with ports on the requested number of slots."""
    boards: list[Board] = []

    def power_on(profile: str = "ecp5", time_scale: float = 0.001, slots: int = 1) -> Board:
        ports = [f"{n}:{side}={side}{n}" for n in range(slots) for side in ("near", "far")]
        boards.append(Board(tmp_path, images.public_key, profile, ports, time_scale))
        return boards[-1]

    yield power_on
    for board in boards:
        if board.process.poll() is None:
            assert board.stop() == 0


@pytest.fixture
def board(start: Callable[..., Board], images: Images) -> Any:
    """A board with `nf_pass` running in slot 0."""
    running = start()
    running.load(images.partial("ecp5"))
    running.call("resume", slot=0)
    return running
