# SPDX-License-Identifier: Apache-2.0
"""Streams of P4Runtime: arbitration, packets, digests, idle time-outs, and the pipeline's configuration."""

import asyncio
import random
from collections.abc import Iterator

import grpc
import pytest
from finsy import P4DigestEntry, P4MulticastGroupEntry, P4RegisterEntry, P4TableEntry, SwitchOptions
from finsy import Switch as FinsySwitch
from finsy.p4entity import P4PacketOut
from finsy.proto import p4r

from .p4_switch import (
    DEVICE,
    LIMIT_S,
    P4_PROGRAMS,
    Client,
    Failed,
    Switch,
    client_of,
    delete,
    entry,
    frame,
    insert,
    modify,
    receive,
    switch_of,
)
from .random_messages import RandomMessages

MS = 1_000_000


@pytest.fixture
def switch() -> Iterator[Switch]:
    with switch_of(ports=2) as made:
        yield made


@pytest.fixture
def client(switch: Switch) -> Iterator[Client]:
    with client_of(switch) as made:
        made.lead()
        made.set_pipeline()
        switch.until_port(1, "up")
        switch.until_port(2, "up")
        yield made


def status_of(client: Client) -> tuple[int, int]:
    update = client.next("arbitration")
    return update.status.code, update.election_id.low


def test_the_highest_election_id_leads(switch: Switch) -> None:
    with client_of(switch) as one, client_of(switch) as two, client_of(switch) as spectator:
        one.arbitrate(5)
        assert status_of(one) == (0, 5)
        one.set_pipeline()
        two.arbitrate(3)
        assert status_of(two) == (6, 5)
        with pytest.raises(Failed) as backup:
            two.write(insert(P4MulticastGroupEntry(1, replicas=[1])))
        assert backup.value.code == "PERMISSION_DENIED"
        spectator.arbitrate()
        assert status_of(spectator) == (6, 5)
        with pytest.raises(Failed) as nobody:
            spectator.write(insert(P4MulticastGroupEntry(1, replicas=[1])))
        assert nobody.value.code == "PERMISSION_DENIED"
        two.arbitrate(9)
        assert [status_of(each) for each in (one, spectator, two)] == [(6, 9), (6, 9), (0, 9)]
        two.write(insert(P4MulticastGroupEntry(1, replicas=[1])))
        with pytest.raises(Failed) as past:
            one.write(delete(P4MulticastGroupEntry(1)))
        assert past.value.code == "PERMISSION_DENIED"
        # Everybody may read.
        assert len(one.read_raw(P4MulticastGroupEntry())) == 1
        two.arbitrate(4)
        assert [status_of(each) for each in (one, spectator, two)] == [(5, 9)] * 3
        one.arbitrate(9)
        assert status_of(one) == (0, 9)
        assert status_of(two) == (6, 9)
        one.close()
        assert status_of(two) == (5, 9)
        assert not switch.call("stats")["p4runtime"]["primary"]


def test_arbitration_that_ends_a_stream(switch: Switch) -> None:
    with client_of(switch) as first:
        first.lead(5)
        for election, device, code in ((5, DEVICE, "INVALID_ARGUMENT"), (6, DEVICE + 1, "NOT_FOUND")):
            with client_of(switch) as wrong:
                wrong.arbitrate(election, device=device)
                with pytest.raises(Failed) as refused:
                    wrong.next("arbitration")
                assert refused.value.code == code
        first.arbitrate(5, role="other")
        with pytest.raises(Failed) as changed:
            first.next("arbitration")
        assert changed.value.code == "FAILED_PRECONDITION"


def test_roles_have_primaries_of_their_own(switch: Switch) -> None:
    with client_of(switch) as one, client_of(switch) as two:
        one.arbitrate(5)
        assert status_of(one) == (0, 5)
        two.arbitrate(2, role="tester")
        update = two.next("arbitration")
        assert (update.status.code, update.role.name) == (0, "tester")
        one.set_pipeline()
        request = two.request_of(insert(P4MulticastGroupEntry(1, replicas=[1])))
        request.role = "tester"
        two.stub.Write(request)
        request.role = "nobody"
        with pytest.raises(grpc.RpcError) as unknown:
            two.stub.Write(request)
        assert unknown.value.code() == grpc.StatusCode.NOT_FOUND


def test_streams_are_bounded(switch: Switch) -> None:
    clients = [Client(switch) for _ in range(16)]
    for number, client in enumerate(clients):
        client.arbitrate(number)
        client.next("arbitration")
    with client_of(switch) as last:
        last.arbitrate(99)
        with pytest.raises(Failed) as refused:
            last.next("arbitration")
        assert refused.value.code == "RESOURCE_EXHAUSTED"
    clients[0].close()
    switch.until(lambda: switch.call("stats")["p4runtime"]["clients"] == 15)
    with client_of(switch) as last:
        last.lead(99)
    for client in clients:
        client.close()


def test_pipelines(switch: Switch) -> None:
    with client_of(switch) as client:
        with pytest.raises(Failed) as nobody:
            client.set_pipeline()
        assert nobody.value.code == "PERMISSION_DENIED"
        client.lead()
        with pytest.raises(Failed) as none:
            client.write(insert(P4MulticastGroupEntry(1, replicas=[1])))
        assert none.value.code == "FAILED_PRECONDITION"
        with pytest.raises(Failed):
            client.read(P4TableEntry())
        assert not client.get_pipeline().HasField("config")
        client.set_pipeline("VERIFY", cookie=1)
        assert not client.get_pipeline().HasField("config")
        for action, code in (("COMMIT", "NOT_FOUND"), ("VERIFY", "INVALID_ARGUMENT")):
            with pytest.raises(Failed) as refused:
                client.set_pipeline(action, config=False)
            assert refused.value.code == code
        client.set_pipeline(cookie=7)
        both = client.get_pipeline().config
        assert both.p4info == client.schema.p4info
        assert both.p4_device_config == client.schema.p4blob
        assert [
            (config.cookie.cookie, config.HasField("p4info"), bool(config.p4_device_config))
            for config in (
                client.get_pipeline(kind).config
                for kind in ("ALL", "COOKIE_ONLY", "P4INFO_AND_COOKIE", "DEVICE_CONFIG_AND_COOKIE")
            )
        ] == [(7, True, True), (7, False, False), (7, True, False), (7, False, True)]
        assert switch.call("describe")["program"]["cookie"] == "7"


def test_a_saved_pipeline_gets_what_is_written_until_it_runs(client: Client, switch: Switch) -> None:
    client.write(insert(entry("switching", {"dst": 0xB}, "forward port=2")))
    client.set_pipeline("VERIFY_AND_SAVE", cookie=2)
    client.assert_there(P4TableEntry("switching"))
    client.write(insert(entry("switching", {"dst": 0xC}, "forward port=2")))
    switch.host(1).send(frame(0xC))
    switch.host(1).send(frame(0xB))
    assert receive(switch.host(2)) == frame(0xB)
    client.set_pipeline("COMMIT", config=False)
    switch.host(1).send(frame(0xB))
    switch.host(1).send(frame(0xC))
    assert receive(switch.host(2)) == frame(0xC)


def test_the_state_is_kept_when_a_pipeline_is_reconciled(client: Client) -> None:
    kept = entry("switching", {"dst": 0xB}, "forward port=2", metadata=b"kept", idle_timeout_ns=10**12)
    client.write(insert(kept), insert(P4MulticastGroupEntry(1, replicas=[1, 2])))
    client.write(modify(P4RegisterEntry("last_source", index=1, data=5)))
    client.write(modify(entry("switching", {}, "to_cpu", is_default_action=True)))
    client.set_pipeline("RECONCILE_AND_COMMIT", cookie=3)
    client.assert_there(P4TableEntry("switching"), kept)
    assert client.read(P4RegisterEntry("last_source", index=1))[0].data == 5
    assert len(client.read_raw(P4MulticastGroupEntry())) == 1
    assert client.read(entry("switching", {}, is_default_action=True))[0].action.name == "to_cpu"
    client.set_pipeline("VERIFY_AND_COMMIT")
    client.assert_there(P4TableEntry("switching"))


def test_a_pipeline_that_cannot_be(client: Client) -> None:
    request = p4r.SetForwardingPipelineConfigRequest(
        device_id=DEVICE, action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
    )
    request.election_id.low = 1
    program = client.schema.p4blob
    for blob, words in (
        (b"", "p4_device_config: is empty"),
        (b"{", "is not JSON"),
        (b"{}", "p4_device_config"),
        (b"[" * 100_000, "is not JSON"),
        (program.replace(b"MyIngress.acl", b"MyIngress.other"), 'no table "MyIngress.acl"'),
    ):
        request.config.p4info.CopyFrom(client.schema.p4info)
        request.config.p4_device_config = blob
        with pytest.raises(grpc.RpcError) as refused:
            client.stub.SetForwardingPipelineConfig(request)
        assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert words in refused.value.details()
    assert client.get_pipeline().config.p4_device_config == program


def packet_out(client: Client, payload: bytes, **metadata: int) -> None:
    client.send(P4PacketOut(payload, pad=0, **metadata).encode_update(client.schema))


def test_packets_go_out_and_come_in(client: Client, switch: Switch) -> None:
    client.write(insert(entry("switching", {"dst": 0xB}, "forward port=2")))
    client.write(insert(entry("switching", {"dst": 0xC}, "to_cpu")))
    two = switch.host(2)
    packet_out(client, frame(0xEE), egress_port=2, through_pipeline=0)
    assert receive(two) == frame(0xEE)
    packet_out(client, frame(0xB), egress_port=1, through_pipeline=1)
    assert receive(two) == frame(0xB)
    switch.host(1).send(frame(0xC))
    packet = client.next("packet")
    assert packet.payload == frame(0xC)
    assert [(each.metadata_id, each.value) for each in packet.metadata] == [(1, b"\1"), (2, b"\5")]
    wrong = p4r.StreamMessageRequest()
    wrong.packet.payload = frame()
    client.send(wrong)
    error = client.next("error")
    assert error.canonical_code == 3
    assert 'field "egress_port" is missing' in error.message
    assert error.packet_out.packet_out.payload == frame()
    with client_of(switch) as backup:
        backup.arbitrate(0)
        backup.next("arbitration")
        packet_out(backup, frame(), egress_port=2, through_pipeline=0)
        assert backup.next("error").canonical_code == 7
    packet_out(client, b"abc", egress_port=2, through_pipeline=0)
    switch.until(lambda: switch.call("stats")["ports"][1]["drops"] == {"tx_runt": 1})
    figures = switch.call("stats")["p4runtime"]
    assert (figures["packet_out"], figures["packet_in"]) == (3, 1)


def test_digests_come_in_lists_and_once_until_they_are_acknowledged(client: Client, switch: Switch) -> None:
    client.write(insert(P4DigestEntry("learned_t", max_list_size=2, max_timeout_ns=10**12, ack_timeout_ns=10**12)))
    one = switch.host(1)
    for source in (1, 1, 2):
        one.send(frame(src=source))
    first = client.next("digest")
    assert [[member.bitstring for member in data.struct.members] for data in first.data] == [
        [b"\1", b"\1"],
        [b"\2", b"\1"],
    ]
    one.send(frame(src=1))
    client.write(modify(P4DigestEntry("learned_t", max_list_size=1, ack_timeout_ns=10**12)))
    one.send(frame(src=3))
    assert client.next("digest").data[0].struct.members[0].bitstring == b"\3"
    ack = p4r.StreamMessageRequest()
    ack.digest_ack.digest_id = first.digest_id
    ack.digest_ack.list_id = first.list_id
    client.send(ack)
    # Requests of a stream are served in their order: what it asks next is answered after the ack.
    client.arbitrate(1)
    client.next("arbitration")
    one.send(frame(src=1))
    assert client.next("digest").data[0].struct.members[0].bitstring == b"\1"
    ack.digest_ack.digest_id = 1
    client.send(ack)
    assert client.next("error").digest_list_ack.digest_list_ack.digest_id == 1


def test_a_digest_list_is_sent_after_its_time(client: Client, switch: Switch) -> None:
    client.write(insert(P4DigestEntry("learned_t", max_list_size=100, max_timeout_ns=50 * MS)))
    switch.host(1).send(frame(src=9))
    assert len(client.next("digest").data) == 1


def test_entries_without_packets_are_reported(client: Client, switch: Switch) -> None:
    idle = entry("switching", {"dst": 0xB}, "forward port=2", idle_timeout_ns=200 * MS, metadata=b"mine")
    client.write(insert(idle), insert(entry("switching", {"dst": 0xC}, "forward port=2", idle_timeout_ns=10**12)))
    (told,) = client.next("idle_timeout_notification").table_entry
    assert told.match[0].exact.value == b"\x0b"
    assert (told.idle_timeout_ns, told.metadata) == (200 * MS, b"mine")
    elapsed = entry("switching", {"dst": 0xB}, time_since_last_hit=0)
    assert client.read(elapsed)[0].time_since_last_hit >= 200 * MS
    switch.host(1).send(frame(0xB))
    receive(switch.host(2))
    assert client.read(elapsed)[0].time_since_last_hit < 10_000 * MS
    # Again after a further time-out.
    client.next("idle_timeout_notification")
    with pytest.raises(Failed) as none:
        client.write(insert(entry("routes", {"dst": "10.0.0.0/8"}, "route mac=1 port=1", idle_timeout_ns=5)))
    assert "has no idle timeout" in none.value.errors[0].message


def test_a_client_that_does_not_read_holds_up_nobody(client: Client, switch: Switch) -> None:
    client.write(insert(entry("switching", {"dst": 0xC}, "to_cpu")))
    client.write(insert(entry("switching", {"dst": 0xB}, "forward port=2")))

    def figures() -> dict[str, int]:
        return switch.call("stats")["p4runtime"]  # type: ignore[no-any-return]

    with client_of(switch, reads=False) as deaf:
        deaf.arbitrate(9)
        assert client.next("arbitration").status.code == 6
        one = switch.host(1)
        big = frame(0xC, payload=b"x" * 1400)
        switch.until(lambda: [one.send(big) for _ in range(1000)] and figures()["packet_in_drops"])
        one.send(frame(0xB))
        assert receive(switch.host(2)) == frame(0xB)
    assert client.next("arbitration").status.code == 5


def test_a_controller_of_finsy_sets_up_and_learns(switch: Switch) -> None:
    async def control() -> None:
        options = SwitchOptions(
            p4info=P4_PROGRAMS / "control_plane.p4info.txtpb",
            p4blob=P4_PROGRAMS / "control_plane.json",
            device_id=DEVICE,
        )
        async with FinsySwitch("sw", switch.address, options) as sw:
            await sw.delete_all()
            await sw.write([+P4DigestEntry("learned_t", max_list_size=1)])
            await sw.insert([entry("switching", {"dst": 0xB}, "forward port=2")])
            assert [each.match["dst"] async for each in sw.read(P4TableEntry("switching"))] == [0xB]
            switch.host(1).send(frame(0xB))
            async for digest in sw.read_digests("learned_t"):
                assert digest.data[0] == {"mac": 0xA, "port": 1}
                return

    switch.until_port(1, "up")
    asyncio.run(asyncio.wait_for(control(), 3 * LIMIT_S))


def test_requests_at_random_are_survived(client: Client, switch: Switch) -> None:
    """Messages of the right form with any content, mixed of parts that are right."""
    chance = random.Random(7)
    made = RandomMessages(client, chance)
    for _ in range(1500):
        kind = chance.randrange(6)
        try:
            if kind < 3:
                request = client.request_of(*(made.update() for _ in range(chance.randrange(1, 5))))
                request.atomicity = chance.choice([0, 0, 0, 1, 2, 5])
                client.stub.Write(request, timeout=LIMIT_S)
            elif kind < 5:
                list(client.stub.Read(p4r.ReadRequest(device_id=DEVICE, entities=[made.entity()]), timeout=LIMIT_S))
            else:
                stream = p4r.StreamMessageRequest()
                made.fill(stream)
                if not stream.HasField("arbitration"):
                    client.send(stream)
        except grpc.RpcError as error:
            assert error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL), error.details()
    assert switch.process.poll() is None
    client.set_pipeline()
    client.write(insert(entry("switching", {"dst": 0xB}, "forward port=2")))
