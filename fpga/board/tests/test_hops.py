# SPDX-License-Identifier: Apache-2.0
"""Next hops of frames through a live board, written as the agent of a board at a switch writes them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from board.host.board_process import Board, Images
from model.slot_exit import SlotExit
from model.sqli_detector import SqliDetector
from model.verdict import FORWARD, RETURN
from regs.description import read_common, read_description
from tb.common.frames import tcp

from .test_traffic import send
from .traffic import PATIENCE_S, Receiver, Sender, frame, number_of

Start = Callable[..., Board]

FPGA = Path(__file__).resolve().parents[2]
COMMON = read_common(FPGA / "regs/common.yaml")
REGISTERS = {r.name: r for r in read_description(FPGA / "regs/nf_shell.yaml", COMMON).registers}
CONTROL, ENABLE = 0x08, 1
NONE = 0xFFFF
TAGGED, UNTAGGED = b"\x02\x0e", b"\x02\x0f"
SOURCE = bytes.fromhex("020000000001")


def write_hops(board: Board, forward: tuple[int, ...], back: tuple[int, ...], slot: int = 0) -> None:
    """Hops are by class."""
    words = {}
    for way, hops in (("FORWARD", forward), ("RETURN", back)):
        for n in (0, 1):
            register = REGISTERS[f"HOPS_{way}_{n}"]
            words[register.address + slot * register.stride] = hops[2 * n] | hops[2 * n + 1] << 16
    board.call("csr_write", slot=None, writes=list(words.items()))
    assert board.call("csr_read", slot=None, addresses=list(words))["values"] == list(words.values())


def with_hop(data: bytes, hop: int) -> bytes:
    return data[:2] + hop.to_bytes(2, "big") + data[4:]


def running(board: Board, image: Path, slot: int = 0) -> None:
    board.load(image, slot)
    board.call("csr_write", slot=slot, writes=[[CONTROL, ENABLE]])
    board.call("resume", slot=slot)


def counters(board: Board, slot: int = 0) -> Any:
    return board.slot(slot)["counters"]


def test_each_slot_and_direction_has_its_next_hop(start: Start, images: Images) -> None:
    board = start(slots=2)
    for slot in (0, 1):
        running(board, images.partial("ecp5", slot=slot), slot)
    write_hops(board, (0x1101, 0, 0, 0), (0x1102, 0, 0, 0), slot=0)
    write_hops(board, (0x2201, 0, 0, 0), (NONE, 0, 0, 0), slot=1)
    sent = [frame(n, length) for n, length in enumerate((60, 61, 1514, 2048) * 20)]
    for entry, exit, hop in (("near0", "far0", 0x1101), ("far0", "near0", 0x1102), ("near1", "far1", 0x2201)):
        receiver = Receiver(f"{exit}-x")
        send(f"{entry}-x", sent)
        assert receiver.take(len(sent)) == [with_hop(data, hop) for data in sent]
        receiver.close()
    receiver = Receiver("near1-x")
    untagged = UNTAGGED + frame(7)[2:]
    send("far1-x", [*sent, untagged])
    assert receiver.take(1) == [untagged]
    assert receiver.waiting() == []
    assert (counters(board, 0)["no_hop"], counters(board, 1)["no_hop"]) == (0, len(sent))
    assert counters(board, 1)["frames_out"] == counters(board, 1)["frames_in"] == 2 * len(sent) + 1
    receiver.close()


def test_classes_of_a_module_go_separate_ways(start: Start, images: Images) -> None:
    """Attacks to another hop, then nowhere."""
    board = start()
    running(board, images.partial("ecp5", "nf_sqli_detector"))
    clean = tcp(0x0A000001, 0x0A000002, 4000, 80, 16, b"GET /?id=1 HTTP/1.1", mac=TAGGED + bytes(4) + SOURCE)
    attack = tcp(0x0A000001, 0x0A000002, 4000, 80, 16, b"GET /?id=1' UNION SELECT 1", mac=TAGGED + bytes(4) + SOURCE)
    assert [SqliDetector().process(data).frame_class for data in (clean, attack)] == [1, 2]
    receiver = Receiver("far0-x")
    write_hops(board, (0x0101, 0x0202, 0x0303, 0), (0, 0, 0, 0))
    send("near0-x", [clean, attack, clean])
    assert receiver.take(3) == [with_hop(clean, 0x0202), with_hop(attack, 0x0303), with_hop(clean, 0x0202)]
    write_hops(board, (0x0101, 0x0202, NONE, 0), (0, 0, 0, 0))
    send("near0-x", [attack, clean, attack, clean])
    assert receiver.take(2) == [with_hop(clean, 0x0202)] * 2
    assert counters(board)["no_hop"] == 2
    receiver.close()


FATES = {"hold": "held", "drop": "lost", "bypass": "bypassed"}


@pytest.mark.parametrize("policy", FATES)
def test_every_frame_of_a_swap_has_the_next_hop_or_is_counted(start: Start, images: Images, policy: str) -> None:
    board = start(time_scale=3)
    running(board, images.partial("ecp5"))
    write_hops(board, (0x0205, 0, 0, 0), (0, 0, 0, 0))
    receiver = Receiver("far0-x")
    sender = Sender("near0-x", 5000, lengths=(60, 1514))
    sender.start()
    received = receiver.take(100)
    before, sent_before = counters(board)["dropped"], sender.sent
    board.load(images.partial("ecp5"), policy=policy)
    board.call("resume", slot=0)
    sent_meanwhile = sender.sent - sent_before
    received += receiver.take(100)  # a partial load leaves the table as it is
    sent = sender.stop()
    lost = counters(board)["dropped"] - before
    received += receiver.take(sent - lost - len(received))
    load = board.status()["last_load"]
    assert [fate for fate in FATES.values() if load[fate] > 0] == [FATES[policy]]
    assert load[FATES[policy]] > sent_meanwhile / 4 > 0, "most of the time passes in the load"
    assert load["lost"] == lost and (lost == 0) == (policy != "drop")
    assert {data[2:4] for data in received} == {b"\x02\x05"}
    numbers = [number_of(with_hop(data, 0x0001)) for data in received]
    assert numbers == sorted(set(numbers)) and len(numbers) == sent - lost
    assert counters(board)["no_hop"] == 0
    receiver.close()


def test_every_frame_of_a_full_load_has_a_next_hop_or_is_counted(start: Start, images: Images) -> None:
    """What comes before the slot resumes is dropped, and what waits then leaves by the table that is written before."""
    board = start(time_scale=0.1)
    running(board, images.partial("ecp5"))
    write_hops(board, (0x0205, 0, 0, 0), (0, 0, 0, 0))
    receiver = Receiver("far0-x")
    before = counters(board)["dropped"]
    sender = Sender("near0-x", 5000, lengths=(60, 1514))
    sender.start()
    received = receiver.take(100)
    assert board.load(images.full("ecp5", "nf_pass", "-"), None)["state"] == "operating"
    deadline = time.monotonic() + PATIENCE_S
    while (dropped := counters(board)["dropped"] - before) < 100:
        assert time.monotonic() < deadline, f"{dropped} of 100 frames came before the slot resumes: {board.status()}"
        time.sleep(0.01)
    write_hops(board, (0x0306, 0, 0, 0), (0, 0, 0, 0))
    board.call("resume", slot=0)
    received += receiver.take(100)
    sent = sender.stop()
    near = board.status()["ports"][0]["drops"]
    lost = counters(board)["dropped"] - before + sum(near.values())
    received += receiver.take(sent - lost - len(received))
    assert len(received) == sent - lost
    hops = [data[2:4] for data in received]
    assert hops == sorted(hops) and set(hops) == {b"\x02\x05", b"\x03\x06"}
    numbers = [number_of(with_hop(data, 0x0001)) for data in received]
    assert numbers == sorted(set(numbers))
    assert lost > 0 and sum(near.values()) == near["not_configured"]
    receiver.close()


def test_a_full_load_clears_the_table(start: Start, images: Images) -> None:
    board = start()
    running(board, images.partial("ecp5"))
    write_hops(board, (NONE, 0, 0, 0), (NONE, 0, 0, 0))
    receiver = Receiver("far0-x")
    untagged = UNTAGGED + frame(7)[2:]
    send("near0-x", [frame(0), untagged])
    assert receiver.take(1) == [untagged]
    assert counters(board)["no_hop"] == 1
    board.load(images.full("ecp5", "nf_pass", "-"), None)
    board.call("resume", slot=0)
    send("near0-x", [frame(1)])
    assert receiver.take(1) == [frame(1)]
    assert counters(board)["no_hop"] == 1, "what was counted stays"
    receiver.close()


def test_as_the_golden_model(start: Start, images: Images) -> None:
    """4,000 packets both ways with ever new tables, classified by a module."""
    chance = random.Random(5)
    board = start()
    running(board, images.partial("ecp5", "nf_sqli_detector"))
    ends = {FORWARD: ("near0-x", Receiver("far0-x")), RETURN: ("far0-x", Receiver("near0-x"))}
    exits, detector = SlotExit(), SqliDetector()
    classes = set()

    def hop() -> int:
        return chance.choice([0, NONE, chance.getrandbits(16), 0xFF00, 0x00FF])

    def packet() -> bytes:
        mac = (UNTAGGED if chance.random() < 0.2 else TAGGED) + chance.randbytes(4) + SOURCE
        text = chance.choice([b"", b"id=1 UNION SELECT name", b"q=" + b"a" * chance.randrange(900)])
        return tcp(
            chance.getrandbits(32), chance.getrandbits(32), 4000, chance.choice([80, 80, 443]), 16, text, mac=mac
        )

    for _ in range(20):
        exits.hops_forward, exits.hops_return = (tuple(hop() for _ in range(4)) for _ in range(2))
        write_hops(board, exits.hops_forward, exits.hops_return)
        for direction, (entry, receiver) in ends.items():
            packets = [packet() for _ in range(100)]
            last = UNTAGGED + packet()[2:]  # leaves by every table: it tells that all others have
            expected = []
            for data in (*packets, last):
                classes.add(frame_class := detector.process(data, direction).frame_class)
                out = exits.leaves(data, returns=direction == RETURN, frame_class=frame_class)
                expected += [] if out is None else [out]
            send(entry, [*packets, last])
            assert receiver.take(len(expected)) == expected
            assert receiver.waiting() == []
        assert counters(board)["no_hop"] == exits.no_hop
    assert classes == {1, 2} and exits.no_hop > 100
    for _, receiver in ends.values():
        receiver.close()
