# SPDX-License-Identifier: Apache-2.0
"""One-way latency to a probe server."""

from orrery_twin.applications.kind import Meter, Place, ReportMeter, destination, own_program
from orrery_twin.contract.models import ProbeConfig


class Probe:
    name = "probe"
    ends = True
    reports = True

    def command(self, config: ProbeConfig, place: Place) -> list[str]:
        settings = config.model_dump() | {"address": destination(place)}
        return own_program("orrery_twin.applications.probe.program", settings)

    def listens(self, config: ProbeConfig) -> int | None:
        return None

    def meter(self, config: ProbeConfig) -> Meter:
        return ReportMeter()
