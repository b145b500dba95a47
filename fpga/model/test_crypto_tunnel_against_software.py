# SPDX-License-Identifier: Apache-2.0
"""The crypto tunnel's golden model against the engine's NF: the same bytes for every frame, and the same drops. The
model's session number and IV are those with which the software begins.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from model.crypto_tunnel import CryptoTunnel, Tunnel
from model.random_frames import is_for_software_alone
from model.tunnel_traffic import Record, near_end, traffic

REPLAY = Path(__file__).resolve().parents[2] / "agents/build/nfs/nf_replay"
FRAMES = 500
SETTINGS: dict[str, dict[str, Any]] = {
    "aes-128": {},
    "aes-256": {"is_256": True},
    "alone": {"udp": False, "clamp_mss": False, "mtu": 1400},
    "far end": {"protects": 1},
}
REASONS = {"malformed", "too_big", "not_protected", "unknown_session", "bad_icv", "replayed", None}


def software_config(tunnel: Tunnel) -> dict[str, Any]:
    near, far = str(IPv4Address(tunnel.local)), str(IPv4Address(tunnel.peer))
    if tunnel.protects:
        near, far = far, near
    return {
        "mode": "decrypt" if tunnel.protects else "encrypt",
        "key": tunnel.key.hex(),
        "near_address": near,
        "far_address": far,
        "cipher": "aes-256-ctr" if tunnel.is_256 else "aes-128-ctr",
        "encapsulation": "udp" if tunnel.udp else "none",
        "mtu": tunnel.mtu,
        "clamp_mss": tunnel.clamp_mss,
        "session_packets": tunnel.session_packets,
    }


def software(tunnel: Tunnel, records: list[Record]) -> list[tuple[str | None, bytes]]:
    """Drop reason, or the frame that leaves."""
    assert REPLAY.exists(), f"{REPLAY} is not built"
    asked = [{"time_ns": n, "return": bool(back), "frame": frame.hex()} for n, (back, frame) in enumerate(records)]
    command = [str(REPLAY), "crypto-tunnel", json.dumps(software_config(tunnel)), "-"]
    text = "".join(json.dumps(line) + "\n" for line in asked)
    lines = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    answers = [json.loads(line) for line in lines]
    return [(answer["drop_reason"], bytes.fromhex(answer["frame"] or "")) for answer in answers]


def first_session(tunnel: Tunnel, encrypted: bytes) -> tuple[int, int]:
    """Number and IV of the session of an encrypted frame without a tag."""
    esp = encrypted[14 + (28 if tunnel.udp else 20) :]
    return int.from_bytes(esp[:4], "big"), int.from_bytes(esp[8:16], "little")


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_model_and_software_send_the_same_bytes(settings: dict[str, Any]) -> None:
    tunnel = near_end(**settings)
    records = [record for record in traffic(tunnel, 1, FRAMES) if not is_for_software_alone(record[1])]
    answers = software(tunnel, records)
    model = CryptoTunnel(tunnel, *first_session(tunnel, answers[0][1]))
    seen: Counter[str | None] = Counter()
    for n, ((back, frame), (reason, out)) in enumerate(zip(records, answers, strict=True)):
        verdict = model.process(frame, back)
        assert (verdict.drop_reason, verdict.frame) == (reason, out), f"frame {n}: {frame.hex()}"
        seen[reason] += 1
    assert set(seen) >= REASONS, f"the traffic shows only {seen}"
    assert seen[None] > 0.4 * len(records)
