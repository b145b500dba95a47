# SPDX-License-Identifier: Apache-2.0
"""A live de5 board as a host sees it: prints one JSON object with the times to configure it, move flows and load
images.
"""

import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from board.host.board_process import Board, Images

PROFILE = "de5"
MODULE = "nf_stateful_firewall"
DEPLOYMENTS = 50
FLOWS = 3000
ROUNDS = 5
PARTIAL_LOADS = 3

# regs/nf_stateful_firewall.yaml, regs/common.yaml
CONTROL, STATUS, TABLE_STATUS = 0x008, 0x00C, 0x044
ENABLE, CLEAR, CLEARING = 1, 2, 2
DEFAULT_ACTION, IDLE_TIMEOUT_S, STATE_TABLE = 0x080, 0x084, 0x0C0
RULES, RULE_BYTES = 0x200, 0x20
VALID, TCP, ESTABLISHED = 1, 6, 2
NONE, OPENING, CLOSING, DROP = 0, 1, 3, 4
# fpga/README.md: by state, then by SYN, others, FIN, RST
TRANSITIONS = (
    *(OPENING, NONE | DROP, NONE | DROP, NONE | DROP),
    *(OPENING, ESTABLISHED, CLOSING, NONE),
    *(ESTABLISHED, ESTABLISHED, CLOSING, NONE),
    *(OPENING, CLOSING, CLOSING, NONE),
)


def configuration() -> list[list[int]]:
    """Writes for 16 rules, 16 transitions, default action and timeout; the last one enables the firewall."""
    writes = [[DEFAULT_ACTION, 1], [IDLE_TIMEOUT_S, 300]]
    writes += [[STATE_TABLE + 4 * n, word] for n, word in enumerate(TRANSITIONS)]
    for n in range(16):
        words = (n << 16 | 10 << 24, 0xFFFF0000, 0, 0, 1000 + n << 16 | 1000 + n, TCP << 8 | VALID)
        writes += [[RULES + RULE_BYTES * n + 4 * i, word] for i, word in enumerate(words)]
    return [*writes, [CONTROL, ENABLE]]


def read(board: Board, slot: int, address: int) -> int:
    return int(board.call("csr_read", slot=slot, addresses=[address])["values"][0])


def clear(board: Board, slot: int) -> None:
    board.call("csr_write", slot=slot, writes=[[CONTROL, CLEAR]])
    while read(board, slot, STATUS) & CLEARING:
        pass


def deploy_ms(board: Board, batched: bool) -> float:
    """Time from the first write until frames pass the enabled firewall; in one request, or one per write."""
    board.call("quiesce", slot=0, policy="drop")
    clear(board, 0)
    writes = configuration()
    start = time.perf_counter()
    for request in [writes] if batched else [[write] for write in writes]:
        board.call("csr_write", slot=0, writes=request)
    board.call("resume", slot=0)
    passed = time.perf_counter() - start
    check(read(board, 0, CONTROL) == ENABLE, "the firewall is not enabled")
    return passed * 1e3


def fill_with_flows(board: Board, slot: int) -> list[list[int]]:
    """Insert random flows until the table has FLOWS entries; full sets refuse some."""
    rng = random.Random(1)
    while (missing := FLOWS - (read(board, slot, TABLE_STATUS) >> 16)) > 0:
        keys = [[rng.getrandbits(32), rng.getrandbits(32), rng.getrandbits(32), TCP] for _ in range(missing)]
        board.call("table_import", slot=slot, entries=[[*key, ESTABLISHED, 0, 0, 0] for key in keys])
    return board.call("table_export", slot=slot)["entries"]


def without_idle(entries: list[list[int]]) -> list[list[int]]:
    """Entries without the word that counts the seconds since the last packet."""
    return sorted(entry[:7] for entry in entries)


def migrate(board: Board) -> dict[str, Any]:
    flows = fill_with_flows(board, 0)
    check(len(flows) == FLOWS, f"{len(flows)} flows in the table")
    wall_s, cpu_s = [], []
    for _ in range(ROUNDS):
        clear(board, 1)
        cpu_ns, start = board.cpu_ns(), time.perf_counter()
        entries = board.call("table_export", slot=0)["entries"]
        done = board.call("table_import", slot=1, entries=entries)
        wall_s.append(time.perf_counter() - start)
        cpu_s.append((board.cpu_ns() - cpu_ns) * 1e-9)
        check(done == {"imported": FLOWS, "refused": 0}, f"imported: {done}")
    moved = board.call("table_export", slot=1)["entries"]
    check(without_idle(moved) == without_idle(flows), "the imported flows differ from the exported ones")
    return {
        "flows_per_s": FLOWS / statistics.median(wall_s),
        "flows_per_cpu_s": FLOWS / statistics.median(cpu_s),
        "table_bytes_per_flow": 4 * len(flows[0]),
        "socket_bytes_per_flow": len(json.dumps(flows, separators=(",", ":"))) / FLOWS,
    }


def load(board: Board, image: Path, slot: int | None) -> dict[str, float]:
    done = board.load(image, slot, policy="drop")
    check(done["error"] is None, f"load: {done['error']}")
    return {key: done[key] for key in ("modelled_s", "measured_s")}


def measure(directory: Path) -> dict[str, Any]:
    images = Images(directory)
    board = Board(directory, images.public_key, PROFILE, [], time_scale=1)
    try:
        full = load(board, images.full(PROFILE, MODULE, MODULE), None)
        partials = [load(board, images.partial(PROFILE, MODULE), 0) for _ in range(PARTIAL_LOADS)]
        for slot in (0, 1):
            board.call("resume", slot=slot)
        return {
            "full": full,
            "partial": sorted(partials, key=lambda load: load["measured_s"])[PARTIAL_LOADS // 2],
            "writes": len(configuration()),
            "deploy_ms": statistics.median(deploy_ms(board, batched=True) for _ in range(DEPLOYMENTS)),
            "deploy_one_by_one_ms": statistics.median(deploy_ms(board, batched=False) for _ in range(DEPLOYMENTS)),
            "migration": migrate(board),
        }
    finally:
        board.kill()


def check(holds: bool, detail: str) -> None:
    if not holds:
        raise SystemExit(f"board bench: {detail}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        print(json.dumps(measure(Path(directory))))
