# SPDX-License-Identifier: Apache-2.0
"""Compiled matches against an oracle that evaluates the terms themselves."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from orrery_twin.contract.models import MatchTerm
from orrery_twin.domain.match import MATCHES_MAX, Untranslatable, compile_terms

TERMS: TypeAdapter[list[MatchTerm]] = TypeAdapter(list[MatchTerm])


@dataclass(frozen=True)
class Packet:
    src: int
    dst: int
    proto: int
    src_port: int
    dst_port: int
    fragment: bool

    @property
    def has_ports(self) -> bool:
        return self.proto in (6, 17) and not self.fragment


def holds(term: dict[str, Any], packet: Packet) -> bool:
    field = term["field"]
    if field in ("ip.src", "ip.dst"):
        address = packet.src if field == "ip.src" else packet.dst
        result = IPv4Address(address) in IPv4Network(term["prefix"], strict=False)
    elif field == "ip.proto":
        result = packet.proto == term["value"]
    else:
        port = packet.src_port if field == "port.src" else packet.dst_port
        result = packet.has_ports and term["lo"] <= port <= term["hi"]
    return result != term.get("not", False)


def matches(text: str, packet: Packet) -> bool:
    """As Open vSwitch reads it, with reg0 holding the protocol number."""
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name in ("ip", "tcp", "udp"):
            ok = {"ip": True, "tcp": packet.proto == 6, "udp": packet.proto == 17}[name]
        elif name == "ip_frag":
            ok = packet.fragment == (value == "yes")
        elif name in ("nw_src", "nw_dst"):
            ok = IPv4Address(packet.src if name == "nw_src" else packet.dst) in IPv4Network(value)
        elif name == "nw_proto":
            ok = packet.proto == int(value)
        else:
            assert name in ("reg0", "tp_src", "tp_dst")
            actual = {"reg0": packet.proto, "tp_src": packet.src_port, "tp_dst": packet.dst_port}[name]
            wanted, _, mask = value.partition("/")
            ok = actual & (int(mask, 0) if mask else 0xFFFF) == int(wanted, 0)
        if not ok:
            return False
    return True


addresses = st.sampled_from([0, 0x0A000101, 0x0A000102, 0x0A000201, 0xC6120001, 0xFFFFFFFF]) | st.integers(0, 2**32 - 1)
ports = st.sampled_from([0, 79, 80, 81, 443, 1023, 1024, 65535]) | st.integers(0, 65535)
protocols = st.sampled_from([0, 1, 6, 17, 47, 132, 255])
packets = st.builds(Packet, addresses, addresses, protocols, ports, ports, st.booleans())
negation = {"not": st.booleans()}
prefixes = st.builds(lambda address, length: f"{IPv4Address(address)}/{length}", addresses, st.integers(0, 32))
terms = st.one_of(
    st.fixed_dictionaries({"field": st.sampled_from(["ip.src", "ip.dst"]), "prefix": prefixes, **negation}),
    st.fixed_dictionaries({"field": st.just("ip.proto"), "value": protocols, **negation}),
    st.fixed_dictionaries({"field": st.sampled_from(["port.src", "port.dst"]), "lo": ports, "hi": ports, **negation}),
)


@given(st.lists(terms, max_size=5), st.lists(packets, min_size=1, max_size=20))
@example([{"field": "port.dst", "lo": 80, "hi": 80, "not": True}], [Packet(0, 0, 1, 0, 0, False)])
@example([{"field": "port.dst", "lo": 0, "hi": 1023, "not": False}], [Packet(0, 0, 6, 0, 0, True)])
def test_exactly_one_match_holds_when_all_terms_hold(terms: list[dict[str, Any]], packets: list[Packet]) -> None:
    try:
        compiled = compile_terms(TERMS.validate_python(terms))
    except Untranslatable:
        assume(False)
    for packet in packets:
        expected = all(holds(term, packet) for term in terms)
        assert sum(matches(match, packet) for match in compiled) == int(expected), (packet, compiled)


def test_no_terms_match_all_of_ip() -> None:
    assert compile_terms([]) == ["ip"]


def test_a_web_server_needs_one_entry() -> None:
    compiled = compile_terms(
        TERMS.validate_python([{"field": "ip.proto", "value": 6}, {"field": "port.dst", "lo": 80, "hi": 80}])
    )
    assert compiled == ["tcp,ip_frag=no,tp_dst=80"]


def test_metadata_is_refused_at_its_place() -> None:
    terms = TERMS.validate_python(
        [{"field": "ip.proto", "value": 6}, {"field": "metadata", "offset": 0, "width": 1, "value": 1}]
    )
    with pytest.raises(Untranslatable) as refusal:
        compile_terms(terms)
    assert refusal.value.index == 1


def test_a_rule_that_would_fill_the_switch_is_refused() -> None:
    wide = [{"field": "port.src", "lo": 1, "hi": 65534}, {"field": "port.dst", "lo": 1, "hi": 65534}]
    narrow = [{"field": "ip.src", "prefix": "10.0.0.1/32", "not": True}]
    with pytest.raises(Untranslatable) as refusal:
        compile_terms(TERMS.validate_python(wide + narrow))
    assert str(MATCHES_MAX) in refusal.value.detail


def test_contradicting_terms_match_nothing() -> None:
    terms = [{"field": "ip.proto", "value": 6}, {"field": "ip.proto", "value": 17}]
    assert compile_terms(TERMS.validate_python(terms)) == []
