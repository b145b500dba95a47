# SPDX-License-Identifier: Apache-2.0
"""A web server."""

from orrery_twin.applications.kind import Meter, Place, ReportMeter, own_program
from orrery_twin.contract.models import HttpServerConfig


class HttpServer:
    name = "http-server"
    ends = False
    reports = True

    def command(self, config: HttpServerConfig, place: Place) -> list[str]:
        return own_program("orrery_twin.applications.http_server.program", {"port": config.port})

    def listens(self, config: HttpServerConfig) -> int | None:
        return config.port

    def meter(self, config: HttpServerConfig) -> Meter:
        return ReportMeter()
