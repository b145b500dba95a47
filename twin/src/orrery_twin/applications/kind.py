# SPDX-License-Identifier: Apache-2.0
"""What a kind of application declares, for the supervisor."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


class CannotRun(Exception):
    """Why an application cannot be started as declared."""


@dataclass(frozen=True)
class Place:
    """Where an application runs. `address` is that of its destination, None if the kind has none."""

    interface: str
    address: str | None
    pcap_file: Callable[[str], Path | None]


@dataclass
class Meter:
    """The latest report of a program."""

    metrics: dict[str, float] = field(default_factory=dict)
    detail: str | None = None

    def take(self, line: str) -> None:
        """Process one line of the program's output."""
        raise NotImplementedError

    def silent(self, seconds: float) -> None:
        """It has written nothing for so long."""


class Kind(Protocol):
    """A kind of application.

    `ends`: exit status 0 means that its work is done. `reports`: it writes one line per second while it works, and is
    ready with the first.
    """

    name: str
    ends: bool
    reports: bool

    def command(self, config: Any, place: Place) -> list[str]:
        """Raises CannotRun."""
        ...

    def listens(self, config: Any) -> int | None:
        """The TCP port on which it accepts connections when ready; None: none."""
        ...

    def meter(self, config: Any) -> Meter: ...


class ReportMeter(Meter):
    """For our own programs: each line is a JSON object `{metrics, detail}` that replaces the previous one."""

    def take(self, line: str) -> None:
        report = json.loads(line)
        self.metrics, self.detail = report["metrics"], report["detail"]


def own_program(module: str, settings: dict[str, Any]) -> list[str]:
    return [sys.executable, "-m", module, json.dumps(settings)]


def destination(place: Place) -> str:
    if place.address is None:
        raise CannotRun("its destination has no address")
    return place.address
