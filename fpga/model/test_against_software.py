# SPDX-License-Identifier: Apache-2.0
"""The golden models against the engine's NFs on the same captures: both must treat every frame alike, but for those
that boards let through because they do not look into them (IPv6, a second VLAN tag).

The engine's side is `nf_replay`, built by `ninja -C agents/build`. The benches compare RTL with the models, also on the
first frames of these captures.
"""

from __future__ import annotations

import json
import struct
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model import compared
from model.compared import IDLE_TIMEOUT_S, RTL_FRAMES, SEEDS, WINDOW_MS, Record, traffic
from model.packet import VLAN, parse
from model.random_frames import SERVICE_VLAN, is_for_software_alone
from model.verdict import Verdict

REPLAY = Path(__file__).resolve().parents[2] / "agents/build/nfs/nf_replay"
START_NS = 1_700_000_000 * 10**9

Step = Callable[[int, int, bytes], Verdict]


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


@pytest.mark.parametrize("seed", SEEDS)
def test_traffic_shows_what_parsers_differ_in(seed: int) -> None:
    """Within the part that is also simulated."""
    seen: Counter[str] = Counter()
    for _, _, whole in traffic(seed)[:RTL_FRAMES]:
        outer, inner = (int.from_bytes(whole[at : at + 2], "big") for at in (12, 16))
        headers = parse(whole)
        kinds = {
            "IPv6": outer == 0x86DD,
            "IPv6 behind a tag": (outer, inner) == (VLAN, 0x86DD),
            "one tag": headers.vlan and headers.transport,
            "a tag and what is malformed": (outer, inner) == (VLAN, 0x0800) and headers.malformed,
            "a tag and a later fragment": headers.vlan and headers.later_fragment,
            "two tags": outer == VLAN and inner == VLAN,
            "a service tag": outer == SERVICE_VLAN,
            "cut in a tag": outer == VLAN and len(whole) < 18,
            "cut behind a tag": outer == VLAN and len(whole) == 18,
        }
        seen.update(kind for kind, is_kind in kinds.items() if is_kind)
    assert set(seen) == set(kinds), f"the capture shows only {seen}"


def firewall() -> tuple[dict[str, Any], Step]:
    config = [
        {"action": "deny", "src": "10.0.0.2"},
        {"action": "deny", "proto": "udp", "dst_port": "80-81"},
        {"action": "allow", "dst": "192.168.0.0/27"},
        {"action": "deny", "dst_port": "0-80"},
    ]
    model = compared.stateful_firewall()
    software_config = {"rules": config, "idle_timeout_s": IDLE_TIMEOUT_S}
    return software_config, lambda ms, back, whole: model.process(whole, back, ms // 1000)


def sqli() -> tuple[dict[str, Any], Step]:
    model = compared.sqli_detector()
    return {"ports": [80, 443], "drop": True}, lambda _, back, whole: model.process(whole, back)


def ddos(drops: bool) -> tuple[dict[str, Any], Step]:
    model = compared.ddos_detector(drops)
    window_end = WINDOW_MS

    def step(ms: int, back: int, whole: bytes) -> Verdict:
        nonlocal window_end
        while ms >= window_end:
            model.close_window()
            window_end += WINDOW_MS
        return model.process(whole, back)

    return {"minimum": 3, "deviations": 1.75, "window_ms": WINDOW_MS, "drop": drops}, step


def elephant() -> tuple[dict[str, Any], Step]:
    model = compared.elephant_detector()
    config = {"threshold_bytes": 900, "window_ms": 2000, "idle_timeout_s": IDLE_TIMEOUT_S}
    return config, lambda ms, back, whole: model.process(whole, back, ms, ms // 1000)


@pytest.mark.parametrize("seed", SEEDS)
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
    shared = [record for record in records if not is_for_software_alone(record[2])]
    lines = iter(software(nf, config, shared, tmp_path))
    start = shared[0][0]
    seen: Counter[str] = Counter()
    for ms, back, whole in records:
        verdict = step(ms - start, back, whole)
        if is_for_software_alone(whole):
            assert (verdict.drop_reason, verdict.frame_class) == (None, 0)
            continue
        line = next(lines)
        want = verdict.drop_reason or str(verdict.frame_class)
        got = line["drop_reason"] if line["verdict"] == "drop" else str(line["class"])
        assert got == want, f"frame {line['index']} after {ms - start} ms: {whole.hex()}"
        seen[want] += 1
    assert next(lines, None) is None
    assert outcomes <= set(seen), f"the capture shows only {seen}"
