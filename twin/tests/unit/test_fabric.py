# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any

import pytest

from orrery_twin.contract.models import FabricSpec, Infrastructure
from orrery_twin.domain.fabric import FabricProgram, compile_fabric, cookie_of, tag_mac
from orrery_twin.domain.refusal import Refused
from orrery_twin.domain.topology import plan_build

from .test_topology import MACHINE, two_leaves

Rack = dict[str, Any]
MakeRule = Callable[..., dict[str, Any]]


def compile_rules(rack: Rack, *rules: dict[str, Any]) -> FabricProgram:
    infrastructure = Infrastructure.model_validate(rack)
    spec = FabricSpec.model_validate({"generation": 7, "rules": list(rules)})
    return compile_fabric(infrastructure, plan_build(infrastructure, MACHINE), spec)


def flows_of(program: FabricProgram, rule_id: str, bridge: str = "sw1") -> list[str]:
    start = f"cookie={cookie_of(rule_id):#x},"
    return [flow.removeprefix(start) for flow in program.switches[bridge].flows if flow.startswith(start)]


def test_tag_holds_the_hop() -> None:
    assert tag_mac(0x1234) == "02:0e:12:34:00:00"


def test_classify_applies_at_its_hosts_only(rack: Rack, make_rule: MakeRule) -> None:
    terms = [{"field": "ip.dst", "prefix": "10.0.2.0/24"}]
    program = compile_rules(rack, make_rule("classify", from_hosts=["client-1", "web-2"], match=terms))
    assert flows_of(program, "classify-1") == [
        f"table=1,priority=100,ip,nw_dst=10.0.2.0/24,in_port={port},actions=set_field:02:0e:00:01:00:00->eth_dst,output:1"
        for port in (4, 7)
    ]


def test_classify_without_hosts_takes_every_host_but_no_chain_output(rack: Rack, make_rule: MakeRule) -> None:
    (flow,) = flows_of(compile_rules(rack, make_rule("classify")), "classify-1")
    assert flow.startswith("table=1,priority=100,ip,reg1=0x1,actions=")


def test_several_targets_share_by_range(rack: Rack, make_rule: MakeRule) -> None:
    targets = [(1, "server-1", 0, 16384), (2, "server-3", 16384, 65536)]
    program = compile_rules(rack, make_rule("classify", targets=targets, key=["ip.src", "port.dst"]))
    (flow,) = flows_of(program, "classify-1")
    ((number, group),) = program.switches["sw1"].groups.items()
    assert flow.endswith(f"actions=group:{number}")
    assert group == (
        "type=select,selection_method=hash,fields(ip_src,tcp_dst,udp_dst),"
        "bucket=bucket_id:0,weight:16384,actions=set_field:02:0e:00:01:00:00->eth_dst,output:1,"
        "bucket=bucket_id:1,weight:49152,actions=set_field:02:0e:00:02:00:00->eth_dst,output:3"
    )


def test_a_changed_split_is_another_group(rack: Rack, make_rule: MakeRule) -> None:
    def groups(boundary: int) -> set[int]:
        targets = [(1, "server-1", 0, boundary), (2, "server-3", boundary, 65536)]
        return set(compile_rules(rack, make_rule("classify", targets=targets)).switches["sw1"].groups)

    assert groups(100) == groups(100)
    assert not groups(100) & groups(200)


def test_hop_goes_to_its_server_also_back_where_it_came_from(rack: Rack, make_rule: MakeRule) -> None:
    (flow,) = flows_of(compile_rules(rack, make_rule("hop", hop=0x0203, server="server-2")), "hop-515")
    assert flow == (
        "table=0,priority=300,dl_dst=02:0e:02:03:00:00/ff:ff:ff:ff:00:00,actions=set_field:ANY->in_port,output:2"
    )


def test_return_beats_routing_and_spends_ttl(rack: Rack, make_rule: MakeRule) -> None:
    terms = [{"field": "ip.dst", "prefix": "198.18.0.0/24"}]
    (flow,) = flows_of(compile_rules(rack, make_rule("return", hop=9, server="server-2", match=terms)), "return-9")
    assert flow == (
        "table=1,priority=100,ip,nw_dst=198.18.0.0/24,actions="
        "dec_ttl,set_field:ANY->in_port,set_field:02:0e:00:09:00:00->eth_dst,output:2"
    )


def test_tagged_frames_cross_the_trunk_and_hosts_steer_at_their_own_switch(rack: Rack, make_rule: MakeRule) -> None:
    rules = [make_rule("classify", from_hosts=["client-1"]), make_rule("hop", hop=1)]
    program = compile_rules(two_leaves(rack), *rules)
    assert flows_of(program, "classify-1", "sw1") == []
    assert flows_of(program, "classify-1", "sw2")[0].endswith("output:7")
    assert flows_of(program, "hop-1", "sw1")[0].endswith("output:1")
    assert flows_of(program, "hop-1", "sw2")[0].endswith("output:7")
    onward = "table=2,priority=200,ip,nw_dst=10.0.2.1,actions=set_field:02:0e:ff:ff:ff:fe->eth_dst,output:4"
    assert any(flow.endswith(onward) for flow in program.switches["sw1"].flows)


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"kind": "classify", "from_hosts": ["client-1", "server-1"]}, "/rules/0/from_hosts/1"),
        ({"kind": "classify", "server": "web-1"}, "/rules/0/targets/0/server"),
        ({"kind": "classify", "targets": [(1, "server-1", 5, 5)]}, "/rules/0/targets/0/range"),
        (
            {"kind": "classify", "match": [{"field": "metadata", "offset": 0, "width": 1, "value": 1}]},
            "/rules/0/match/0",
        ),
        ({"kind": "hop", "match": [{"field": "ip.proto", "value": 6}]}, "/rules/0/match"),
        ({"kind": "hop", "targets": [(1, "server-1", 0, 9), (1, "server-2", 9, 10)]}, "/rules/0/targets"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_by_field(
    rack: Rack, make_rule: MakeRule, fields: dict[str, Any], pointer: str
) -> None:
    with pytest.raises(Refused) as refusal:
        compile_rules(rack, make_rule(**fields))
    assert [fault.pointer for fault in refusal.value.faults] == [pointer]


def test_two_rules_for_the_same_packets_are_refused(rack: Rack, make_rule: MakeRule) -> None:
    with pytest.raises(Refused) as refusal:
        compile_rules(rack, make_rule("classify", id="one"), make_rule("classify", id="two"))
    assert [(fault.pointer, "one" in fault.detail) for fault in refusal.value.faults] == [("/rules/1", True)]


def test_more_than_the_switch_holds_is_refused(rack: Rack, make_rule: MakeRule) -> None:
    rack["switches"][0]["table_entries"] = 16
    rules = [make_rule("hop", hop=number) for number in range(1, 12)]
    with pytest.raises(Refused) as refusal:
        compile_rules(rack, *rules)
    assert refusal.value.faults[0].pointer == "/rules"
