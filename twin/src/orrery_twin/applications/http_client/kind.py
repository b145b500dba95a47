# SPDX-License-Identifier: Apache-2.0
"""HTTP requests at a fixed rate."""

from orrery_twin.applications.kind import Meter, Place, ReportMeter, destination, own_program
from orrery_twin.contract.models import HttpClientConfig


class HttpClient:
    name = "http-client"
    ends = True
    reports = True

    def command(self, config: HttpClientConfig, place: Place) -> list[str]:
        settings = config.model_dump() | {"address": destination(place)}
        return own_program("orrery_twin.applications.http_client.program", settings)

    def listens(self, config: HttpClientConfig) -> int | None:
        return None

    def meter(self, config: HttpClientConfig) -> Meter:
        return ReportMeter()
