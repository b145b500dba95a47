# SPDX-License-Identifier: Apache-2.0
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from orrery_twin.adapters.board_build import FPGA, BoardBuild
from orrery_twin.contract.models import Infrastructure
from orrery_twin.domain.boards import BoardChanges, BoardPlan, BoardSockets, describe_to_agent, plan_boards
from orrery_twin.domain.refusal import Refused
from orrery_twin.domain.topology import plan_build
from orrery_twin.domain.topology_faults import INTERFACE_NAME_MAX

from .test_topology import MACHINE, change

Rack = dict[str, Any]
COLLIDING = ("board-449599", "board-612382")
"""Names with the same FNV-1a hash."""


def boards_of(rack: Rack) -> tuple[BoardPlan, ...]:
    return plan_build(Infrastructure.model_validate(rack), MACHINE).boards


def interfaces_of(board: BoardPlan) -> list[str]:
    return [name for veth in board.veths for name in (veth.engine, veth.board)]


def test_every_slot_has_four_interfaces_of_its_own(rack: Rack) -> None:
    template = rack["boards"][0]
    rack["boards"] = [template | {"id": f"b{'x' * 38}{number}", "slots": 16} for number in range(8)]
    boards = plan_boards(Infrastructure.model_validate(rack))
    names = [name for board in boards for name in interfaces_of(board)]
    assert len(names) == len(set(names)) == 8 * 16 * 4
    assert max(map(len, names)) <= INTERFACE_NAME_MAX


def test_interfaces_depend_on_nothing_but_the_board(rack: Rack) -> None:
    first, second = boards_of(rack)
    assert (first.id, first.server, first.profile, len(first.slots)) == ("board-1", "server-1", "de5", 2)
    assert interfaces_of(first)[:4] == ["b0164c279s0n", "b0164c279s0n-b", "b0164c279s0f", "b0164c279s0f-b"]
    rack["boards"] = [rack["boards"][1] | {"title": "Other", "cost": 9, "bandwidth_bps": 1e6}]
    assert boards_of(rack) == (second,)


def test_live_boards_are_left_alone(rack: Rack) -> None:
    rack["boards"][0] |= {"origin": "live", "server": "elsewhere", "profile": "unknown"}
    assert [board.id for board in boards_of(rack)] == ["board-2"]


def live_server(rack: Rack) -> None:
    rack["servers"][0]["origin"] = "live"


@pytest.mark.parametrize(
    ("spoil", "pointer"),
    [
        (change(["boards", 0, "server"], "nobody"), "/infrastructure/boards/0/server"),
        (live_server, "/infrastructure/boards/0/server"),
        (change(["boards", 1, "profile"], "de6"), "/infrastructure/boards/1/profile"),
        (change(["boards", 0, "slots"], 3), "/infrastructure/boards/0/slots"),
        (change(["boards", 1, "id"], "board-1"), "/infrastructure/boards/1/id"),
        (change(["boards", 1, "id"], "web-1"), "/infrastructure/boards/1/id"),
    ],
)
def test_what_cannot_be_a_board_is_refused_by_field(rack: Rack, spoil: Callable[[Rack], None], pointer: str) -> None:
    spoil(rack)
    with pytest.raises(Refused) as refusal:
        boards_of(rack)
    assert [fault.pointer for fault in refusal.value.faults] == [pointer]


def test_boards_whose_interfaces_would_have_the_same_names_are_refused(rack: Rack) -> None:
    for board, name in zip(rack["boards"], COLLIDING, strict=True):
        board["id"] = name
    with pytest.raises(Refused, match=f"/infrastructure/boards/1/id: .*{COLLIDING[0]}"):
        boards_of(rack)


def test_changes_are_only_of_boards_that_differ(rack: Rack) -> None:
    first, second = boards_of(rack)
    assert BoardChanges.between((first, second), (second, first)) == BoardChanges((), ())
    other = replace(first, profile="onetcard")
    changes = BoardChanges.between((first, second), (other, second))
    assert (changes.gone, changes.new) == ((first,), (other,))
    assert (changes.boards, changes.servers) == ({"board-1"}, {"server-1"})
    moved = replace(first, server="server-3")
    assert BoardChanges.between((first, second), (moved, second)).servers == {"server-1", "server-3"}
    assert BoardChanges.between((first, second), (first,)) == BoardChanges((second,), ())


def test_the_agent_is_told_of_its_ends_and_the_board_of_the_others(rack: Rack) -> None:
    board = boards_of(rack)[0]
    sockets = BoardSockets.under(Path("/run/o/b/board-1"))
    told = describe_to_agent(board, sockets, Path("/images/de5"))
    assert told == {
        "id": "board-1",
        "backend": "simulated",
        "control": "/run/o/b/board-1/ctl.sock",
        "events": "/run/o/b/board-1/events.sock",
        "images": "/images/de5",
        "slots": [{"near": slot.near.engine, "far": slot.far.engine} for slot in board.slots],
    }
    command = BoardBuild.of_checkout().command(board, sockets)
    assert command[command.index("--control") + 1] == told["control"]
    ports = [argument for flag, argument in pairwise(command) if flag == "--port"]
    assert ports == [
        f"{number}:{side}={getattr(slot, side).board}"
        for number, slot in enumerate(board.slots)
        for side in ("near", "far")
    ]


def test_the_command_may_be_given(monkeypatch: pytest.MonkeyPatch, rack: Rack, tmp_path: Path) -> None:
    monkeypatch.setenv("ORRERY_BOARD_COMMAND", "/opt/boardd --time-scale 0.01")
    build = BoardBuild.of_checkout()
    command = build.command(boards_of(rack)[0], BoardSockets.under(tmp_path))
    assert command[:5] == ["/opt/boardd", "--time-scale", "0.01", "--id", "board-1"]
    assert build.missing() == "the board is not built: no program /opt/boardd"


def test_the_boards_of_the_rack_have_what_their_profiles_say(rack: Rack) -> None:
    for board in rack["boards"]:
        profile = json.loads((FPGA / f"board/profiles/{board['profile']}.json").read_text())
        assert board["clock_mhz"] == profile["clock_mhz"]
        assert board["slots"] == len(profile["slots"])
        for slot in profile["slots"]:
            assert board["resources"] == {name.replace("_", "-"): many for name, many in slot["resources"].items()}
        for kind, seconds in board["load_s"].items():
            load = profile[kind]
            assert seconds == pytest.approx(load["setup_s"] + load["bytes"] / load["bytes_per_s"], rel=0.01)
