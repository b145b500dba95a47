# SPDX-License-Identifier: Apache-2.0
"""Golden model of rtl/nf_stateful_firewall."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Network

from model.flow_table import FlowTable
from model.packet import TCP, Headers, parse
from model.verdict import FORWARD, Verdict, drop, flow_key

NONE, OPENING, ESTABLISHED, CLOSING = range(4)
ON_SYN, ON_OTHER, ON_FIN, ON_RST = range(4)
FIN, SYN, RST, ACK = 1, 2, 4, 16
# The module's key after reset.
HASH_KEY = 0x6D5A56DA_255B0EC2_4167253D_43A38FB0

# {state, event} -> (next state, drop), at state * 4 + event (fpga/README.md).
DEFAULT_TRANSITIONS = [
    *[(OPENING, False), (NONE, True), (NONE, True), (NONE, True)],
    *[(OPENING, False), (ESTABLISHED, False), (CLOSING, False), (NONE, False)],
    *[(ESTABLISHED, False), (ESTABLISHED, False), (CLOSING, False), (NONE, False)],
    *[(OPENING, False), (CLOSING, False), (CLOSING, False), (NONE, False)],
]


ANYWHERE = IPv4Network("0.0.0.0/0")


@dataclass(frozen=True)
class Rule:
    allow: bool
    source: IPv4Network = ANYWHERE
    destination: IPv4Network = ANYWHERE
    protocol: int | None = None
    ports: tuple[int, int] = (0, 65535)  # of the destination

    def matches(self, headers: Headers) -> bool:
        return (
            headers.src_ip & int(self.source.netmask) == int(self.source.network_address)
            and headers.dst_ip & int(self.destination.netmask) == int(self.destination.network_address)
            and self.protocol in (None, headers.protocol)
            and self.ports[0] <= headers.dst_port <= self.ports[1]
        )


def event_of(flags: int, known: bool) -> int:
    if flags & RST:
        return ON_RST
    if flags & FIN:
        return ON_FIN
    return ON_SYN if flags & SYN and (known or not flags & ACK) else ON_OTHER


def connections(hash_key: int = HASH_KEY) -> FlowTable[int]:
    return FlowTable(is_transitory=lambda state: state in (OPENING, CLOSING), hash_key=hash_key)


@dataclass
class StatefulFirewall:
    rules: list[Rule] = field(default_factory=list)
    default_allow: bool = True
    idle_timeout_s: int = 300
    transitory_timeout_s: int = 30
    transitions: list[tuple[int, bool]] = field(default_factory=lambda: list(DEFAULT_TRANSITIONS))
    flows: FlowTable[int] = field(default_factory=connections)

    def allows(self, headers: Headers) -> bool:
        return next((rule.allow for rule in self.rules if rule.matches(headers)), self.default_allow)

    def process(self, frame: bytes, direction: int = FORWARD, now_s: int = 0) -> Verdict:
        headers = parse(frame)
        if headers.malformed:
            return drop("malformed")
        passes = Verdict(frame=frame)
        if not headers.is_ipv4:
            return passes
        if not (headers.transport and headers.protocol == TCP):
            return passes if self.allows(headers) else drop("denied")

        self.flows.idle_timeout_s = self.idle_timeout_s
        self.flows.transitory_timeout_s = self.transitory_timeout_s
        key = flow_key(headers, direction)
        entry = self.flows.find(key, now_s)
        state = entry.value if entry is not None else NONE
        next_state, dropped = self.transitions[state * 4 + event_of(headers.tcp_flags, state != NONE)]
        if state != NONE:
            if next_state == NONE:
                self.flows.delete(key, now_s)
            else:
                self.flows.put(key, next_state, now_s)
            return drop("no-state") if dropped else passes
        if dropped:
            return drop("no-state")
        if not self.allows(headers):
            return drop("denied")
        if next_state != NONE and not self.flows.put(key, next_state, now_s):
            return drop("table-full")
        return passes
