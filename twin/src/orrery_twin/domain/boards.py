# SPDX-License-Identifier: Apache-2.0
"""Emulated boards: their ports in their server's network namespace, and the description for the server's agent.

The ports of a board at a switch are ends of links, of which the other ends are ports of switches.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orrery_twin.contract.models import BoardNode, Infrastructure
from orrery_twin.domain.digest import fnv1a
from orrery_twin.domain.refusal import FieldFault, pointer
from orrery_twin.domain.shaping import shape_of


@dataclass(frozen=True)
class VethPlan:
    """A pair of interfaces in one namespace: the engine uses one, the board the other. At a switch there is only the
    board's, the end of a link.
    """

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
    links: tuple[str, ...] | None = None
    """At a switch: what its ports are wired to. None beside an engine."""

    @property
    def is_at_switch(self) -> bool:
        return self.links is not None

    @property
    def veths(self) -> tuple[VethPlan, ...]:
        """What has to be created for it: at a switch its interfaces come with its links."""
        if self.is_at_switch:
            return ()
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
        BoardPlan(
            board.id,
            board.server,
            board.profile,
            tuple(_slot(board.id, slot) for slot in range(board.slots)),
            _wiring(board.id, infrastructure) if board.attached == "switch" else None,
        )
        for board in infrastructure.boards
        if board.origin == "twin"
    )


def _wiring(board_id: str, infrastructure: Infrastructure) -> tuple[str, ...]:
    """Its interfaces are others when a link leads elsewhere, or gets or loses its delay line."""
    return tuple(
        f"{link.id} {own.port} {peer.node} {peer.port} {shape_of(link).needs_line}"
        for link in infrastructure.links
        for own, peer in ((link.a, link.b), (link.b, link.a))
        if own.node == board_id
    )


def boards_at_switches(infrastructure: Infrastructure) -> dict[str, BoardNode]:
    return {board.id: board for board in infrastructure.boards if board.attached == "switch"}


def ports_of(board: BoardNode) -> tuple[str, ...]:
    """Its ports, by the names that links use."""
    return tuple(f"{end}{slot}" for slot in range(board.slots) for end in ("near", "far"))


def board_interface(board_id: str, port: str) -> str:
    """The interface of a port of a board at a switch."""
    end, slot = port.rstrip("0123456789"), int(port.lstrip("nearf"))
    plan = _slot(board_id, slot)
    return (plan.near if end == "near" else plan.far).board


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
        if board.attached == "switch":
            yield from _link_faults(board, infrastructure, place)
        other = stems.setdefault(fnv1a(board.id), board.id)
        if other != board.id:
            yield FieldFault(f"{place}/id", f"its interface names would clash with those of {other}: choose another")


def _link_faults(board: BoardNode, infrastructure: Infrastructure, place: str) -> Iterator[FieldFault]:
    wired = {end.port for link in infrastructure.links for end in (link.a, link.b) if end.node == board.id}
    if missing := [port for port in ports_of(board) if port not in wired]:
        detail = f"a board at a switch needs a link for each of its ports; there is none for {', '.join(missing)}"
        yield FieldFault(f"{place}/attached", detail)


def describe_to_agent(board: BoardPlan, sockets: BoardSockets, images: Path) -> dict[str, Any]:
    """An entry of the agent's `--boards` file."""
    return {
        "id": board.id,
        "backend": "simulated",
        "control": str(sockets.control),
        "events": str(sockets.events),
        "images": str(images),
        **({"attached": "switch"} if board.is_at_switch else {}),
        "slots": [
            {"near": slot.near.board, "far": slot.far.board}
            if board.is_at_switch
            else {"near": slot.near.engine, "far": slot.far.engine}
            for slot in board.slots
        ],
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
