# SPDX-License-Identifier: Apache-2.0
"""From the terms of a rule to OpenFlow matches.

A term on a port holds only for an unfragmented TCP or UDP packet; a negated term holds wherever the term does not
(so "not port 80" holds for ICMP). The fabric copies the protocol number to REG_PROTOCOL, because OpenFlow matches
`nw_proto` exactly or not at all, and a register under a mask.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from itertools import product

from orrery_twin.contract.models import MatchTerm, MatchTermIpDst, MatchTermIpProto, MatchTermIpSrc, MatchTermMetadata
from orrery_twin.domain.intervals import Block, IntervalSet

TCP, UDP = 6, 17
PORT_PROTOCOLS = {TCP: "tcp", UDP: "udp"}
REG_PROTOCOL = "reg0"
MATCHES_MAX = 4096
"""Matches of one rule; more would fill the switch with one pipeline's class."""


class Untranslatable(Exception):
    """The term at `index` (None: the terms together) has no form in this switch."""

    def __init__(self, index: int | None, detail: str) -> None:
        super().__init__(detail)
        self.index = index
        self.detail = detail


def compile_terms(terms: list[MatchTerm]) -> list[str]:
    """Disjoint OpenFlow matches, each beginning with the protocol, that together hold where all terms hold."""
    source, destination, protocol = IntervalSet.full(32), IntervalSet.full(32), IntervalSet.full(8)
    ports = {"src": IntervalSet.full(16), "dst": IntervalSet.full(16)}
    needs_ports = False
    for index, term in enumerate(terms):
        if isinstance(term, MatchTermMetadata):
            raise Untranslatable(index, "the switch cannot match metadata: only a hop's engine knows it")
        if isinstance(term, MatchTermIpSrc):
            source = source.intersect(_signed(_prefix(term.prefix), term.not_))
        elif isinstance(term, MatchTermIpDst):
            destination = destination.intersect(_signed(_prefix(term.prefix), term.not_))
        elif isinstance(term, MatchTermIpProto):
            protocol = protocol.intersect(_signed(IntervalSet.of(8, term.value, term.value), term.not_))
        else:
            side = term.field.removeprefix("port.")
            ports[side] = ports[side].intersect(_signed(IntervalSet.of(16, term.lo, term.hi), term.not_))
            needs_ports = needs_ports or not term.not_

    matches_ports = any(isinstance(term.field, str) and term.field.startswith("port.") for term in terms)
    heads = list(_protocol_heads(protocol, ports, matches_ports, needs_ports))
    addresses = [
        [*_address("nw_src", source_block), *_address("nw_dst", destination_block)]
        for source_block, destination_block in product(source.blocks(), destination.blocks())
    ]
    if len(heads) * len(addresses) > MATCHES_MAX:
        raise Untranslatable(None, f"needs {len(heads) * len(addresses)} switch entries; a rule may have {MATCHES_MAX}")
    return [",".join([*head, *address]) for head, address in product(heads, addresses)]


def _protocol_heads(
    protocol: IntervalSet, ports: dict[str, IntervalSet], matches_ports: bool, needs_ports: bool
) -> Iterator[list[str]]:
    if not matches_ports:
        yield from _protocols_without_ports(protocol, [])
        return
    with_ports = IntervalSet(8, tuple((number, number) for number in PORT_PROTOCOLS if number in protocol))
    for number, _ in with_ports.intervals:
        for source_block, destination_block in product(ports["src"].blocks(), ports["dst"].blocks()):
            terms = [*_port("tp_src", source_block), *_port("tp_dst", destination_block)]
            yield [PORT_PROTOCOLS[number], "ip_frag=no", *terms]
    if needs_ports:
        return
    yield from _protocols_without_ports(protocol.intersect(with_ports.complement()), [])
    for number, _ in with_ports.intervals:
        yield [PORT_PROTOCOLS[number], "ip_frag=yes"]


def _protocols_without_ports(protocol: IntervalSet, terms: list[str]) -> Iterator[list[str]]:
    if protocol.is_full:
        yield ["ip", *terms]
        return
    for block in protocol.blocks():
        if block.mask == 0xFF:
            yield ["ip", f"nw_proto={block.value}", *terms]
        else:
            yield ["ip", f"{REG_PROTOCOL}={block.value:#x}/{block.mask:#x}", *terms]


def _signed(numbers: IntervalSet, negate: bool) -> IntervalSet:
    return numbers.complement() if negate else numbers


def _prefix(text: str) -> IntervalSet:
    network = IPv4Network(text, strict=False)
    return IntervalSet.of(32, int(network.network_address), int(network.broadcast_address))


def _address(field: str, block: Block) -> list[str]:
    if block.mask == 0:
        return []
    return [f"{field}={IPv4Address(block.value)}/{block.mask.bit_count()}"]


def _port(field: str, block: Block) -> list[str]:
    if block.mask == 0:
        return []
    return [f"{field}={block.value}" if block.mask == 0xFFFF else f"{field}={block.value:#x}/{block.mask:#x}"]
