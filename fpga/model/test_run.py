# SPDX-License-Identifier: Apache-2.0
"""The command line of the golden models, on captures created here."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

from model.flow_table import crc32c
from tb.common.frames import ACK, SYN, tcp, udp

FPGA = Path(__file__).resolve().parents[1]
A, B = 0x0A000001, 0xC0000201


def capture(path: Path, frames: list[tuple[int, bytes]]) -> Path:
    """A pcap file of frames with their times in µs."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    records = [struct.pack("<IIII", us // 1_000_000, us % 1_000_000, len(f), len(f)) + f for us, f in frames]
    path.write_bytes(head + b"".join(records))
    return path


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "model.run", *map(str, arguments)]
    return subprocess.run(command, cwd=FPGA, capture_output=True, text=True, check=False)


def lines(*arguments: str | Path) -> list[dict[str, Any]]:
    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_crc32c_check_value() -> None:
    assert crc32c(b"123456789") == 0xE3069283


def test_firewall(tmp_path: Path) -> None:
    config = tmp_path / "c.json"
    config.write_text(json.dumps({"idle_timeout_s": 1, "rules": [{"action": "deny", "protocol": 17}]}))
    frames = [
        (0, tcp(A, B, 1, 80, SYN)),
        (10, tcp(B, A, 80, 1, SYN | ACK)),
        (15, tcp(A, B, 1, 80, ACK)),
        (20, udp(A, B, 1, 53)),
        (5_000_000, tcp(A, B, 1, 80, ACK)),
        (5_000_001, bytes(2049)),
    ]
    got = lines(
        "stateful-firewall", "--config", config, "--direction-by-address", "10.0.0.0/8", capture(tmp_path / "p", frames)
    )
    assert [line["verdict"] for line in got] == ["forward", "forward", "forward", "drop", "drop", "drop"]
    assert [line.get("drop_reason") for line in got] == [None, None, None, "denied", "no-state", "oversize"]


def test_elephant(tmp_path: Path) -> None:
    config = tmp_path / "c.json"
    config.write_text(json.dumps({"threshold_bytes": 100}))
    frames = [(0, tcp(A, B, 1, 80, ACK, bytes(20))), (1000, tcp(A, B, 1, 80, ACK))]
    got = lines("elephant-detector", "--config", config, capture(tmp_path / "p", frames))
    assert [line["class"] for line in got] == [1, 2]
    assert got[1]["events"] == [{"key": "0a000001c000020100010050" + "06", "bytes": 100, "age_ms": 1}]


def test_nat(tmp_path: Path) -> None:
    config = tmp_path / "c.json"
    translation = {"protocol": 6, "inside": "10.0.0.1", "inside_port": 1, "outside": "198.18.0.1", "outside_port": 2}
    config.write_text(json.dumps({"translations": [translation]}))
    frames = [(0, tcp(A, B, 1, 80, ACK)), (1, tcp(A, B, 7, 80, ACK))]
    got = lines("nat", "--config", config, capture(tmp_path / "p", frames))
    assert got[0]["out_hex"] == tcp(0xC6120001, B, 2, 80, ACK).hex()
    assert got[1]["verdict"] == "wait"


def test_crypto_tunnel(tmp_path: Path) -> None:
    """What one end seals, the other opens."""
    near, far = tmp_path / "near.json", tmp_path / "far.json"
    near.write_text(json.dumps({"key": "5f" * 32}))
    far.write_text(json.dumps({"key": "5f" * 32, "local": "192.0.2.2", "peer": "192.0.2.1", "decrypts": True}))
    frame = tcp(A, B, 1, 80, ACK, b"payload")
    [sealed] = lines("crypto-tunnel", "--config", near, capture(tmp_path / "p", [(0, frame)]))
    twice = [(0, bytes.fromhex(sealed["out_hex"]))] * 2
    opened = lines("crypto-tunnel", "--config", far, capture(tmp_path / "q", twice))
    assert opened[0]["out_hex"] == frame.hex()
    assert opened[1]["drop_reason"] == "replayed"


def test_errors_name_the_field(tmp_path: Path) -> None:
    config = tmp_path / "c.json"
    config.write_text('{"no_such_key": 1}')
    result = run("nat", "--config", config, capture(tmp_path / "p", []))
    assert result.returncode == 1 and "no_such_key" in result.stderr
    (tmp_path / "q").write_bytes(b"hello")
    assert "capture" in run("nat", tmp_path / "q").stderr
