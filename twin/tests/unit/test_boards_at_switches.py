# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orrery_twin.contract.models import Infrastructure
from orrery_twin.domain.boards import BoardChanges, BoardSockets, describe_to_agent
from orrery_twin.domain.refusal import Refused
from orrery_twin.domain.topology import NOTHING, BuildPlan, Machine, plan_build

from .test_topology import MACHINE

Rack = dict[str, Any]


def build(rack: Rack, built: BuildPlan = NOTHING, machine: Machine = MACHINE) -> BuildPlan:
    return plan_build(Infrastructure.model_validate(rack), machine, built)


def link_of(rack: Rack, port: str) -> dict[str, Any]:
    return next(link for link in rack["links"] if link["a"] == {"node": "board-3", "port": port})


def test_the_ports_of_a_board_at_a_switch_are_ends_of_links(rack_with_hung_board: Rack) -> None:
    plan = build(rack_with_hung_board)
    board = plan.boards[-1]
    (slot,) = board.slots
    ends = [plan.link(f"board-3-{port}") for port in ("near0", "far0")]
    assert [(end.near.node, end.far.node, end.far.interface) for end in ends if end] == [
        ("leaf-1", "server-3", slot.near.board),
        ("leaf-1", "server-3", slot.far.board),
    ]
    assert board.veths == ()


def test_its_agent_is_told_of_its_own_interfaces(rack_with_hung_board: Rack) -> None:
    board = build(rack_with_hung_board).boards[-1]
    told = describe_to_agent(board, BoardSockets.under(Path("/b")), Path("/images"))
    (slot,) = board.slots
    assert told["attached"] == "switch"
    assert told["slots"] == [{"near": slot.near.board, "far": slot.far.board}]


def test_it_is_another_board_when_it_is_wired_otherwise(rack_with_hung_board: Rack) -> None:
    lines = replace(MACHINE, no_delay_line=None)
    before = build(rack_with_hung_board, machine=lines)
    link_of(rack_with_hung_board, "far0")["bandwidth_bps"] = 5e8
    assert not BoardChanges.between(before.boards, build(rack_with_hung_board, before, lines).boards).boards
    link_of(rack_with_hung_board, "far0")["delay_us"] = 100
    assert BoardChanges.between(before.boards, build(rack_with_hung_board, before, lines).boards).boards == {"board-3"}


def unplug(rack: Rack) -> None:
    rack["links"].remove(link_of(rack, "far0"))


def plug_wrongly(rack: Rack) -> None:
    link_of(rack, "far0")["a"]["port"] = "far1"


def plug_twice(rack: Rack) -> None:
    link_of(rack, "far0")["a"]["port"] = "near0"


def plug_into_a_host(rack: Rack) -> None:
    link_of(rack, "far0")["b"] = {"node": "web-1", "port": "eth1"}


def stand_beside_the_engine(rack: Rack) -> None:
    del rack["boards"][2]["attached"]


@pytest.mark.parametrize(
    ("spoil", "pointer"),
    [
        (unplug, "/infrastructure/boards/2/attached: .*far0"),
        (plug_wrongly, "/infrastructure/links/10/a/port: board-3 has no interface far1"),
        (plug_twice, "/infrastructure/links/10/a/port: board-3 near0 already has a link"),
        (plug_into_a_host, "/infrastructure/links/10: one end must be a switch"),
        (stand_beside_the_engine, "/infrastructure/links/9/a/node: board-3 is attached to its server"),
    ],
)
def test_wrong_wiring_is_refused_by_field(
    rack_with_hung_board: Rack, spoil: Callable[[Rack], None], pointer: str
) -> None:
    spoil(rack_with_hung_board)
    with pytest.raises(Refused, match=pointer):
        build(rack_with_hung_board)
