# SPDX-License-Identifier: Apache-2.0
"""Capture files in libpcap's format (draft-ietf-opsawg-pcap): both byte orders, microseconds and nanoseconds."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

HEADER_BYTES = 24
RECORD_HEADER_BYTES = 16
FRAME_MAX_BYTES = 262_144
ETHERNET = 1
LINK_TYPES = {ETHERNET: "ethernet", 101: "raw", 113: "linux-sll", 276: "linux-sll2", 105: "ieee802.11", 0: "null"}
MAGICS = {
    b"\xa1\xb2\xc3\xd4": (">", 1_000_000),
    b"\xd4\xc3\xb2\xa1": ("<", 1_000_000),
    b"\xa1\xb2\x3c\x4d": (">", 1_000_000_000),
    b"\x4d\x3c\xb2\xa1": ("<", 1_000_000_000),
}
PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"


class NotACapture(Exception):
    """The bytes are not a complete capture file; the text says what is wrong and where."""


@dataclass(frozen=True)
class Frame:
    t_s: float
    data: bytes
    """As captured: shorter than `length` if the capture truncated it."""
    length: int


@dataclass(frozen=True)
class Summary:
    packets: int
    duration_s: float
    link_type: int


class PcapReader:
    """Takes a capture piece by piece and yields the complete frames."""

    def __init__(self) -> None:
        self._rest = b""
        self._order = ""
        self._ticks = 1
        self._offset = 0
        self.link_type = -1

    @property
    def is_between_records(self) -> bool:
        return self._order != "" and not self._rest

    def feed(self, data: bytes) -> Iterator[Frame]:
        self._rest += data
        if not self._order and not self._read_header():
            return
        position = 0
        while position + RECORD_HEADER_BYTES <= len(self._rest):
            seconds, fraction, captured, length = struct.unpack_from(f"{self._order}IIII", self._rest, position)
            if captured > FRAME_MAX_BYTES:
                raise NotACapture(f"the record at byte {self._offset + position} claims {captured} bytes")
            end = position + RECORD_HEADER_BYTES + captured
            if end > len(self._rest):
                break
            yield Frame(seconds + fraction / self._ticks, self._rest[position + RECORD_HEADER_BYTES : end], length)
            position = end
        self._offset += position
        self._rest = self._rest[position:]

    def finish(self) -> None:
        if not self._order:
            raise NotACapture("shorter than the 24-byte header of a capture")
        if self._rest:
            raise NotACapture(f"the record at byte {self._offset} is truncated")

    def _read_header(self) -> bool:
        magic = self._rest[:4]
        if len(magic) == 4 and magic not in MAGICS:
            raise NotACapture(f"starts with {magic.hex()}, which is not the magic number of a capture")
        if len(self._rest) < HEADER_BYTES:
            return False
        self._order, self._ticks = MAGICS[magic]
        self.link_type = struct.unpack_from(f"{self._order}I", self._rest, 20)[0] & 0xFFFF
        self._rest = self._rest[HEADER_BYTES:]
        self._offset = HEADER_BYTES
        return True


def read_frames(data: bytes) -> Iterator[Frame]:
    """Yield the frames of a whole file. Raises NotACapture, at the latest after the last good frame."""
    reader = PcapReader()
    yield from reader.feed(data)
    reader.finish()


def summarize(data: bytes) -> Summary:
    reader = PcapReader()
    first = last = None
    packets = 0
    for frame in reader.feed(data):
        first = frame.t_s if first is None else min(first, frame.t_s)
        last = frame.t_s if last is None else max(last, frame.t_s)
        packets += 1
    reader.finish()
    return Summary(packets, (last or 0.0) - (first or 0.0), reader.link_type)
