# SPDX-License-Identifier: Apache-2.0
"""Entries a second that a P4Runtime server takes and gives up, in batches, as one line of JSON.

The server runs fabric.p4 afterwards, with empty tables. Requests are made before the clock runs.
"""

import argparse
import json
import queue
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
from finsy import P4Schema, P4TableAction, P4TableEntry, P4TableMatch, p4entity
from finsy.proto import p4r, p4r_grpc

PROGRAM = Path(__file__).resolve().parents[1] / "p4/fabric"
ENTRIES = 10_000
LIMIT_S = 60
ETHERTYPE_IPV4 = 0x0800


def ternary(number: int) -> P4TableEntry:
    match = P4TableMatch(eth_type=ETHERTYPE_IPV4, ip_dst=0x0A00_0000 + number)
    return P4TableEntry("route", match=match, action=P4TableAction("send", mac=number, port=1), priority=1 + number)


def exact(number: int) -> P4TableEntry:
    match = P4TableMatch(ipv6_dst=number)
    return P4TableEntry("route_ipv6", match=match, action=P4TableAction("send", mac=number, port=1))


class Controller:
    """The primary controller of a server that has no other."""

    def __init__(self, address: str, device_id: int) -> None:
        self._own: dict[str, Any] = {"device_id": device_id, "election_id": p4r.Uint128(low=1)}
        channel = grpc.insecure_channel(address)
        grpc.channel_ready_future(channel).result(LIMIT_S)
        self._stub = p4r_grpc.P4RuntimeStub(channel)
        self._requests: queue.Queue[Any] = queue.Queue()
        self._requests.put(p4r.StreamMessageRequest(arbitration=p4r.MasterArbitrationUpdate(**self._own)))
        # It is primary as long as the stream is there.
        self._stream = self._stub.StreamChannel(iter(self._requests.get, None))
        next(self._stream)

    def run(self, schema: P4Schema) -> None:
        config = p4r.ForwardingPipelineConfig(p4info=schema.p4info, p4_device_config=schema.p4blob)
        action = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
        self._stub.SetForwardingPipelineConfig(
            p4r.SetForwardingPipelineConfigRequest(**self._own, action=action, config=config), timeout=LIMIT_S
        )

    def batches(self, kind: Any, entities: list[Any], size: int) -> list[Any]:
        updates = [p4r.Update(type=kind, entity=entity) for entity in entities]
        return [p4r.WriteRequest(**self._own, updates=some) for some in chunks(updates, size)]

    def seconds(self, requests: list[Any]) -> float:
        start = time.perf_counter()
        for request in requests:
            self._stub.Write(request, timeout=LIMIT_S)
        return time.perf_counter() - start


def chunks(items: list[Any], size: int) -> Iterator[list[Any]]:
    for at in range(0, len(items), size):
        yield items[at : at + size]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="unix:/path or host:port")
    parser.add_argument("--device-id", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1000)
    arguments = parser.parse_args()
    schema = P4Schema(PROGRAM.with_suffix(".p4info.txtpb"), PROGRAM.with_suffix(".json"))
    controller = Controller(arguments.address, arguments.device_id)
    controller.run(schema)
    rates = {}
    for name, entry in (("ternary", ternary), ("exact", exact)):
        entities = p4entity.encode_entities([entry(number) for number in range(1, ENTRIES + 1)], schema)
        for kind, what in ((p4r.Update.INSERT, "inserts"), (p4r.Update.DELETE, "deletes")):
            requests = controller.batches(kind, entities, arguments.batch)
            rates[f"{name}_{what}_per_s"] = ENTRIES / controller.seconds(requests)
    print(json.dumps(rates))


if __name__ == "__main__":
    main()
