# SPDX-License-Identifier: Apache-2.0
"""The frames of an uploaded capture."""

from orrery_twin.applications.kind import CannotRun, Meter, Place, ReportMeter, own_program
from orrery_twin.contract.models import PcapReplayConfig


class PcapReplay:
    name = "pcap-replay"
    ends = True
    reports = True

    def command(self, config: PcapReplayConfig, place: Place) -> list[str]:
        file = place.pcap_file(config.pcap_id)
        if file is None:
            raise CannotRun(f"no capture {config.pcap_id}")
        settings = config.model_dump() | {"file": str(file), "interface": place.interface}
        return own_program("orrery_twin.applications.pcap_replay.program", settings)

    def listens(self, config: PcapReplayConfig) -> int | None:
        return None

    def meter(self, config: PcapReplayConfig) -> Meter:
        return ReportMeter()
