# SPDX-License-Identifier: Apache-2.0
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TWIN = Path(__file__).resolve().parents[1]


@pytest.fixture
def rack() -> dict[str, Any]:
    """The demo topology with what stands beside engines only, fresh for each test to change."""
    whole = demo_rack()
    hung = {board["id"] for board in whole["boards"] if board.get("attached") == "switch"}
    whole["boards"] = [board for board in whole["boards"] if board["id"] not in hung]
    whole["links"] = [link for link in whole["links"] if link["a"]["node"] not in hung]
    return whole


@pytest.fixture
def rack_with_hung_board() -> dict[str, Any]:
    """The demo topology as it is: `board-3` hangs on its switch."""
    return demo_rack()


def demo_rack() -> dict[str, Any]:
    return json.loads((TWIN / "topologies/rack.json").read_text())  # type: ignore[no-any-return]


@pytest.fixture
def make_rule() -> Callable[..., dict[str, Any]]:
    """Return a fabric rule with one target unless `targets` gives several as (hop, server, lo, hi)."""

    def make(
        kind: str,
        *,
        id: str | None = None,
        hop: int = 1,
        server: str = "server-1",
        targets: list[tuple[int, str, int, int]] | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        wanted = [(hop, server, 0, 65536)] if targets is None else targets
        rule = {
            "id": id or f"{kind}-{hop}",
            "chain_id": "demo",
            "kind": kind,
            "priority": 100,
            "from_hosts": [],
            "from_servers": [],
            "match": [],
            "hop": hop if kind == "hop" else None,
            "key": [],
            "targets": [
                {"range": {"lo": lo, "hi": hi}, "hop": number, "server": name} for number, name, lo, hi in wanted
            ],
        }
        return rule | fields

    return make
