# SPDX-License-Identifier: Apache-2.0
"""Register descriptions: one YAML file per module, parsed and checked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

MODULE_REGISTERS_START = 0x080
CSR_BYTES = 0x10000


class DescriptionError(Exception):
    """A description that cannot be used; the text names the file and the field."""


@dataclass(frozen=True)
class Field:
    name: str
    high: int
    low: int
    text: str

    @property
    def bits(self) -> str:
        return str(self.low) if self.high == self.low else f"{self.high}:{self.low}"


@dataclass(frozen=True)
class Register:
    name: str
    address: int
    access: str
    count: int
    stride: int
    reset: int
    text: str
    fields: tuple[Field, ...]

    @property
    def end(self) -> int:
        return self.address + (self.count - 1) * self.stride + 4

    def addresses(self) -> set[int]:
        return {self.address + n * self.stride for n in range(self.count)}


@dataclass(frozen=True)
class Description:
    """Contents of a YAML file. `entry` and `events` give the words of a table entry and of each event, in order."""

    name: str
    title: str
    id: str
    version: tuple[int, int, int]
    drops: tuple[str, ...]
    registers: tuple[Register, ...]
    entry: tuple[str, ...] = ()
    events: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    common: bool = True  # also has the registers that every module has

    @property
    def version_word(self) -> int:
        major, minor, patch = self.version
        return major << 16 | minor << 8 | patch

    @property
    def id_word(self) -> int:
        return int.from_bytes(self.id.encode("ascii"), "big")


class _Reader:
    """Takes keys out of a mapping, and rejects the ones that are left."""

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise DescriptionError(f"{where}: must be a mapping")
        self.value = dict(value)
        self.where = where

    def take(self, key: str, kind: type, default: Any = None) -> Any:
        value = self.value.pop(key, default)
        if value is None:
            raise DescriptionError(f"{self.where}: {key} is missing")
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise DescriptionError(f"{self.where}: {key} must be of type {kind.__name__}")
        return value

    def finish(self) -> None:
        if self.value:
            raise DescriptionError(f"{self.where}: unknown {', '.join(sorted(self.value))}")


def _read_field(value: Any, where: str) -> Field:
    reader = _Reader(value, where)
    name = reader.take("name", str)
    bits = reader.value.pop("bits", None)
    match = re.fullmatch(r"(\d+)(?::(\d+))?", str(bits))
    if match is None:
        raise DescriptionError(f"{where}.{name}: bits must be a number or high:low")
    high = int(match[1])
    low = int(match[2]) if match[2] else high
    if not 0 <= low <= high <= 31:
        raise DescriptionError(f"{where}.{name}: bits {bits} are not within 31:0")
    result = Field(name, high, low, reader.take("text", str, ""))
    reader.finish()
    return result


def _read_register(value: Any, where: str) -> Register:
    reader = _Reader(value, where)
    name = reader.take("name", str)
    where = f"{where}.{name}"
    if not re.fullmatch(r"[A-Z][A-Z0-9_]*", name):
        raise DescriptionError(f"{where}: name must be in capitals")
    access = reader.take("access", str)
    if access not in ("ro", "rw", "wo"):
        raise DescriptionError(f"{where}: access must be ro, rw or wo")
    register = Register(
        name=name,
        address=reader.take("address", int),
        access=access,
        count=reader.take("count", int, 1),
        stride=reader.take("stride", int, 4),
        reset=reader.take("reset", int, 0),
        text=reader.take("text", str, ""),
        fields=tuple(_read_field(f, where) for f in reader.take("fields", list, [])),
    )
    reader.finish()
    if register.address % 4 or register.stride % 4 or register.stride < 4 or register.count < 1:
        raise DescriptionError(f"{where}: address and stride must be multiples of 4, count at least 1")
    if not 0 <= register.address < register.end <= CSR_BYTES:
        raise DescriptionError(f"{where}: address is outside of the register space")
    taken = 0
    for part in register.fields:
        mask = (2 << part.high) - (1 << part.low)
        if taken & mask:
            raise DescriptionError(f"{where}.{part.name}: bits overlap")
        taken |= mask
    return register


def _check_apart(registers: tuple[Register, ...], where: str) -> None:
    seen: dict[int, str] = {}
    names: set[str] = set()
    for register in registers:
        if register.name in names:
            raise DescriptionError(f"{where}.{register.name}: appears twice")
        names.add(register.name)
        for address in register.addresses():
            if address in seen:
                raise DescriptionError(f"{where}.{register.name}: {address:#05x} belongs to {seen[address]}")
            seen[address] = register.name


def read_common(path: Path) -> tuple[Register, ...]:
    reader = _Reader(yaml.safe_load(path.read_text()), path.name)
    registers = tuple(_read_register(r, path.name) for r in reader.take("registers", list))
    reader.finish()
    _check_apart(registers, path.name)
    return registers


def read_description(path: Path, common: tuple[Register, ...]) -> Description:
    reader = _Reader(yaml.safe_load(path.read_text()), path.name)
    identity = reader.take("id", str)
    version = reader.take("version", str)
    if not re.fullmatch(r"[A-Z0-9]{4}", identity):
        raise DescriptionError(f"{path.name}: id must be four capitals or digits")
    if not re.fullmatch(r"\d{1,2}\.\d{1,2}\.\d{1,2}", version):
        raise DescriptionError(f"{path.name}: version must be major.minor.patch")
    events = {}
    for value in reader.take("events", list, []):
        event = _Reader(value, f"{path.name}: events")
        name, number, words = event.take("name", str), event.take("type", int), tuple(event.take("words", list))
        event.finish()
        if len(words) > 7:
            raise DescriptionError(f"{path.name}: events.{name}: words must be at most 7")
        events[name] = (number, words)
    major, minor, patch = (int(part) for part in version.split("."))
    description = Description(
        name=reader.take("module", str),
        title=reader.take("title", str),
        id=identity,
        version=(major, minor, patch),
        drops=tuple(reader.take("drops", list)),
        registers=tuple(_read_register(r, path.name) for r in reader.take("registers", list, [])),
        entry=tuple(reader.take("entry", list, [])),
        events=events,
        common=reader.take("common", bool, True),
    )
    reader.finish()
    if description.name != path.stem:
        raise DescriptionError(f"{path.name}: module must be {path.stem}")
    if len(description.drops) > 8:
        raise DescriptionError(f"{path.name}: drops must be at most 8")
    if len(description.drops) > 4 and all(register.name != "MORE_DROPS" for register in description.registers):
        raise DescriptionError(f"{path.name}: more than 4 drops need a register MORE_DROPS")
    if len(description.entry) not in (0, 8):
        raise DescriptionError(f"{path.name}: entry must have 8 words")
    if description.common:
        for register in description.registers:
            if register.address < MODULE_REGISTERS_START:
                raise DescriptionError(f"{path.name}.{register.name}: addresses below 0x080 are common to all modules")
    _check_apart((common if description.common else ()) + description.registers, path.name)
    return description
