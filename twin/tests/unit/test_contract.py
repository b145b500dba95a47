# SPDX-License-Identifier: Apache-2.0
"""The generated models against the contract's schema and examples."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from orrery_twin.contract import models

TWIN = Path(__file__).resolve().parents[2]
CONTRACT = TWIN.parent / "backend/contract"


def examples(kind: str) -> list[Path]:
    """Example files of types that the twin knows; a file name starts with the name of its type."""
    return [path for path in sorted((CONTRACT / "examples" / kind).rglob("*.json")) if type_of(path)]


def type_of(path: Path) -> str | None:
    names = [path.name.split(".")[0], path.parent.name]
    return next((name for name in names if hasattr(models, name)), None)


def check(path: Path) -> None:
    name = type_of(path)
    assert name
    TypeAdapter(getattr(models, name)).validate_json(path.read_bytes(), strict=True)


@pytest.mark.parametrize("path", examples("valid"), ids=lambda path: path.stem)
def test_valid_examples_are_accepted(path: Path) -> None:
    check(path)


@pytest.mark.parametrize("path", examples("invalid"), ids=lambda path: path.stem)
def test_invalid_examples_are_refused(path: Path) -> None:
    with pytest.raises(ValidationError):
        check(path)


@pytest.mark.skipif(shutil.which("ruff", path=str(Path(sys.executable).parent)) is None, reason="no generator here")
def test_models_are_those_of_the_schema() -> None:
    generator = [sys.executable, str(TWIN / "tools/generate_models.py"), "--check"]
    result = subprocess.run(generator, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_topologies_follow_the_contract() -> None:
    for path in (TWIN / "topologies").glob("*.json"):
        models.Infrastructure.model_validate_json(path.read_bytes(), strict=True)
        assert json.loads(path.read_text())["name"] == path.stem
