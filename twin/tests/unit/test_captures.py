# SPDX-License-Identifier: Apache-2.0
"""Capture files and the fields of their frames."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orrery_twin.domain.dissect import Dissected, dissect
from orrery_twin.domain.pcap_file import Frame, NotACapture, PcapReader, read_frames, summarize

FRAMES = [b"\x01" * 60, b"\x02" * 1514, b""]


def capture(order: str = "<", magic: int = 0xA1B2C3D4, link_type: int = 1) -> bytes:
    data = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, link_type)
    for number, frame in enumerate(FRAMES):
        data += struct.pack(f"{order}IIII", 10 + number, 500_000, len(frame), len(frame) + 4) + frame
    return data


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "fraction"), [(0xA1B2C3D4, 0.5), (0xA1B23C4D, 0.0005)])
def test_both_byte_orders_and_resolutions(order: str, magic: int, fraction: float) -> None:
    frames = list(read_frames(capture(order, magic)))
    assert frames == [Frame(10 + number + fraction, frame, len(frame) + 4) for number, frame in enumerate(FRAMES)]


def test_summary() -> None:
    summary = summarize(capture(link_type=113))
    assert (summary.packets, summary.duration_s, summary.link_type) == (3, 2.0, 113)


@given(st.lists(st.integers(1, 200), min_size=1, max_size=60))
def test_pieces_give_the_same_frames_as_the_whole(sizes: list[int]) -> None:
    data = capture()
    reader = PcapReader()
    frames = []
    for size in sizes:
        frames += reader.feed(data[:size])
        data = data[size:]
    frames += reader.feed(data)
    reader.finish()
    assert [frame.data for frame in frames] == FRAMES


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "header"),
        (capture()[:23], "header"),
        (b"GET / HTTP/1.1", "magic"),
        (capture()[:-1], "truncated"),
        (capture() + b"\x00", "truncated"),
        (capture() + struct.pack("<IIII", 0, 0, 1 << 30, 0), "claims"),
    ],
)
def test_what_is_no_capture_says_why(data: bytes, said: str) -> None:
    with pytest.raises(NotACapture, match=said):
        list(read_frames(data))


@given(st.binary(max_size=200))
def test_any_octets_are_read_or_refused(data: bytes) -> None:
    try:
        summarize(data)
    except NotACapture:
        pass


def ipv4(protocol: int, payload: bytes, fragment: int = 0, ihl: int = 5) -> bytes:
    header = struct.pack("!BBHHHBBH4B4B", 0x40 | ihl, 0, 0, 0, fragment, 64, protocol, 0, 10, 0, 1, 1, 10, 0, 2, 2)
    return bytes(12) + b"\x08\x00" + header + bytes((ihl - 5) * 4) + payload


PORTS = struct.pack("!HH", 1234, 80)
BETWEEN = ("10.0.1.1", "10.0.2.2")


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (ipv4(6, PORTS), Dissected("tcp", *BETWEEN, 1234, 80)),
        (ipv4(17, PORTS, ihl=8), Dissected("udp", *BETWEEN, 1234, 80)),
        (bytes(12) + b"\x81\x00\x00\x05" + ipv4(17, PORTS)[12:], Dissected("udp", *BETWEEN, 1234, 80)),
        (ipv4(17, PORTS, fragment=1), Dissected("udp", *BETWEEN)),
        (ipv4(6, b"\x00"), Dissected("tcp", *BETWEEN)),
        (ipv4(1, PORTS), Dissected("icmp", *BETWEEN)),
        (ipv4(99, b""), Dissected("ip-99", *BETWEEN)),
        (ipv4(6, PORTS)[:30], Dissected("ipv4")),
        (bytes(12) + b"\x08\x06" + bytes(28), Dissected("arp")),
        (bytes(12) + b"\x88\xb5", Dissected("ethertype-88b5")),
        (bytes(12) + b"\x81\x00\x00\x05", Dissected("truncated")),
        (b"", Dissected("truncated")),
    ],
)
def test_fields_of_a_frame(frame: bytes, expected: Dissected) -> None:
    assert dissect(frame) == expected


@given(st.binary(max_size=80))
def test_any_frame_is_dissected(frame: bytes) -> None:
    assert dissect(frame).protocol
