# SPDX-License-Identifier: Apache-2.0
"""What twind gives the native program of flows is what it takes."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from orrery_twin.applications.flow_generator.kind import FlowGenerator
from orrery_twin.applications.flow_sink.kind import FlowSink
from orrery_twin.applications.kind import CannotRun, Place
from orrery_twin.applications.native_flows import COMMAND_VARIABLE, PROGRAM
from orrery_twin.contract.models import FlowGeneratorConfig, FlowSinkConfig
from orrery_twin.domain.topology import GATEWAY_MAC

NOWHERE = Place(interface="nowhere0", address="10.0.0.2", pcap_file=lambda _: None)
WAVE = [{"at_s": 0, "rate_bps": 7.2e6}, {"at_s": 30, "rate_bps": 12.3e6}]


def config(**fields: Any) -> FlowGeneratorConfig:
    return FlowGeneratorConfig.model_validate({"to": "web-1", **fields})


@pytest.mark.skipif(shutil.which(PROGRAM) is None, reason=f"no program {PROGRAM.name}")
@pytest.mark.parametrize(
    "fields",
    [{}, {"wave": WAVE, "wave_repeats": True, "packets": "imix"}, {"distribution": "data-mining", "rate_bps": 1e6}],
)
def test_every_setting_is_taken(fields: dict[str, Any]) -> None:
    """Only the interface is not there."""
    for command in (
        FlowGenerator().command(config(**fields), NOWHERE),
        FlowSink().command(FlowSinkConfig(port=9199), NOWHERE),
    ):
        result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        assert result.returncode == 1
        assert "nowhere0" in result.stderr, result.stderr


@pytest.mark.skipif(shutil.which(PROGRAM) is None, reason=f"no program {PROGRAM.name}")
def test_what_is_wrong_ends_the_program_with_the_reason() -> None:
    command = FlowGenerator().command(config(wave=list(reversed(WAVE))), NOWHERE)
    result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (result.returncode, result.stderr) == (
        1,
        "orrery-flows: /wave/1/at_s must be later than the point before it\n",
    )


def test_frames_go_to_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMMAND_VARIABLE, "/bin/true --more")
    program, more, role, settings = FlowGenerator().command(config(), NOWHERE)
    assert (program, more, role) == ("/bin/true", "--more", "generate")
    given = json.loads(settings)
    assert (given["gateway_mac"], given["interface"], given["address"]) == (GATEWAY_MAC, "nowhere0", "10.0.0.2")


def test_a_program_that_is_not_built_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(COMMAND_VARIABLE, str(tmp_path / "orrery-flows"))
    with pytest.raises(CannotRun, match="no program orrery-flows"):
        FlowSink().command(FlowSinkConfig(), NOWHERE)
    with pytest.raises(CannotRun, match="no address"):
        FlowGenerator().command(config(), Place("eth0", None, lambda _: None))
