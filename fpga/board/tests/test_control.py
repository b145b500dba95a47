# SPDX-License-Identifier: Apache-2.0
"""Good and bad requests to a live board."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from board.host.board_process import Board, BoardError, Images, Lines


def test_registers_of_shell_and_slot(board: Board) -> None:
    assert board.call("csr_read", slot=0, addresses=[0, 0x10]) == {"values": [0x50415331, 0]}
    identity, _, clock, slots = board.call("csr_read", slot=None, addresses=[0, 4, 8, 12])["values"]
    assert (identity, clock, slots) == (0x53484C31, 80_000_000, 2)
    words = board.call("csr_read", slot=None, addresses=[16, 20, 24, 28])["values"]
    assert "".join(f"{word:08x}" for word in words) == board.describe()["shell_uuid"].replace("-", "")
    board.call("csr_write", slot=None, writes=[[0x108, 0xFF], [0x110, 3]])
    assert board.call("csr_read", slot=None, addresses=[0x108, 0x110]) == {"values": [0xFF, 3]}


@pytest.mark.parametrize(
    ("method", "params", "code", "pointer"),
    [
        ("start", {}, "bad-request", None),
        ("status", {"all": True}, "bad-request", "/all"),
        ("csr_read", {"slot": 2, "addresses": [0]}, "bad-request", "/slot"),
        ("csr_read", {"slot": 0, "addresses": []}, "bad-request", "/addresses"),
        ("csr_read", {"slot": 0, "addresses": [0, 3]}, "bad-request", "/addresses/1"),
        ("csr_read", {"slot": 0, "addresses": [0x2C]}, "bad-request", "/addresses/0"),
        ("csr_read", {"slot": 1, "addresses": [0]}, "conflict", None),
        ("csr_write", {"slot": 0, "writes": [[0]]}, "bad-request", "/writes/0"),
        ("csr_write", {"slot": 0, "writes": [[0, 1 << 32]]}, "bad-request", "/writes/0/1"),
        ("csr_write", {"slot": None, "writes": [[0x200, 0]]}, "bad-request", "/writes/0/0"),
        ("csr_write", {"slot": None, "writes": [[0x20, 0]]}, "bad-request", "/writes/0/0"),
        ("load", {"slot": None, "kind": "partial", "image": "x"}, "bad-request", "/slot"),
        ("load", {"slot": None, "kind": "full", "image": "x", "policy": "hold"}, "bad-request", "/policy"),
        ("load", {"slot": 0, "kind": "partial", "image": "x", "policy": "keep"}, "bad-request", "/policy"),
        ("load", {"slot": 0, "kind": "partial", "image": "/nowhere"}, "unreadable", None),
        ("load", {"slot": 0, "kind": "partial", "image": "/dev/null\0.partial"}, "bad-request", "/image"),
        ("resume", {"slot": 0}, "conflict", None),
        ("quiesce", {"slot": 1}, "conflict", None),
        ("inject", {"fault": "fire", "slot": 0}, "bad-request", "/fault"),
        ("inject", {"fault": "slot-stuck", "slot": 1}, "conflict", None),
        ("stream", {"slot": 0, "frames": ["0"]}, "bad-request", "/frames/0"),
        ("stream", {"slot": 0, "frames": ["00" * 2049]}, "bad-request", "/frames/0"),
        ("stream", {"slot": 0, "frames": ["00"], "timeout_ms": 0}, "bad-request", "/timeout_ms"),
        ("stream", {"slot": 0, "frames": ["00"], "timeout_ms": 5001}, "bad-request", "/timeout_ms"),
        ("stream", {"slot": 1, "frames": ["00"]}, "conflict", None),
        ("table_import", {"slot": 0, "entries": [[0] * 7]}, "bad-request", "/entries/0"),
        ("table_export", {"slot": 0, "max": 0}, "bad-request", "/max"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(
    board: Board, method: str, params: dict[str, Any], code: str, pointer: str | None
) -> None:
    with pytest.raises(BoardError) as refused:
        board.call(method, **params)
    assert (refused.value.code, refused.value.pointer) == (code, pointer)


def test_a_module_without_table_has_no_entries_and_takes_none(board: Board) -> None:
    assert board.call("table_export", slot=0) == {"entries": []}
    with pytest.raises(BoardError, match="slot 0: nf_pass has no table") as refused:
        board.call("table_import", slot=0, entries=[[n] * 8 for n in range(5)])
    assert (refused.value.code, refused.value.pointer) == ("conflict", "/entries")


def test_any_request_gets_an_answer(board: Board) -> None:
    rng = random.Random(1)
    methods = ["describe", "status", "quiesce", "resume", "csr_read", "csr_write", "stream", "inject", "table_export"]
    names = ["slot", "addresses", "writes", "frames", "timeout_ms", "fault", "max", "policy", "kind", "image"]
    values: list[Callable[[], Any]] = [
        lambda: rng.choice([None, True, -1, 0, 1, 2, 44, 1 << 31, 1 << 64, 0.5, 1e300]),
        lambda: rng.choice(["", "ab", "slot-clear", "hold", "\0", "é", "x" * 5000]),
        lambda: [rng.choice([0, 4, 0x2C, -4, "aa", [0, 0], [4, 1], None]) for _ in range(rng.randrange(4))],
        lambda: {"slot": 0},
    ]
    for _ in range(2000):
        request: Any = {"id": rng.randrange(9), "method": rng.choice(methods)}
        request["params"] = {rng.choice(names): rng.choice(values)() for _ in range(rng.randrange(4))}
        if rng.random() < 0.1:
            request.pop(rng.choice(["id", "method", "params"]))
        text = json.dumps(request).encode()
        if rng.random() < 0.1:
            text = text[: rng.randrange(1, len(text))]
        board.control.send(text)
        answer = board.control.read()
        assert ("result" in answer) != ("error" in answer)
        if "error" in answer:
            assert answer["error"]["code"] != "internal", answer
    assert board.process.poll() is None
    assert board.status()["board"]["state"] == "operating"


def test_a_second_client_is_served_beside_the_first(board: Board, tmp_path: Path) -> None:
    other = Lines(tmp_path / "control")
    other.send(b'{"id": 7, "method": "status", "params": {}}')
    assert other.read()["id"] == 7
    board.status()
    other.close()


def test_a_board_that_is_told_to_end_leaves_nothing(
    start: Callable[..., Board], images: Images, tmp_path: Path
) -> None:
    board = start(time_scale=1000)
    board.call("load", slot=0, kind="partial", image=str(images.partial("ecp5")))
    assert board.stop() == 0
    assert not (tmp_path / "control").exists()
    assert not (tmp_path / "events").exists()
