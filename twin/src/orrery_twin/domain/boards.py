# SPDX-License-Identifier: Apache-2.0
"""Emulated boards: their ports in their server's network namespace, and the description for the server's agent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orrery_twin.contract.models import Infrastructure
from orrery_twin.domain.digest import fnv1a
from orrery_twin.domain.refusal import FieldFault, pointer


@dataclass(frozen=True)
class VethPlan:
    """A pair of interfaces in one namespace: the engine uses one, the board the other."""

    engine: str
    board: str


@dataclass(frozen=True)
class SlotPlan:
    """Frames enter the slot by `near` and leave it by `far`."""

    near: VethPlan
    far: VethPlan


@dataclass(frozen=True)
class BoardPlan:
    """What the twin creates for a board: equal plans are the same board."""

    id: str
    server: str
    profile: str
    slots: tuple[SlotPlan, ...]

    @property
    def veths(self) -> tuple[VethPlan, ...]:
        return tuple(veth for slot in self.slots for veth in (slot.near, slot.far))


@dataclass(frozen=True)
class BoardSockets:
    """Unix sockets of a board. The names are short because the length of socket paths is limited."""

    control: Path
    events: Path

    @classmethod
    def under(cls, directory: Path) -> "BoardSockets":
        return cls(directory / "ctl.sock", directory / "events.sock")


def plan_boards(infrastructure: Infrastructure) -> tuple[BoardPlan, ...]:
    """Boards of origin `twin`. Precondition: `board_faults` has found nothing wrong."""
    return tuple(
        BoardPlan(board.id, board.server, board.profile, tuple(_slot(board.id, slot) for slot in range(board.slots)))
        for board in infrastructure.boards
        if board.origin == "twin"
    )


def _slot(board_id: str, slot: int) -> SlotPlan:
    # Derived from the ID alone: a board keeps its interfaces when others come and go.
    stem = f"b{fnv1a(board_id):08x}s{slot:x}"
    return SlotPlan(VethPlan(f"{stem}n", f"{stem}n-b"), VethPlan(f"{stem}f", f"{stem}f-b"))


def board_faults(infrastructure: Infrastructure, slots_of_profile: Mapping[str, int]) -> Iterator[FieldFault]:
    """`slots_of_profile`: the known board profiles."""
    origin_of = {server.id: server.origin for server in infrastructure.servers}
    stems: dict[int, str] = {}
    for index, board in enumerate(infrastructure.boards):
        if board.origin != "twin":
            continue
        place = pointer("infrastructure", "boards", index)
        if board.server not in origin_of:
            yield FieldFault(f"{place}/server", f"no server {board.server}")
        elif origin_of[board.server] != "twin":
            yield FieldFault(f"{place}/server", f"{board.server} is not emulated: an emulated board cannot be in it")
        if board.profile not in slots_of_profile:
            known = ", ".join(sorted(slots_of_profile)) or "none"
            yield FieldFault(f"{place}/profile", f"no profile {board.profile}; known profiles: {known}")
        elif board.slots > slots_of_profile[board.profile]:
            has = slots_of_profile[board.profile]
            yield FieldFault(f"{place}/slots", f"a board of profile {board.profile} has {has}")
        other = stems.setdefault(fnv1a(board.id), board.id)
        if other != board.id:
            yield FieldFault(f"{place}/id", f"its interface names would clash with those of {other}: choose another")


def describe_to_agent(board: BoardPlan, sockets: BoardSockets, images: Path) -> dict[str, Any]:
    """An entry of the agent's `--boards` file."""
    return {
        "id": board.id,
        "backend": "simulated",
        "control": str(sockets.control),
        "events": str(sockets.events),
        "images": str(images),
        "slots": [{"near": slot.near.engine, "far": slot.far.engine} for slot in board.slots],
    }


@dataclass(frozen=True)
class BoardChanges:
    """Boards to remove and boards to add; those with equal plans are in neither list."""

    gone: tuple[BoardPlan, ...]
    new: tuple[BoardPlan, ...]

    @classmethod
    def between(cls, before: tuple[BoardPlan, ...], after: tuple[BoardPlan, ...]) -> "BoardChanges":
        return cls(
            tuple(board for board in before if board not in after),
            tuple(board for board in after if board not in before),
        )

    @property
    def boards(self) -> set[str]:
        return {board.id for board in (*self.gone, *self.new)}

    @property
    def servers(self) -> set[str]:
        """Servers whose agents must be told of a change."""
        return {board.server for board in (*self.gone, *self.new)}
