# SPDX-License-Identifier: Apache-2.0
"""Many concurrent flows with published distributions of sizes and lifetimes."""

from orrery_twin.applications.kind import Meter, Place, ReportMeter, destination
from orrery_twin.applications.native_flows import flows_program
from orrery_twin.contract.models import FlowGeneratorConfig
from orrery_twin.domain.topology import GATEWAY_MAC


class FlowGenerator:
    name = "flow-generator"
    ends = True
    reports = True

    def command(self, config: FlowGeneratorConfig, place: Place) -> list[str]:
        where = {"address": destination(place), "interface": place.interface, "gateway_mac": GATEWAY_MAC}
        return flows_program("generate", config.model_dump() | where)

    def listens(self, config: FlowGeneratorConfig) -> int | None:
        return None

    def meter(self, config: FlowGeneratorConfig) -> Meter:
        return ReportMeter()
