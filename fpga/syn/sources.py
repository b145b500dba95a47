# SPDX-License-Identifier: Apache-2.0
"""The RTL sources of a module, from its file list rtl/**/<module>.f."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path


class SourceError(Exception):
    """A file list is unusable; the text names the list and the file."""


@dataclass(frozen=True)
class Sources:
    module: str
    files: tuple[Path, ...]  # in the list's order; headers too

    @property
    def modules(self) -> list[Path]:
        return [path for path in self.files if path.suffix == ".sv"]

    @property
    def include_directories(self) -> list[Path]:
        return sorted({path.parent for path in self.files if path.suffix == ".svh"})

    def sha256(self) -> str:
        """Hash over names and contents: the same on every machine, whatever the order of the list."""
        whole = hashlib.sha256()
        for path in sorted(self.files, key=lambda path: path.name):
            whole.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
        return whole.hexdigest()


def _expand(file_list: Path, found: dict[Path, None]) -> None:
    for line in file_list.read_text().splitlines():
        token = line.split("//")[0].split("#")[0].strip().removeprefix("-f").strip()
        if not token or token.startswith("+incdir+"):
            continue
        path = (file_list.parent / token).resolve()
        if not path.is_file():
            raise SourceError(f"{file_list.name}: {token} does not exist")
        if path.suffix == ".f":
            _expand(path, found)
        else:
            found[path] = None


def read_sources(file_list: Path) -> Sources:
    found: dict[Path, None] = {}
    _expand(file_list, found)
    return Sources(file_list.stem, tuple(found))


def all_sources(rtl: Path) -> dict[str, Sources]:
    """File lists by module, sorted by name."""
    lists = sorted(rtl.glob("*/*.f"), key=lambda path: path.stem)
    return {file_list.stem: read_sources(file_list) for file_list in lists}
