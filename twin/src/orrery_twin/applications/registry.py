# SPDX-License-Identifier: Apache-2.0
"""Every kind of application that twind runs, one line each."""

from orrery_twin.applications.flow_generator.kind import FlowGenerator
from orrery_twin.applications.flow_sink.kind import FlowSink
from orrery_twin.applications.http_client.kind import HttpClient
from orrery_twin.applications.http_server.kind import HttpServer
from orrery_twin.applications.iperf3_client.kind import Iperf3Client
from orrery_twin.applications.iperf3_server.kind import Iperf3Server
from orrery_twin.applications.kind import Kind
from orrery_twin.applications.pcap_replay.kind import PcapReplay
from orrery_twin.applications.probe.kind import Probe
from orrery_twin.applications.probe_server.kind import ProbeServer

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        HttpServer(),
        HttpClient(),
        Iperf3Server(),
        Iperf3Client(),
        ProbeServer(),
        Probe(),
        PcapReplay(),
        FlowSink(),
        FlowGenerator(),
    )
}
