# SPDX-License-Identifier: Apache-2.0
"""The import table of the architecture, for this package."""

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src/orrery_twin"
OWN = "orrery_twin"
MAY_IMPORT = {
    "contract": {"contract"},
    "domain": {"domain", "contract"},
    "applications": {"applications", "domain", "contract"},
    "adapters": {"adapters", "domain", "contract"},
    "service": {"service", "adapters", "applications", "domain", "contract"},
    "api": {"api", "service", "domain", "contract"},
}
LIBRARIES = {
    "contract": {"pydantic", "typing_extensions"},
    "domain": set(),
    "applications": set(),
    "adapters": {"mininet", "aiohttp"},
    "service": {"pydantic"},
    "api": {"aiohttp", "pydantic"},
}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_a_layer_imports_only_what_it_may(layer: str) -> None:
    files = list((PACKAGE / layer).glob("**/*.py"))
    assert files
    for path in files:
        for name in imported(path):
            first, *rest = name.split(".")
            if first == OWN:
                assert not rest or rest[0] in MAY_IMPORT[layer], f"{path.name} imports {name}"
            else:
                allowed = first in sys.stdlib_module_names or first in LIBRARIES[layer]
                assert allowed, f"{path.name} imports {name}"
