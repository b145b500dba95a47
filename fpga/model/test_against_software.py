# SPDX-License-Identifier: Apache-2.0
"""The golden models against the engine's NFs on the same captures: both decide alike on every frame.

The engine's side is `nf_replay`, which `ninja -C agents/build` makes; RTL is held to the models by the benches.
"""

from __future__ import annotations

import json
import random
import struct
import subprocess
from collections import Counter
from collections.abc import Callable
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from model.ddos_detector import DdosDetector
from model.elephant_detector import ElephantDetector
from model.random_frames import frame, turned
from model.sqli_detector import SqliDetector
from model.stateful_firewall import Rule, StatefulFirewall
from model.verdict import Verdict

REPLAY = Path(__file__).resolve().parents[2] / "agents/build/engine/nfs/nf_replay"
FRAMES = 4000
# Boards tell idle time in whole seconds, the engine exactly: no flow is idle for about as long as the timeout.
IDLE_TIMEOUT_S = 100
PAUSE_MS = 120_000
START_NS = 1_700_000_000 * 10**9

Record = tuple[int, int, bytes]  # ms, direction, frame
Step = Callable[[int, int, bytes], Verdict]


def traffic(seed: int) -> list[Record]:
    rng = random.Random(seed)
    ms = 0
    records: list[Record] = []
    for _ in range(FRAMES):
        ms += rng.choice([1, 1, 1, 3, 7, 40]) if rng.random() > 0.003 else PAUSE_MS + rng.randrange(1000)
        back = int(rng.random() < 0.25)
        whole = frame(rng)
        records.append((ms, back, turned(whole) if back else whole))
    return records


def write_pcap(path: Path, records: list[tuple[int, bytes]]) -> Path:
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for ms, whole in records:
            seconds, rest = divmod(START_NS + ms * 10**6, 10**9)
            out.write(struct.pack("<IIII", seconds, rest, len(whole), len(whole)) + whole)
    return path


def software(nf: str, config: dict[str, Any], records: list[Record], folder: Path) -> list[dict[str, Any]]:
    assert REPLAY.exists(), f"{REPLAY} is not built"
    captures = [
        write_pcap(folder / f"{side}.pcap", [(ms, whole) for ms, back, whole in records if back == side])
        for side in (0, 1)
    ]
    command = [str(REPLAY), nf, json.dumps(config), *map(str, captures)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def firewall() -> tuple[dict[str, Any], Step]:
    rules = [
        Rule(False, source=IPv4Network("10.0.0.2/32")),
        Rule(False, protocol=17, ports=(80, 81)),
        Rule(True, destination=IPv4Network("192.168.0.0/27")),
        Rule(False, ports=(0, 80)),
    ]
    config = [
        {"action": "deny", "src": "10.0.0.2"},
        {"action": "deny", "proto": "udp", "dst_port": "80-81"},
        {"action": "allow", "dst": "192.168.0.0/27"},
        {"action": "deny", "dst_port": "0-80"},
    ]
    model = StatefulFirewall(rules=rules, default_allow=True, idle_timeout_s=IDLE_TIMEOUT_S)
    software_config = {"rules": config, "idle_timeout_s": IDLE_TIMEOUT_S}
    return software_config, lambda ms, back, whole: model.process(whole, back, ms // 1000)


def sqli() -> tuple[dict[str, Any], Step]:
    model = SqliDetector(ports=(80, 443), drop_attacks=True)
    return {"ports": [80, 443], "drop": True}, lambda _, back, whole: model.process(whole, back)


def ddos(drops: bool) -> tuple[dict[str, Any], Step]:
    model = DdosDetector(minimum=3, quarters=7, drop_attacks=drops)
    window_end = 200

    def step(ms: int, back: int, whole: bytes) -> Verdict:
        nonlocal window_end
        while ms >= window_end:
            model.close_window()
            window_end += 200
        return model.process(whole, back)

    return {"minimum": 3, "deviations": 1.75, "window_ms": 200, "drop": drops}, step


def elephant() -> tuple[dict[str, Any], Step]:
    model = ElephantDetector(threshold_bytes=900, window_ms=2000, idle_timeout_s=IDLE_TIMEOUT_S)
    config = {"threshold_bytes": 900, "window_ms": 2000, "idle_timeout_s": IDLE_TIMEOUT_S}
    return config, lambda ms, back, whole: model.process(whole, back, ms, ms // 1000)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("nf", "make", "outcomes"),
    [
        ("stateful-firewall", firewall, {"denied", "no-state", "malformed", "0"}),
        ("sqli-detector", sqli, {"attack", "1"}),
        ("ddos-detector", lambda: ddos(False), {"1", "2"}),
        ("ddos-detector", lambda: ddos(True), {"1", "attack"}),
        ("elephant-detector", elephant, {"1", "2"}),
    ],
    ids=["firewall", "sqli", "ddos", "ddos-drops", "elephant"],
)
def test_model_and_software_decide_alike(
    nf: str, make: Callable[[], tuple[dict[str, Any], Step]], outcomes: set[str], seed: int, tmp_path: Path
) -> None:
    records = traffic(seed)
    config, step = make()
    lines = software(nf, config, records, tmp_path)
    assert len(lines) == len(records)
    start = records[0][0]
    seen: Counter[str] = Counter()
    for line, (ms, back, whole) in zip(lines, records, strict=True):
        verdict = step(ms - start, back, whole)
        want = verdict.drop_reason or str(verdict.frame_class)
        got = line["drop_reason"] if line["verdict"] == "drop" else str(line["class"])
        assert got == want, f"frame {line['index']} after {ms - start} ms: {whole.hex()}"
        seen[want] += 1
    assert outcomes <= set(seen), f"the capture shows {seen} only"
