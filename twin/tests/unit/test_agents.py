# SPDX-License-Identifier: Apache-2.0
"""What agents leave behind when their server leaves the infrastructure."""

from pathlib import Path
from typing import Any

from orrery_twin.contract.models import Infrastructure
from orrery_twin.service.agents import SWITCHES, Agents
from orrery_twin.service.directories import Directories
from orrery_twin.service.hub import Hub


def _files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_only_files_of_servers_that_are_gone_are_removed(tmp_path: Path, rack: dict[str, Any]) -> None:
    infrastructure = Infrastructure.model_validate(rack)
    kept = infrastructure.servers[0].id
    directories = Directories(run=tmp_path / "run", state=tmp_path / "state")
    for name in (kept, "gone", SWITCHES):
        for path in (
            directories.state / "agents" / name / "credential",
            directories.state / "logs" / f"agent-{name}.log",
            directories.state / "logs" / f"agent-{name}.log.old",
            directories.run / "a" / name / "engine.sock",
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    agents = Agents(directories, Hub(), lambda: None, lambda _: None, None)
    agents.start(infrastructure, {}, None)
    left = _files(tmp_path)
    assert not any("gone" in path for path in left)
    assert len(left) == 8
