# SPDX-License-Identifier: Apache-2.0
"""From a fabric spec to OpenFlow 1.5 flows and select groups for every switch.

Table 0 admits, table 1 steers (`classify` and `return` rules), table 2 routes by destination address.

- From a host's port everything goes to table 1; the source MAC becomes the host's own, so no host can forge the
  ingress time that engines read from it.
- A frame tagged with a hop goes to that hop's server, also back through the port it came from.
- Other frames are admitted only when addressed to the gateway: they left a chain, or cross from another switch.

A `return` rule also takes frames that left a chain, and may send them to the server they came from. It decrements the
TTL as a router does, so a data plane that never restores the address cannot make a packet circle for ever.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from orrery_twin.contract.models import DirectAttribute, FabricRule, FabricSpec, Infrastructure, Target
from orrery_twin.domain.match import REG_PROTOCOL, Untranslatable, compile_terms
from orrery_twin.domain.refusal import FieldFault, Refused, pointer
from orrery_twin.domain.topology import GATEWAY_MAC, BuildPlan, SwitchPlan, next_ports

ADMIT, STEER, ROUTE = 0, 1, 2
FROM_HOST = "reg1=0x1"
HASH_FIELDS: dict[DirectAttribute, list[str]] = {
    "ip.src": ["ip_src"],
    "ip.dst": ["ip_dst"],
    "ip.proto": ["nw_proto"],
    "port.src": ["tcp_src", "udp_src"],
    "port.dst": ["tcp_dst", "udp_dst"],
}
"""A field that a packet does not have is left out of its hash."""

NO_IN_PORT = "set_field:ANY->in_port"
"""OpenFlow never outputs to the port a packet came from; a packet that came from nowhere may go anywhere."""

COPY_PROTOCOL = f"move:NXM_OF_IP_PROTO[]->NXM_NX_{REG_PROTOCOL.upper()}[0..7]"


@dataclass
class SwitchProgram:
    """Whole content of one switch: flows as `ovs-ofctl` reads them, groups by number."""

    flows: list[str] = field(default_factory=list)
    groups: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FabricProgram:
    generation: int
    switches: dict[str, SwitchProgram]
    """By bridge."""
    rule_of_cookie: dict[int, str]


def tag_mac(hop: int) -> str:
    """Destination MAC of a packet on its way to a hop, with no metadata set."""
    return f"02:0e:{hop >> 8:02x}:{hop & 0xFF:02x}:00:00"


def cookie_of(rule_id: str) -> int:
    return int.from_bytes(hashlib.sha256(rule_id.encode()).digest()[:8], "big") | 1


def compile_fabric(infrastructure: Infrastructure, plan: BuildPlan, spec: FabricSpec) -> FabricProgram:
    """Raises Refused, naming every rule field at fault; pointers are into the spec."""
    compiler = _Compiler(plan)
    for switch in plan.switches:
        compiler.add_base(switch)
    for index, rule in enumerate(spec.rules):
        compiler.add_rule(index, rule)
    nodes = {node.id: node for node in infrastructure.switches}
    for switch in plan.switches:
        node = nodes[switch.id]
        count = len(compiler.programs[switch.bridge].flows)
        if count > node.table_entries:
            compiler.faults.append(
                FieldFault(pointer("rules"), f"{switch.id} needs {count} entries and has {node.table_entries}")
            )
    if compiler.faults:
        raise Refused("the fabric cannot carry these rules", compiler.faults)
    cookies = {cookie_of(rule.id): rule.id for rule in spec.rules}
    return FabricProgram(spec.generation, compiler.programs, cookies)


class _Compiler:
    def __init__(self, plan: BuildPlan) -> None:
        self.plan = plan
        self.ports = next_ports(plan)
        self.programs = {switch.bridge: SwitchProgram() for switch in plan.switches}
        self.faults: list[FieldFault] = []
        self.owner: dict[tuple[str, int, int, str], str] = {}
        self.kinds = {node.id: node.kind for node in plan.nodes}

    def add_base(self, switch: SwitchPlan) -> None:
        for near, far in self.plan.ends_at(switch.id):
            host = self.plan.node(far.node)
            if host is None or host.address is None:
                continue
            actions = f"{COPY_PROTOCOL},set_field:0x1->reg1,set_field:{host.mac}->eth_src,goto_table:{STEER}"
            self._flow(switch, ADMIT, 400, f"ip,in_port={near.port}", actions)
            deliver = f"set_field:{host.mac}->eth_dst,output:{near.port}"
            self._flow(switch, ROUTE, 200, f"ip,nw_dst={host.address}", deliver)
        for node in self.plan.nodes:
            link = self.plan.link_of(node.id)
            if node.address and link and link.near.node != switch.id and node.id in self.ports[switch.id]:
                onward = f"set_field:{GATEWAY_MAC}->eth_dst,output:{self.ports[switch.id][node.id]}"
                self._flow(switch, ROUTE, 200, f"ip,nw_dst={node.address}", onward)
        self._flow(switch, ADMIT, 200, f"ip,dl_dst={GATEWAY_MAC}", f"{COPY_PROTOCOL},goto_table:{STEER}")
        self._flow(switch, STEER, 0, "", f"goto_table:{ROUTE}")

    def add_rule(self, index: int, rule: FabricRule) -> None:
        if not self._names_known(index, rule):
            return
        if rule.kind == "hop":
            self._add_hop(index, rule)
            return
        try:
            matches = compile_terms(rule.match)
        except Untranslatable as problem:
            term = "" if problem.index is None else f"/{problem.index}"
            self.faults.append(FieldFault(pointer("rules", index, "match") + term, problem.detail))
            return
        for switch in self.plan.switches:
            actions = self._steer(switch, rule)
            if actions is None:
                continue
            for origin in self._origins(switch, rule):
                for match in matches:
                    whole = f"{match},{origin}" if origin else match
                    self._flow(switch, STEER, rule.priority, whole, actions, index, rule)

    def _add_hop(self, index: int, rule: FabricRule) -> None:
        if rule.hop is None:
            self.faults.append(FieldFault(pointer("rules", index, "hop"), "a hop rule names its hop"))
            return
        if rule.match:
            self.faults.append(FieldFault(pointer("rules", index, "match"), "a hop rule matches only its hop"))
            return
        if len(rule.targets) > 1:
            self.faults.append(FieldFault(pointer("rules", index, "targets"), "a hop is at one server"))
            return
        for switch in self.plan.switches:
            port = self.ports[switch.id].get(rule.targets[0].server)
            if port is None:
                continue
            match = f"dl_dst={tag_mac(rule.hop)}/ff:ff:ff:ff:00:00"
            self._flow(switch, ADMIT, 300, match, f"{NO_IN_PORT},output:{port}", index, rule)

    def _names_known(self, index: int, rule: FabricRule) -> bool:
        before = len(self.faults)
        for place, host in enumerate(rule.from_hosts):
            if self.kinds.get(host) != "host":
                self.faults.append(FieldFault(pointer("rules", index, "from_hosts", place), f"there is no host {host}"))
        for place, target in enumerate(rule.targets):
            where = pointer("rules", index, "targets", place)
            if self.kinds.get(target.server) != "server":
                self.faults.append(FieldFault(where + "/server", f"there is no server {target.server}"))
            if target.range.lo >= target.range.hi:
                self.faults.append(FieldFault(where + "/range", "lo must be below hi"))
        return len(self.faults) == before

    def _origins(self, switch: SwitchPlan, rule: FabricRule) -> Iterator[str]:
        if rule.from_hosts:
            for near, far in self.plan.ends_at(switch.id):
                if far.node in rule.from_hosts:
                    yield f"in_port={near.port}"
        elif rule.kind == "classify":
            yield FROM_HOST
        else:
            yield ""

    def _steer(self, switch: SwitchPlan, rule: FabricRule) -> str | None:
        ports = self.ports[switch.id]
        reachable = [target for target in rule.targets if target.server in ports]
        if not reachable:
            return None
        before = f"dec_ttl,{NO_IN_PORT}," if rule.kind == "return" else ""
        if len(reachable) == 1:
            return before + _to(reachable[0], ports)
        fields = [name for key in rule.key or list(HASH_FIELDS) for name in HASH_FIELDS[key]]
        body = f"type=select,selection_method=hash,fields({','.join(fields)})"
        for number, target in enumerate(reachable):
            weight = target.range.hi - target.range.lo
            body += f",bucket=bucket_id:{number},weight:{weight},actions={_to(target, ports)}"
        # Numbered by content: a changed group is a new one, so flows move to it at once and never see half of it.
        group_id = int.from_bytes(hashlib.sha256(body.encode()).digest()[:4], "big") & 0x7FFFFFFF
        self.programs[switch.bridge].groups[group_id] = body
        return f"{before}group:{group_id}"

    def _flow(
        self,
        switch: SwitchPlan,
        table: int,
        priority: int,
        match: str,
        actions: str,
        index: int | None = None,
        rule: FabricRule | None = None,
    ) -> None:
        place = (switch.bridge, table, priority, ",".join(sorted(match.split(","))))
        if place in self.owner and index is not None:
            detail = f"matches the same packets at the same priority as {self.owner[place]}"
            self.faults.append(FieldFault(pointer("rules", index), detail))
            return
        self.owner[place] = rule.id if rule else "the fabric itself"
        cookie = cookie_of(rule.id) if rule else 0
        head = f"cookie={cookie:#x},table={table},priority={priority}"
        self.programs[switch.bridge].flows.append(
            f"{head},{match},actions={actions}" if match else f"{head},actions={actions}"
        )


def _to(target: Target, ports: dict[str, int]) -> str:
    return f"set_field:{tag_mac(target.hop)}->eth_dst,output:{ports[target.server]}"
