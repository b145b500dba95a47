# SPDX-License-Identifier: Apache-2.0
"""A crypto tunnel as a board runs it, beside its golden model; the test plays the host."""

from __future__ import annotations

from collections import Counter
from typing import Any

from model.crypto_tunnel import CryptoTunnel, Session, Tunnel
from model.packet import FRAME_BYTES_MAX
from model.verdict import Verdict
from tb.common.axis import Sent
from tb.common.verilated import VerilatedSlot

ENABLE, CLEAR = 1, 2
READ, PUT = 1, 2
QUARTERS = 4  # of a window, each an entry


def settings(tunnel: Tunnel, next_session: int) -> list[tuple[str, int, int]]:
    """Registers, indices and values."""
    words = [int.from_bytes(tunnel.key[at : at + 4], "little") for at in range(0, 32, 4)]
    return [
        ("OPTIONS", 0, tunnel.protects | tunnel.is_256 << 1 | tunnel.udp << 2 | tunnel.clamp_mss << 3),
        ("LOCAL", 0, tunnel.local),
        ("PEER", 0, tunnel.peer),
        ("LARGEST", 0, tunnel.largest),
        ("SESSION_PACKETS", 0, tunnel.session_packets),
        ("NEXT_SESSION", 0, next_session),
        *(("KEY", n, word) for n, word in enumerate(words)),
        ("CONTROL", 0, ENABLE),
    ]


def window_words(session: Session) -> list[int]:
    """The window as the ring of RFC 6479: 16 words of 64 bits."""
    words = [0] * 16
    for sequence in session.window.seen:
        words[sequence // 64 % 16] |= 1 << sequence % 64
    return words


def masked(words: list[int], highest: int) -> list[int]:
    """Without the numbers that are too old to matter."""
    kept = [0] * 16
    for sequence in range(max(1, highest - 959), highest + 1):
        kept[sequence // 64 % 16] |= words[sequence // 64 % 16] & 1 << sequence % 64
    return kept


class End:
    def __init__(self, tunnel: Tunnel, next_session: int = 7, iv: int = (1 << 64) - 3) -> None:
        self.slot = VerilatedSlot("nf_crypto_tunnel")
        self.model = CryptoTunnel(tunnel, next_session, iv)
        self.waiting: list[Sent] = []
        self.expected: list[Sent] = []
        self.drops: Counter[str] = Counter()
        self.sent = self.forwarded = self.oversize = 0
        self.configure()
        for n in range(2):
            self.slot.write("IV", iv >> 32 * n & 0xFFFFFFFF, n)

    def configure(self, **changes: Any) -> None:
        self.model.configure(**changes)
        for name, index, value in settings(self.model.tunnel, self.model.next_session):
            self.slot.write(name, value, index)

    def send(self, frame: bytes, direction: int = 0) -> Verdict:
        self.waiting.append(Sent(frame, direction))
        self.sent += 1
        if len(frame) > FRAME_BYTES_MAX:
            self.oversize += 1
            return Verdict(drop_reason="oversize")
        verdict = self.model.process(frame, direction)
        if verdict.drop_reason:
            self.drops[verdict.drop_reason] += 1
        else:
            self.expected.append(Sent(verdict.frame, direction))
        return verdict

    def check(self, **ends: Any) -> None:
        """Let what was sent pass, back to back, and compare."""
        got = self.slot.run(self.waiting, **ends)
        for n, (one, want) in enumerate(zip(got, self.expected, strict=False)):
            assert one == want, f"frame {n}: {one.frame.hex()} is not {want.frame.hex()}"
        assert len(got) == len(self.expected)
        self.forwarded += len(got)
        self.waiting.clear()
        self.expected.clear()
        assert self.slot.read("FRAMES_IN") == self.sent
        assert self.slot.read("FRAMES_OUT") == self.forwarded
        assert self.slot.read("OVERSIZE") == self.oversize
        for n, reason in enumerate(self.slot.description.drops):
            assert self.slot.read("DROPS" if n < 4 else "MORE_DROPS", n % 4) == self.drops[reason], reason

    def check_sessions(self) -> None:
        model = self.model
        summary = self.slot.table_command(READ, 0)
        assert summary[0] == model.spi and summary[6] == int(model.outbound is not None)
        if model.outbound:
            assert summary[1] == model.sent
        for n, session in enumerate([*model.inbound, None, None][:2]):
            assert summary[2 + 2 * n] == (session.spi if session else 0)
            if session is None:
                continue
            assert summary[3 + 2 * n] == session.window.highest
            halves: list[int] = []
            for quarter in range(QUARTERS):
                halves += self.slot.table_command(READ, 1 + QUARTERS * n + quarter)
            words = [halves[at] | halves[at + 1] << 32 for at in range(0, 32, 2)]
            assert masked(words, session.window.highest) == window_words(session)

    def merge(self, outbound: int, other: Session | None) -> None:
        """Both take in the sessions of another instance."""
        self.model.end_outbound(outbound)
        if other is not None:
            halves = [half for word in window_words(other) for half in (word & 0xFFFFFFFF, word >> 32)]
            for quarter in range(QUARTERS):
                self.slot.table_command(PUT, 1 + quarter, halves[8 * quarter : 8 * quarter + 8])
            self.model.merge(other.spi, other.window.highest, other.window.seen)
        ends = [outbound, other.spi if other else 0, other.window.highest if other else 0]
        self.slot.table_command(PUT, 0, [*ends, 0, 0, 0, 0, 0])

    def pace(self, frame: bytes, count: int) -> float:
        """Cycles a frame at full load."""
        before = self.slot.cycles
        for _ in range(count):
            self.send(frame)
        self.check()
        return (self.slot.cycles - before) / count
