# SPDX-License-Identifier: Apache-2.0
"""Counts what flow generators send, flow by flow."""

from orrery_twin.applications.kind import Meter, Place, ReportMeter
from orrery_twin.applications.native_flows import flows_program
from orrery_twin.contract.models import FlowSinkConfig


class FlowSink:
    name = "flow-sink"
    ends = False
    reports = True

    def command(self, config: FlowSinkConfig, place: Place) -> list[str]:
        return flows_program("sink", {"interface": place.interface, "port": config.port})

    def listens(self, config: FlowSinkConfig) -> int | None:
        return None

    def meter(self, config: FlowSinkConfig) -> Meter:
        return ReportMeter()
