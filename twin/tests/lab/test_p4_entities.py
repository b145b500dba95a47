# SPDX-License-Identifier: Apache-2.0
"""Each kind of entity that P4Runtime has, written and read back by a foreign client."""

import time
from collections.abc import Iterator

import pytest
from finsy import (
    P4ActionProfileGroup,
    P4ActionProfileMember,
    P4CloneSessionEntry,
    P4CounterData,
    P4CounterEntry,
    P4DigestEntry,
    P4DirectCounterEntry,
    P4DirectMeterEntry,
    P4IndirectAction,
    P4Member,
    P4MeterConfig,
    P4MeterEntry,
    P4MulticastGroupEntry,
    P4RegisterEntry,
    P4TableAction,
    P4TableEntry,
    P4TableMatch,
    P4ValueSetEntry,
)
from finsy.p4entity import P4ValueSetMember
from finsy.proto import p4r

from .p4_switch import INSERT, Client, Failed, Switch, client_of, delete, entry, insert, modify, switch_of


@pytest.fixture(scope="module")
def switch() -> Iterator[Switch]:
    with switch_of() as made:
        yield made


@pytest.fixture
def client(switch: Switch) -> Iterator[Client]:
    """The primary on a pipeline without entries."""
    with client_of(switch) as made:
        switch.until(lambda: switch.call("stats")["p4runtime"]["clients"] == 1)
        made.lead(time.monotonic_ns() & 0x7FFFFFFF_FFFFFFFF)
        made.set_pipeline()
        yield made


@pytest.mark.parametrize(
    "made",
    [
        entry("switching", {"dst": 0xA}, "forward port=3"),
        entry("routes", {"h.ipv4.dst": "10.1.0.0/16"}, "route mac=0x20 port=2"),
        entry("routes", {}, "route mac=0x20 port=2"),
        entry("acl", {"src": "10.0.0.0/&255.0.0.0", "protocol": 6, "ttl": "3...9"}, "police", priority=5),
        entry("acl", {"protocol": 17}, "drop", priority=7),
        entry("acl", {}, "drop", priority=1),
    ],
    ids=lambda made: f"{made.table_id} {made.match}",
)
def test_an_entry_is_inserted_read_modified_and_deleted(client: Client, made: P4TableEntry) -> None:
    made.metadata = b"mine"
    client.write(insert(made))
    client.assert_there(made, made)
    with pytest.raises(Failed) as twice:
        client.write(insert(made))
    assert twice.value.code == "UNKNOWN"
    assert twice.value.codes == [6]
    made.metadata = b"changed"
    client.write(modify(made))
    client.assert_there(P4TableEntry(made.table_id), made)
    client.write(delete(made))
    client.assert_there(P4TableEntry(made.table_id))
    with pytest.raises(Failed) as gone:
        client.write(delete(made))
    assert gone.value.codes == [5]
    with pytest.raises(Failed) as nothing:
        client.write(modify(made))
    assert nothing.value.codes == [5]


def test_filters_of_a_read(client: Client) -> None:
    entries = [
        entry(
            "acl", {"protocol": number}, "drop" if number % 2 else "police", priority=number, metadata=bytes([number])
        )
        for number in range(1, 9)
    ]
    client.write(*(insert(each) for each in entries))
    client.assert_there(P4TableEntry("acl", priority=3), entries[2])
    client.assert_there(P4TableEntry("acl", metadata=b"\x05"), entries[4])
    police = client.read(P4TableEntry("acl", action=P4TableAction("police")))
    assert sorted(each.priority for each in police) == [2, 4, 6, 8]
    assert len(client.read(P4TableEntry())) == len(entries) + 2  # and those of the program


def test_default_entries(client: Client) -> None:
    default = P4TableEntry("switching", is_default_action=True)
    assert client.read(default)[0].action == P4TableAction("drop")
    default.action = P4TableAction("forward", port=9)
    client.write(modify(default))
    client.assert_there(P4TableEntry("switching", is_default_action=True), default)
    client.write(modify(P4TableEntry("switching", is_default_action=True)))
    assert client.read(P4TableEntry("switching", is_default_action=True))[0].action == P4TableAction("drop")
    default.table_id = "routes"
    default.action = P4TableAction("NoAction")
    with pytest.raises(Failed) as constant:
        client.write(modify(default))
    assert constant.value.codes == [7]
    with pytest.raises(Failed) as inserted:
        client.write(insert(P4TableEntry("switching", is_default_action=True, action=P4TableAction("drop"))))
    assert inserted.value.codes == [3]


def test_entries_of_the_program_are_constant(client: Client) -> None:
    entries = client.read(P4TableEntry("fixed"))
    assert sorted(each.match["type"] for each in entries) == [0x0806, 0x88CC]
    assert all(each.is_const for each in entries)
    for update in (insert(entry("fixed", {"type": 5}, "set_flow flow=1")), delete(entry("fixed", {"type": 0x806}))):
        with pytest.raises(Failed) as refused:
            client.write(update)
        assert refused.value.codes == [7]


def test_counter_and_meter_of_an_entry(client: Client) -> None:
    made = entry("routes", {"dst": "10.0.0.0/8"}, "route mac=1 port=1")
    made.counter_data = P4CounterData(byte_count=100, packet_count=2)
    client.write(insert(made))
    client.assert_there(P4TableEntry("routes", counter_data=P4CounterData()), made)
    value = P4DirectCounterEntry("route_hits", table_entry=entry("routes", {"dst": "10.0.0.0/8"}))
    assert client.read(value)[0].data == P4CounterData(byte_count=100, packet_count=2)
    value.data = P4CounterData(byte_count=7, packet_count=1)
    client.write(modify(value))
    assert client.read(P4DirectCounterEntry("route_hits"))[0].data == P4CounterData(byte_count=7, packet_count=1)

    rates = P4MeterConfig(cir=10, cburst=5, pir=20, pburst=6)
    limited = entry("acl", {"protocol": 6}, "police", priority=1, meter_config=rates)
    client.write(insert(limited))
    empty = P4MeterConfig(cir=0, cburst=0, pir=0, pburst=0)
    client.assert_there(P4TableEntry("acl", meter_config=empty), limited)
    plain = entry("acl", {"protocol": 6}, priority=1)
    changed = P4MeterConfig(cir=1, cburst=1, pir=2, pburst=2)
    client.write(modify(P4DirectMeterEntry(table_entry=plain, config=changed)))
    assert client.read(P4DirectMeterEntry(table_entry=plain))[0].config == changed
    # Without rates it is as it was at first.
    client.write(modify(entry("acl", {"protocol": 6}, "police", priority=1)))
    assert client.read(P4DirectMeterEntry(table_entry=plain))[0].config is None
    with pytest.raises(Failed) as none:
        client.write(insert(entry("routes", {"dst": "11.0.0.0/8"}, "route mac=1 port=1", meter_config=rates)))
    assert "has no direct meter" in none.value.errors[0].message


def test_counters_meters_and_registers_by_index(client: Client) -> None:
    client.write(modify(P4CounterEntry("port_packets", index=4, data=P4CounterData(packet_count=9))))
    assert client.read(P4CounterEntry("port_packets", index=4))[0].data == P4CounterData(packet_count=9)
    assert len(client.read(P4CounterEntry("port_packets"))) == 512
    assert sum(each.data.packet_count for each in client.read(P4CounterEntry())) == 9
    rates = P4MeterConfig(cir=10, cburst=5, pir=20, pburst=6)
    client.write(modify(P4MeterEntry("port_meter", index=1, config=rates)))
    assert client.read(P4MeterEntry("port_meter", index=1))[0].config == rates
    assert client.read(P4MeterEntry("port_meter", index=2))[0].config is None
    client.write(modify(P4RegisterEntry("last_source", index=3, data=0xFFFFFFFFFFFF)))
    assert client.read(P4RegisterEntry("last_source", index=3))[0].data == 0xFFFFFFFFFFFF
    client.write(modify(P4RegisterEntry("last_source", data=5)))
    assert [each.data for each in client.read(P4RegisterEntry("last_source"))] == [5] * 64
    for wrong, code in ((64, 11), (-1, 3)):
        with pytest.raises(Failed) as refused:
            client.write(modify(P4RegisterEntry("last_source", index=wrong, data=1)))
        assert refused.value.codes == [code]


def test_members_and_groups(client: Client) -> None:
    members = [
        P4ActionProfileMember("spread", member_id=number, action=P4TableAction("forward", port=number))
        for number in (1, 2, 3)
    ]
    client.write(*(insert(each) for each in members))
    client.assert_there(P4ActionProfileMember(), *members)
    client.assert_there(P4ActionProfileMember("spread", member_id=2), members[1])
    group = P4ActionProfileGroup(
        "spread", group_id=2, max_size=8, members=[P4Member(1, weight=1), P4Member(3, weight=2)]
    )
    client.write(insert(group))
    client.assert_there(P4ActionProfileGroup("spread"), group)
    to_group = P4TableEntry("balance", match=P4TableMatch({"h.ipv4.dst": 7}), action=P4IndirectAction(group_id=2))
    client.write(insert(to_group))
    client.assert_there(P4TableEntry("balance"), to_group)
    for used in (delete(members[0]), delete(group)):
        with pytest.raises(Failed) as refused:
            client.write(used)
        assert refused.value.codes == [9]
    with pytest.raises(Failed) as unknown:
        client.write(modify(P4ActionProfileGroup("spread", group_id=2, max_size=8, members=[P4Member(77, weight=1)])))
    assert unknown.value.codes == [5]
    group.members = [P4Member(2, weight=1)]
    client.write(modify(group))
    client.assert_there(P4ActionProfileGroup(), group)
    client.write(delete(members[0]))
    client.write(delete(to_group))
    client.write(delete(group))
    client.write(delete(members[1]))
    client.assert_there(P4ActionProfileMember(), members[2])


def test_a_profile_without_selector_takes_members_alone(client: Client) -> None:
    client.write(insert(P4ActionProfileMember("hops", member_id=5, action=P4TableAction("forward", port=1))))
    made = P4TableEntry("indirect", match=P4TableMatch({"m.flow": 1}), action=P4IndirectAction(member_id=5))
    client.write(insert(made))
    client.assert_there(P4TableEntry("indirect"), made)
    made.match = P4TableMatch({"m.flow": 2})
    made.action = P4IndirectAction(group_id=1)
    with pytest.raises(Failed) as refused:
        client.write(insert(made))
    assert refused.value.codes == [3]


def test_action_sets_in_one_shot(client: Client) -> None:
    made = P4TableEntry(
        "balance",
        match=P4TableMatch({"h.ipv4.dst": 1}),
        action=P4IndirectAction([(2, P4TableAction("forward", port=1)), (1, P4TableAction("forward", port=1))]),
    )
    client.write(insert(made))
    client.assert_there(P4TableEntry("balance"), made)
    client.assert_there(P4ActionProfileMember())
    made.action = P4IndirectAction([(3, P4TableAction("set_flow", flow=1))])
    client.write(modify(made))
    client.assert_there(P4TableEntry("balance"), made)
    client.write(delete(made))
    # What is gone leaves room: the profile has 128 members.
    for _ in range(20):
        made.action = P4IndirectAction([(1, P4TableAction("forward", port=port)) for port in range(16)])
        client.write(insert(made))
        client.write(delete(made))
    made.action = P4IndirectAction([(17, P4TableAction("forward", port=1))])
    with pytest.raises(Failed) as too_much:
        client.write(insert(made))
    assert "at most 16" in too_much.value.errors[0].message


def test_replication(client: Client) -> None:
    group = P4MulticastGroupEntry(1, replicas=[1, (2, 5)])
    session = P4CloneSessionEntry(9, replicas=[510], packet_length_bytes=64, class_of_service=1)
    client.write(insert(group), insert(session))
    assert client.read_raw(P4MulticastGroupEntry()) == client.read_raw(P4MulticastGroupEntry(1))
    assert client.read(P4CloneSessionEntry())[0].packet_length_bytes == 64
    client.write(modify(P4MulticastGroupEntry(1, replicas=[3])))
    assert len(client.read(P4MulticastGroupEntry(1))[0].replicas) == 1
    with pytest.raises(Failed) as twice:
        client.write(modify(P4MulticastGroupEntry(1, replicas=[3, 3])))
    assert twice.value.codes == [3]
    client.write(delete(group), delete(session))
    client.assert_there(P4MulticastGroupEntry())
    client.assert_there(P4CloneSessionEntry())
    with pytest.raises(Failed) as zero:
        client.write(insert(P4MulticastGroupEntry(0, replicas=[3])))
    assert zero.value.codes == [3]


def test_value_sets_and_digests(client: Client) -> None:
    made = P4ValueSetEntry("ip_like", members=[P4ValueSetMember(0x88B5), P4ValueSetMember(0x88B6)])
    client.write(modify(made))
    client.assert_there(P4ValueSetEntry("ip_like", members=[]), made)
    with pytest.raises(Failed) as too_many:
        client.write(modify(P4ValueSetEntry("ip_like", members=[P4ValueSetMember(each) for each in range(5)])))
    assert too_many.value.codes == [8]
    digest = P4DigestEntry("learned_t", max_list_size=10, max_timeout_ns=1000, ack_timeout_ns=5)
    client.write(insert(digest))
    client.assert_there(P4DigestEntry(), digest)
    client.write(delete(digest))
    client.assert_there(P4DigestEntry())


def test_a_batch_goes_on_behind_what_fails(client: Client) -> None:
    good = [entry("switching", {"dst": number}, "forward port=1") for number in (1, 2)]
    with pytest.raises(Failed) as failed:
        client.write(insert(good[0]), insert(good[0]), insert(good[1]))
    assert failed.value.codes == [0, 6, 0]
    assert len(client.read(P4TableEntry("switching"))) == 2


@pytest.mark.parametrize("atomicity", ["ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"])
def test_a_batch_is_undone(client: Client, atomicity: str) -> None:
    kept = entry("switching", {"dst": 1}, "forward port=1", metadata=b"kept")
    gone = entry("switching", {"dst": 3}, "forward port=3")
    client.write(insert(kept), insert(gone))
    client.write(insert(P4ActionProfileMember("hops", member_id=5, action=P4TableAction("forward", port=1))))
    client.write(modify(P4RegisterEntry("last_source", index=2, data=8)))
    changed = entry("switching", {"dst": 1}, "drop")
    with pytest.raises(Failed) as failed:
        client.write(
            insert(entry("switching", {"dst": 2}, "drop")),
            modify(changed),
            delete(gone),
            delete(P4ActionProfileMember("hops", member_id=5)),
            modify(P4RegisterEntry("last_source", data=1)),
            delete(entry("switching", {"dst": 99})),
            atomicity=atomicity,
        )
    assert failed.value.codes == [10, 10, 10, 10, 10, 5]
    client.assert_there(P4TableEntry("switching"), kept, gone)
    assert len(client.read(P4ActionProfileMember())) == 1
    assert [each.data for each in client.read(P4RegisterEntry("last_source"))][:4] == [0, 0, 8, 0]
    client.write(insert(entry("switching", {"dst": 2}, "drop")), modify(changed), atomicity=atomicity)
    assert len(client.read(P4TableEntry("switching"))) == 3


def raw_entry(client: Client, *matches: p4r.FieldMatch, **fields: object) -> p4r.Update:
    table = client.schema.tables["switching"]
    made = p4r.TableEntry(table_id=table.id, match=matches, **fields)
    if "action" not in fields:
        made.action.action.action_id = client.schema.actions["drop"].id
    return p4r.Update(type=INSERT, entity=p4r.Entity(table_entry=made))


def exact(value: bytes, field: int = 1) -> p4r.FieldMatch:
    return p4r.FieldMatch(field_id=field, exact=p4r.FieldMatch.Exact(value=value))


def test_errors_name_the_field(client: Client) -> None:
    ternary = p4r.FieldMatch(field_id=1, ternary=p4r.FieldMatch.Ternary(value=b"\1", mask=b"\1"))
    for update, words in (
        (raw_entry(client, exact(b"\1" + bytes(6))), "match[0].exact.value: 0x1000000000000 has more than 48 bits"),
        (raw_entry(client, exact(b"")), "match[0].exact.value: is an empty byte string"),
        (raw_entry(client), 'an exact field is missing (field "h.ethernet.dst" of table "MyIngress.switching")'),
        (raw_entry(client, ternary), "match[0]: must be exact"),
        (raw_entry(client, exact(b"\1", field=9)), "has no field with id 9"),
        (raw_entry(client, exact(b"\1"), exact(b"\2")), "is there twice"),
        (raw_entry(client, exact(b"\1"), priority=4), "table_entry.priority: must be 0"),
        (raw_entry(client, exact(b"\1"), action=p4r.TableAction()), "table_entry.action: must be an action"),
        (
            raw_entry(client, exact(b"\1"), action=p4r.TableAction(action=p4r.Action(action_id=1))),
            'action.action.action_id: table "MyIngress.switching" has no action with id 1',
        ),
        (p4r.Update(type=INSERT, entity=p4r.Entity(table_entry=p4r.TableEntry(table_id=1))), "no table with id 1"),
        (p4r.Update(type=INSERT), "entity: is missing"),
        (p4r.Update(entity=p4r.Entity(table_entry=p4r.TableEntry())), "type: must be INSERT"),
    ):
        with pytest.raises(Failed) as refused:
            client.write(update)
        assert refused.value.codes == [3]
        assert words in refused.value.errors[0].message
    with pytest.raises(Failed) as missing:
        client.write(
            insert(entry("switching", {"dst": 1}, "forward port=1")), raw_entry(client, exact(b"\1"), is_const=True)
        )
    assert missing.value.codes == [0, 3]


def test_values_are_returned_in_the_shortest_form(client: Client) -> None:
    client.write(raw_entry(client, exact(bytes(9) + b"\5")))
    (read,) = client.read_raw(P4TableEntry("switching"))
    assert read.table_entry.match[0].exact.value == b"\5"
    client.write(raw_entry(client, exact(bytes(9))))
    assert sorted(each.table_entry.match[0].exact.value for each in client.read_raw(P4TableEntry("switching"))) == [
        b"\0",
        b"\5",
    ]


def test_two_thousand_entries_in_a_batch(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    batches = [
        client.request_of(
            *(insert(entry("switching", {"dst": batch * 2000 + each}, "forward port=1")) for each in range(2000))
        )
        for batch in range(10)
    ]
    start = time.monotonic()
    for batch in batches:
        client.stub.Write(batch)
    rate = 20_000 / (time.monotonic() - start)
    start = time.monotonic()
    assert len(client.read_raw(P4TableEntry("switching"))) == 20_000
    read_s = time.monotonic() - start
    deletion = client.request_of(*(delete(entry("switching", {"dst": each})) for each in range(2000)))
    start = time.monotonic()
    client.stub.Write(deletion)
    with capsys.disabled():
        print(
            f"\nP4Runtime: {rate / 1e3:.0f} k inserts/s in batches of 2,000, 20,000 entries read in {read_s:.2f} s, "
            f"{2 / (time.monotonic() - start):.0f} k deletes/s"
        )
    assert rate > 10_000
