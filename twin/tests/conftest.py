# SPDX-License-Identifier: Apache-2.0
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TWIN = Path(__file__).resolve().parents[1]


@pytest.fixture
def rack() -> dict[str, Any]:
    """The demo topology, fresh for each test to change."""
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
