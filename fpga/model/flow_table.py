# SPDX-License-Identifier: Apache-2.0
"""The table of rtl/common/flow_table.sv."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

SETS, WAYS = 1024, 4
NEVER_S = 65535

Value = TypeVar("Value")


def crc32c(data: bytes) -> int:
    """RFC 3720 B.4."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@dataclass
class Entry(Generic[Value]):
    key: bytes
    value: Value
    seen_s: int


class FlowTable(Generic[Value]):
    """Entries by key. An entry idle for more than `idle_timeout_s` seconds does not exist."""

    def __init__(self, *, replace: bool = False, idle_timeout_s: int = NEVER_S) -> None:
        self.replace = replace
        self.idle_timeout_s = idle_timeout_s
        self.ways: list[Entry[Value] | None] = [None] * (SETS * WAYS)

    def clear(self) -> None:
        self.ways = [None] * (SETS * WAYS)

    def _live(self, index: int, now_s: int) -> Entry[Value] | None:
        entry = self.ways[index]
        return entry if entry is not None and now_s - entry.seen_s <= self.idle_timeout_s else None

    def _set(self, key: bytes) -> range:
        start = crc32c(key) % SETS * WAYS
        return range(start, start + WAYS)

    def read(self, index: int, now_s: int) -> Entry[Value] | None:
        return self._live(index, now_s)

    def find(self, key: bytes, now_s: int) -> Entry[Value] | None:
        for index in self._set(key):
            entry = self._live(index, now_s)
            if entry is not None and entry.key == key:
                return entry
        return None

    def _place(self, key: bytes, now_s: int) -> int | None:
        """Where a put goes: the key's own way, the first free way, or with `replace` the way idle longest."""
        ways = self._set(key)
        live = [self._live(index, now_s) for index in ways]
        for index, entry in zip(ways, live, strict=True):
            if entry is not None and entry.key == key:
                return index
        for index, entry in zip(ways, live, strict=True):
            if entry is None:
                return index
        if not self.replace:
            return None
        held = [(now_s - entry.seen_s, -index) for index in ways if (entry := self.ways[index]) is not None]
        return -max(held)[1]

    def room(self, key: bytes, now_s: int) -> bool:
        return self._place(key, now_s) is not None

    def put(self, key: bytes, value: Value, now_s: int, idle_s: int = 0) -> bool:
        """Return False if the set is full of live entries and none may be replaced."""
        index = self._place(key, now_s)
        if index is None:
            return False
        self.ways[index] = Entry(key, value, now_s - idle_s)
        return True

    def delete(self, key: bytes, now_s: int) -> bool:
        for index in self._set(key):
            entry = self._live(index, now_s)
            if entry is not None and entry.key == key:
                self.ways[index] = None
                return True
        return False

    def live(self, now_s: int) -> list[Entry[Value]]:
        """In order of index."""
        return [entry for index in range(SETS * WAYS) if (entry := self._live(index, now_s)) is not None]
