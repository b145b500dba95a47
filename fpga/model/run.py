# SPDX-License-Identifier: Apache-2.0
"""Run a golden model over a capture: one JSON line per frame, {index, verdict, drop_reason, class, out_hex, events}.

Usage: python -m model.run MODULE [--config FILE] [--direction-by-address PREFIX] CAPTURE

`verdict` is "forward", "drop" or "wait"; `out_hex` is present if the frame leaves changed. Board time is the time since
the first frame of the capture.
Frames whose source address is within PREFIX go forward, other IPv4 frames are returns; without PREFIX all go forward.
If a config has `translations`, NAT starts with them; a frame that waits keeps waiting.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from model.aes_ctr import AesCtr
from model.crypto_tunnel import CryptoTunnel, Tunnel
from model.ddos_detector import EVENT_FLAGGED, DdosDetector
from model.elephant_detector import ElephantDetector
from model.nat import End, Nat
from model.packet import FRAME_BYTES_MAX, parse
from model.sha256_hmac import Sha256Hmac
from model.sqli_detector import PATTERNS, SqliDetector
from model.stateful_firewall import Rule, StatefulFirewall
from model.verdict import FORWARD, RETURN, Verdict, drop


class InputError(Exception):
    """A configuration or capture that cannot be used."""


def read_capture(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Time in ns and bytes of each frame of a pcap file."""
    magics = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
    for order in "<>":
        if len(data) >= 24 and (unit_ns := magics.get(struct.unpack(f"{order}I", data[:4])[0])):
            break
    else:
        raise InputError("capture: is not a pcap file")
    link = struct.unpack(f"{order}I", data[20:24])[0]
    if link != 1:
        raise InputError(f"capture: link type {link} is not Ethernet")
    at = 24
    while at < len(data):
        if at + 16 > len(data):
            raise InputError("capture: ends within a record")
        seconds, fraction, kept, length = struct.unpack(f"{order}IIII", data[at : at + 16])
        if kept != length or at + 16 + kept > len(data):
            raise InputError("capture: a frame is truncated")
        yield seconds * 1_000_000_000 + fraction * unit_ns, data[at + 16 : at + 16 + kept]
        at += 16 + kept


@dataclass(frozen=True)
class Time:
    """Board time at which a frame arrives."""

    us: int

    @property
    def ms(self) -> int:
        return self.us // 1000

    @property
    def s(self) -> int:
        return self.us // 1_000_000


Process = Callable[[bytes, int, Time], tuple[Verdict, list[dict[str, Any]]]]


def _prefix(text: str, where: str) -> IPv4Network:
    try:
        return IPv4Network(text)
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None


def _take(config: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(config) - set(defaults))
    if unknown:
        raise InputError(f"config: unknown {', '.join(unknown)}")
    return defaults | config


def stateful_firewall(config: dict[str, Any]) -> Process:
    c = _take(config, {"default_action": "allow", "idle_timeout_s": 300, "rules": []})
    rules = [
        Rule(
            allow=rule["action"] == "allow",
            source=_prefix(rule.get("source", "0.0.0.0/0"), f"config: rules[{n}].source"),
            destination=_prefix(rule.get("destination", "0.0.0.0/0"), f"config: rules[{n}].destination"),
            protocol=rule.get("protocol"),
            ports=(rule.get("port_first", 0), rule.get("port_last", 65535)),
        )
        for n, rule in enumerate(c["rules"])
    ]
    if len(rules) > 16:
        raise InputError("config: rules: at most 16")
    firewall = StatefulFirewall(rules, c["default_action"] == "allow", c["idle_timeout_s"])
    return lambda frame, direction, now: (firewall.process(frame, direction, now.s), [])


def elephant_detector(config: dict[str, Any]) -> Process:
    c = _take(config, {"threshold_bytes": 1 << 20, "window_ms": 1000, "idle_timeout_s": 60})
    detector = ElephantDetector(c["threshold_bytes"], c["window_ms"], c["idle_timeout_s"])

    def process(frame: bytes, direction: int, now: Time) -> tuple[Verdict, list[dict[str, Any]]]:
        detector.events.clear()
        verdict = detector.process(frame, direction, now.ms, now.s)
        return verdict, [asdict(event) | {"key": event.key.hex()} for event in detector.events]

    return process


def nat(config: dict[str, Any]) -> Process:
    c = _take(config, {"translations": []})
    table = Nat()
    for n, t in enumerate(c["translations"]):
        inside = End(int(IPv4Address(t["inside"])), t["inside_port"])
        outside = End(int(IPv4Address(t["outside"])), t["outside_port"])
        if not table.put(t["protocol"], inside, outside):
            raise InputError(f"config: translations[{n}]: has another partner, or its set is full")

    def process(frame: bytes, direction: int, now: Time) -> tuple[Verdict, list[dict[str, Any]]]:
        table.events.clear()
        verdict = table.process(frame, direction, now.s, now.ms)
        names = ("source", "destination", "ports", "protocol")
        return verdict, [dict(zip(names, event, strict=True)) for event in table.events]

    return process


def sqli_detector(config: dict[str, Any]) -> Process:
    c = _take(config, {"ports": [80], "drop": False})
    detector = SqliDetector(tuple(c["ports"]), c["drop"])

    def process(frame: bytes, direction: int, now: Time) -> tuple[Verdict, list[dict[str, Any]]]:
        detector.events.clear()
        verdict = detector.process(frame, direction)
        hits = [pattern.name for event in detector.events for n, pattern in enumerate(PATTERNS) if event[4] >> n & 1]
        return verdict, [{"patterns": hits}] if hits else []

    return process


def ddos_detector(config: dict[str, Any]) -> Process:
    c = _take(config, {"window_ms": 1000, "minimum": 32, "deviations": 3, "drop": False})
    detector = DdosDetector(c["minimum"], int(c["deviations"] * 4), c["drop"], c["window_ms"])

    def process(frame: bytes, direction: int, now: Time) -> tuple[Verdict, list[dict[str, Any]]]:
        detector.events.clear()
        detector.advance(now.ms)
        events = [
            {
                "event": "flagged" if kind == EVENT_FLAGGED else "cleared",
                "address": str(IPv4Address(address)),
                "count": count,
                "mean": mean,
            }
            for kind, address, count, mean, *_ in detector.events
        ]
        return detector.process(frame, direction), events

    return process


def crypto_tunnel(config: dict[str, Any]) -> Process:
    defaults = {
        "key": "00" * 32,
        "local": "192.0.2.1",
        "peer": "192.0.2.2",
        "decrypts": False,
        "next_session": 1,
        "iv": 0,
    }
    c = _take(config, defaults)
    ends = (int(IPv4Address(c[name])) for name in ("local", "peer"))
    tunnel = Tunnel(bytes.fromhex(c["key"]), *ends, protects=int(c["decrypts"]))
    end = CryptoTunnel(tunnel, c["next_session"], c["iv"])
    return lambda frame, direction, now: (end.process(frame, direction), [])


def aes_ctr(config: dict[str, Any]) -> Process:
    c = _take(config, {"key": "00" * 16, "counter": "00" * 16})
    cipher = AesCtr(bytes.fromhex(c["key"]), int(c["counter"], 16))
    return lambda frame, direction, now: (cipher.process(frame, direction), [])


def sha256_hmac(config: dict[str, Any]) -> Process:
    c = _take(config, {"hmac_key": None})
    function = Sha256Hmac(None if c["hmac_key"] is None else bytes.fromhex(c["hmac_key"]))
    return lambda frame, direction, now: (function.process(frame, direction), [])


MODULES: dict[str, Callable[[dict[str, Any]], Process]] = {
    "stateful-firewall": stateful_firewall,
    "elephant-detector": elephant_detector,
    "nat": nat,
    "sqli-detector": sqli_detector,
    "ddos-detector": ddos_detector,
    "crypto-tunnel": crypto_tunnel,
    "aes-ctr": aes_ctr,
    "sha256-hmac": sha256_hmac,
}


def line_of(index: int, frame: bytes, verdict: Verdict, events: list[dict[str, Any]]) -> dict[str, Any]:
    line: dict[str, Any] = {"index": index, "verdict": "forward", "class": verdict.frame_class}
    if verdict.drop_reason is not None:
        line |= {"verdict": "drop", "drop_reason": verdict.drop_reason}
    elif verdict.waits:
        line["verdict"] = "wait"
    elif verdict.frame != frame:
        line["out_hex"] = verdict.frame.hex()
    if events:
        line["events"] = events
    return line


def direction_of(frame: bytes, inside: IPv4Network | None) -> int:
    headers = parse(frame)
    if inside is None or not headers.is_ipv4 or IPv4Address(headers.src_ip) in inside:
        return FORWARD
    return RETURN


def run(module: str, config: dict[str, Any], capture: bytes, inside: IPv4Network | None) -> Iterator[dict[str, Any]]:
    process = MODULES[module](config)
    start_ns = None
    for index, (at_ns, frame) in enumerate(read_capture(capture)):
        start_ns = at_ns if start_ns is None else start_ns
        if len(frame) > FRAME_BYTES_MAX:
            yield line_of(index, frame, drop("oversize"), [])
            continue
        verdict, events = process(frame, direction_of(frame, inside), Time((at_ns - start_ns) // 1000))
        yield line_of(index, frame, verdict, events)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", choices=sorted(MODULES))
    parser.add_argument("--config", type=Path)
    parser.add_argument("--direction-by-address", metavar="PREFIX")
    parser.add_argument("capture", type=Path)
    options = parser.parse_args()
    try:
        config = json.loads(options.config.read_text()) if options.config else {}
        by_address = options.direction_by_address
        inside = _prefix(by_address, "--direction-by-address") if by_address else None
        for line in run(options.module, config, options.capture.read_bytes(), inside):
            print(json.dumps(line))
    except (InputError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
