# SPDX-License-Identifier: Apache-2.0
"""Receives probes."""

from orrery_twin.applications.kind import Meter, Place, ReportMeter, own_program
from orrery_twin.contract.models import ProbeServerConfig


class ProbeServer:
    name = "probe-server"
    ends = False
    reports = True

    def command(self, config: ProbeServerConfig, place: Place) -> list[str]:
        return own_program("orrery_twin.applications.probe_server.program", {"port": config.port})

    def listens(self, config: ProbeServerConfig) -> int | None:
        return None

    def meter(self, config: ProbeServerConfig) -> Meter:
        return ReportMeter()
