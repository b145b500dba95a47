# SPDX-License-Identifier: Apache-2.0
"""The programs that P4 switches run, by driver."""

import os
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from orrery_twin.adapters.building import progress_of
from orrery_twin.adapters.control_socket import ask
from orrery_twin.adapters.grpc_server import greet

P4_COMMAND_VARIABLE = "ORRERY_P4_SWITCH_COMMAND"
P4_PROGRAM = Path(__file__).resolve().parents[4] / "agents/build/p4/switch/orrery-p4-switch"
P4_BUILDING = P4_PROGRAM.parents[2] / "building-p4-switch"
"""Progress of a running build (`scripts/setup/p4-switch.mjs` updates it)."""
BMV2_COMMAND_VARIABLE = "ORRERY_BMV2"
FIRST_THRIFT_PORT = 9090
PORTS_MAX = 510

Ports = list[dict[str, Any]]
"""Number, name and interface of each."""


@dataclass(frozen=True)
class P4Place:
    """Where one switch has its sockets. `number`: its device, unlike that of every other switch."""

    directory: Path
    number: int

    @property
    def p4runtime_socket(self) -> Path:
        return self.directory / "p4runtime.sock"

    @property
    def p4runtime(self) -> str:
        return f"unix:{self.p4runtime_socket}"

    @property
    def thrift_port(self) -> int:
        """Of simple_switch, within the twin."""
        return FIRST_THRIFT_PORT + self.number

    @property
    def control(self) -> Path:
        return self.directory / "control.sock"


class P4Software(Protocol):
    """`has_control`: it takes its ports by a control socket while it runs; otherwise it is restarted with others.
    `has_thrift`: it tells its registers by Thrift.
    """

    has_control: bool
    has_thrift: bool

    def missing(self) -> str | None:
        """Return why it cannot run here; None if it can."""

    def command(self, place: P4Place, ports: Ports) -> list[str]: ...

    async def reach(self, place: P4Place, ports: Ports, timeout_s: float) -> None:
        """Return when it has answered and has the ports. Raises ControlHung, ControlRefused, ControlSilent."""


class BuiltIn:
    has_control = True
    has_thrift = False

    def _program(self) -> list[str]:
        return shlex.split(os.environ.get(P4_COMMAND_VARIABLE, "")) or [str(P4_PROGRAM)]

    def missing(self) -> str | None:
        name = self._program()[0]
        if shutil.which(name):
            return None
        if name != str(P4_PROGRAM):
            return f"no program {name}"
        progress = progress_of(P4_BUILDING)
        return f"not built: no program {P4_PROGRAM.name}" if progress is None else f"being built: {progress}"

    def command(self, place: P4Place, ports: Ports) -> list[str]:
        addresses = ["--p4runtime", place.p4runtime, "--control", str(place.control)]
        at_start = [word for port in ports for word in ("--port", f"{port['number']}@{port['interface']}")]
        return [*self._program(), "--device-id", str(place.number), *addresses, *at_start]

    async def reach(self, place: P4Place, ports: Ports, timeout_s: float) -> None:
        """Send all ports each time: the process has those of its start."""
        await ask(place.control, "set_ports", {"ports": ports}, timeout_s)


class Bmv2:
    """simple_switch_grpc. Its Thrift server has no address option: it is reached from within the twin only."""

    has_control = False
    has_thrift = True

    def _program(self) -> list[str]:
        return shlex.split(os.environ.get(BMV2_COMMAND_VARIABLE, ""))

    def missing(self) -> str | None:
        if not self._program():
            return f"set {BMV2_COMMAND_VARIABLE} to simple_switch_grpc"
        name = self._program()[0]
        return None if shutil.which(name) else f"no program {name}"

    def command(self, place: P4Place, ports: Ports) -> list[str]:
        interfaces = [word for port in ports for word in ("-i", f"{port['number']}@{port['interface']}")]
        general = ["--no-p4", "--device-id", str(place.number), "--log-level", "off"]
        thrift = ["--thrift-port", str(place.thrift_port)]
        return [*self._program(), *general, *thrift, *interfaces, "--", "--grpc-server-addr", place.p4runtime]

    async def reach(self, place: P4Place, ports: Ports, timeout_s: float) -> None:
        """It has its ports from its start."""
        await greet(place.p4runtime_socket, timeout_s)


SOFTWARE: Mapping[str, P4Software] = {"p4": BuiltIn(), "bmv2": Bmv2()}


def missing_software(driver: str) -> str | None:
    """Return why switches of the driver cannot run here; None if they can."""
    software = SOFTWARE.get(driver)
    return software.missing() if software else None
