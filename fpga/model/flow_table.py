# SPDX-License-Identifier: Apache-2.0
"""The table of rtl/common/flow_table.sv."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
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


@cache
def toeplitz(data: bytes, key: int) -> int:
    """Ten bits; bit n is the parity of the data under the key from bit n on (rtl/common/toeplitz.sv)."""
    value = int.from_bytes(data, "big")
    return sum(((value & key >> n).bit_count() & 1) << n for n in range(10))


@dataclass
class Entry(Generic[Value]):
    key: bytes
    value: Value
    seen_s: int


class FlowTable(Generic[Value]):
    """Entries by key. An entry idle for more than `idle_timeout_s` seconds does not exist.

    `is_transitory`: entries for whose value it holds have `transitory_timeout_s` instead, and make room in a full set.
    `hash_key`: of the Toeplitz hash; None: CRC-32C.
    """

    def __init__(
        self,
        *,
        replace: bool = False,
        idle_timeout_s: int = NEVER_S,
        transitory_timeout_s: int = NEVER_S,
        is_transitory: Callable[[Value], bool] = lambda _: False,
        hash_key: int | None = None,
    ) -> None:
        self.replace = replace
        self.idle_timeout_s = idle_timeout_s
        self.transitory_timeout_s = transitory_timeout_s
        self.is_transitory = is_transitory
        self.hash_key = hash_key
        self.clear()

    def clear(self) -> None:
        self.ways: list[Entry[Value] | None] = [None] * (SETS * WAYS)
        self.evictions = 0

    def _live(self, index: int, now_s: int) -> Entry[Value] | None:
        entry = self.ways[index]
        if entry is None:
            return None
        timeout_s = self.transitory_timeout_s if self.is_transitory(entry.value) else self.idle_timeout_s
        return entry if now_s - entry.seen_s <= timeout_s else None

    def _set(self, key: bytes) -> list[int]:
        """The ways of a key's set, in the order in which they are looked at."""
        start = (crc32c(key) % SETS if self.hash_key is None else toeplitz(key, self.hash_key)) * WAYS
        return [start + (self.evictions + n) % WAYS for n in range(WAYS)]

    def read(self, index: int, now_s: int) -> Entry[Value] | None:
        return self._live(index, now_s)

    def find(self, key: bytes, now_s: int) -> Entry[Value] | None:
        for index in self._set(key):
            entry = self._live(index, now_s)
            if entry is not None and entry.key == key:
                return entry
        return None

    def _place(self, key: bytes, now_s: int) -> int | None:
        """Where a put goes: the own way, the first free way, the transitory way idle longest, or with `replace` the
        way idle longest.
        """
        ways = self._set(key)
        live = [self._live(index, now_s) for index in ways]
        for index, entry in zip(ways, live, strict=True):
            if entry is not None and entry.key == key:
                return index
        for index, entry in zip(ways, live, strict=True):
            if entry is None:
                return index
        victims = [
            (now_s - entry.seen_s, -n)
            for n, entry in enumerate(live)
            if entry is not None and self.is_transitory(entry.value)
        ]
        if victims:
            return ways[-max(victims)[1]]
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
        displaced = self._live(index, now_s)
        if displaced is not None and displaced.key != key and self.is_transitory(displaced.value):
            self.evictions += 1
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
