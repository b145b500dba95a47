# SPDX-License-Identifier: Apache-2.0
"""The command line of the golden models that read payloads or count SYNs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from model.test_run import A, B, capture, lines
from tb.common.frames import ACK, SYN, tcp


def configured(path: Path, config: dict[str, object]) -> Path:
    path.write_text(json.dumps(config))
    return path


def test_sqli(tmp_path: Path) -> None:
    config = configured(tmp_path / "c", {"ports": [8080], "drop": True})
    texts = [(8080, b"q=1;DROP%20TABLE users"), (80, b"q=1;drop table users"), (8080, b"q=drop")]
    frames = [(n, tcp(A, B, 1, port, ACK, text)) for n, (port, text) in enumerate(texts)]
    got = lines("sqli-detector", "--config", config, capture(tmp_path / "p", frames))
    assert [line["verdict"] for line in got] == ["drop", "forward", "forward"]
    assert got[0]["events"] == [{"patterns": ["stacked-drop"]}]
    assert [line["class"] for line in got[1:]] == [1, 1]


def test_ddos(tmp_path: Path) -> None:
    config = configured(tmp_path / "c", {"window_ms": 10, "minimum": 5})
    frames = [(n, tcp(A, B, n, 80, SYN)) for n in range(6)]
    frames += [(us, tcp(A, B, 1, 80, SYN)) for us in (9_999, 10_000, 40_000)]
    got = lines("ddos-detector", "--config", config, capture(tmp_path / "p", frames))
    assert [line["class"] for line in got] == [1] * 7 + [2, 1]
    assert got[7]["events"] == [{"event": "flagged", "address": "192.0.2.1", "count": 7, "mean": 7}]
    assert [event["event"] for event in got[8]["events"]] == ["cleared"]


def test_crypto(tmp_path: Path) -> None:
    path = capture(tmp_path / "p", [(0, bytes(16)), (1, b"abc")])
    key = configured(
        tmp_path / "c", {"key": "2b7e151628aed2a6abf7158809cf4f3c", "counter": "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"}
    )
    assert lines("aes-ctr", "--config", key, path)[0]["out_hex"] == "ec8cdf7398607cb0f2d21675ea9ea1e4"
    assert lines("sha256-hmac", path)[1]["out_hex"] == hashlib.sha256(b"abc").hexdigest()
