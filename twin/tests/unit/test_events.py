# SPDX-License-Identifier: Apache-2.0
"""Every event that twind sends has a type that the contract declares for it."""

import ast
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TYPES = json.loads((ROOT / "backend/contract/generated/schema.json").read_text())["$defs"]["TwinEventType"]["enum"]
CALLS = {"event", "_event_line"}


def pattern_of(argument: ast.expr) -> str | None:
    """Return a regular expression for the strings that an expression can produce."""
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return re.escape(argument.value)
    if isinstance(argument, ast.JoinedStr):
        return "".join(
            re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+" for part in argument.values
        )
    return None


def told() -> list[tuple[str, str]]:
    found = []
    for file in sorted((ROOT / "twin/src/orrery_twin").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
            pattern = pattern_of(node.args[0])
            if pattern and name in CALLS:
                found.append((f"{file.name}:{node.lineno}", pattern))
            elif pattern and name == "Supervised":
                found += [(f"{file.name}:{node.lineno}", f"{pattern}\\.{what}") for what in ("started", "exited")]
    return found


@pytest.mark.parametrize(("place", "pattern"), told())
def test_is_declared(place: str, pattern: str) -> None:
    assert any(re.fullmatch(pattern, each) for each in TYPES), f"{place}: no TwinEventType matches {pattern}"


def test_finds_what_is_told() -> None:
    assert len(told()) > 20
