# SPDX-License-Identifier: Apache-2.0
"""The crypto tunnel's RTL against its golden model and against the engine's NF, byte for byte, as a board runs it; and
on Icarus, which knows undefined values.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from model.crypto_tunnel import Keys, Session, Window
from model.random_frames import is_for_software_alone
from model.test_crypto_tunnel_against_software import REASONS, SETTINGS, first_session, software
from model.tunnel_traffic import FarEnd, near_end, traffic
from tb.common.axis import Sent, seldom
from tb.common.frames import overlong, udp
from tb.common.simulate import simulate
from tb.common.verilated import VerilatedSlot
from tb.crypto_tunnel.end import CLEAR, ENABLE, End, settings

PLAIN = udp(0x0A000001, 0x0A000002, 1000, 53, bytes(18))


def test_on_icarus() -> None:
    simulate("nf_crypto_tunnel", ["common", "crypto", "nf_crypto_tunnel"], "tb.crypto_tunnel.bench_crypto_tunnel")


def test_hmac() -> None:
    simulate("hmac_sha256", ["crypto"], "tb.crypto_tunnel.bench_hmac")


@pytest.mark.parametrize("changes", SETTINGS.values(), ids=SETTINGS.keys())
def test_board_and_software_send_the_same_bytes(changes: dict[str, Any]) -> None:
    tunnel = near_end(**changes)
    records = [record for record in traffic(tunnel, 2, 400) if not is_for_software_alone(record[1])]
    answers = software(tunnel, records)
    spi, iv = first_session(tunnel, answers[0][1])
    slot = VerilatedSlot("nf_crypto_tunnel")
    for name, index, value in settings(tunnel, spi):
        slot.write(name, value, index)
    for n in range(2):
        slot.write("IV", iv >> 32 * n & 0xFFFFFFFF, n)
    got = slot.run([Sent(frame, back) for back, frame in records])
    left = [(n, Sent(out, records[n][0])) for n, (reason, out) in enumerate(answers) if reason is None]
    for one, (n, want) in zip(got, left, strict=False):
        assert one == want, f"frame {n}: {records[n][1].hex()}"
    assert len(got) == len(left)
    dropped = Counter(reason for reason, _ in answers)
    for n, reason in enumerate(slot.description.drops):
        assert slot.read("DROPS" if n < 4 else "MORE_DROPS", n % 4) == dropped[reason], reason
    assert set(dropped) >= REASONS


@pytest.mark.parametrize(("idle", "stall"), [(0.0, 0.0), (0.3, 0.5)])
def test_model_and_rtl_send_the_same_bytes(idle: float, stall: float) -> None:
    """With IPv6, two tags and frames that are too long, too."""
    tunnel = near_end(is_256=stall > 0)
    end = End(tunnel)
    for n, (direction, frame) in enumerate(traffic(tunnel, 3, 250)):
        end.send(frame, direction)
        if n % 50 == 10:
            end.send(overlong(PLAIN, 2049 + n), direction)
    end.check(idle=seldom(1, idle), stall=seldom(2, stall))
    end.check_sessions()
    figures = [end.slot.read(name) for name in ("PROTECTED_PACKETS", "UNPROTECTED_PACKETS", "ARP")]
    assert sum(figures) == end.forwarded and all(figures)
    assert end.drops["unsupported"] > 0 and end.slot.read("SESSIONS_SENT") == 1


def test_sessions_end_where_their_keys_do() -> None:
    end = End(near_end())
    far = FarEnd(end.model.tunnel, Random(5))
    numbers = []

    def exchange() -> None:
        end.send(PLAIN)
        end.send(far.sealed(PLAIN) or b"", 1)
        end.check()
        end.check_sessions()
        numbers.append(end.model.spi)

    exchange()
    changes: list[dict[str, Any]] = [
        {"mtu": 800, "clamp_mss": False},
        {"session_packets": 5},
        {"session_packets": 0xFFFFFFFF},
        {"is_256": True},
        {"key": bytes(31) + b"\x01"},
        {"local": 0x01020304},
        {"peer": 0x05060708},
        {},
    ]
    for change in changes:
        end.configure(**change)
        if change.keys() & {"is_256", "key", "local", "peer"}:
            far = FarEnd(end.model.tunnel, Random(6))
        exchange()
    assert numbers == [7, 7, 8, 9, 10, 11, 12, 13, 13]
    end.slot.write("CONTROL", ENABLE | CLEAR)
    end.model.outbound, end.model.inbound = None, []
    end.sent = end.forwarded = 0
    exchange()
    assert numbers[-1] == 14


def test_numbers_run_out() -> None:
    end = End(near_end(session_packets=3), next_session=0xFFFFFFFE)
    assert [end.send(PLAIN).drop_reason for _ in range(8)] == [None] * 6 + ["exhausted"] * 2
    end.check()
    assert end.slot.read("SESSIONS_SENT") == 2


def test_sessions_move() -> None:
    """What another instance received is not received again, and what it sent is not counted on from."""
    end = End(near_end())
    tunnel = end.model.tunnel
    far = FarEnd(tunnel, Random(8))
    rng = Random(9)

    def other(spi: int, highest: int, share: float) -> Session:
        seen = {n for n in range(max(1, highest - 959), highest + 1) if n == highest or rng.random() < share}
        return Session(spi, Keys(tunnel, tunnel.peer, tunnel.local, spi), Window(highest, seen))

    sessions = [
        other(1000, 900, 0.5),  # nothing came here yet
        other(1000, 950, 0.5),
        other(1000, 3000, 0.9),
        other(1000, 40, 0.9),
        other(900, 100, 0.5),  # the one before
        other(800, 100, 0.5),  # too late
        other(2000, 70, 0.5),  # a later one
        None,
        other(1500, 5000, 1.0),  # between the two
    ]
    for n, session in enumerate(sessions):
        end.merge(5 * n, session)
        end.check_sessions()
        end.send(PLAIN)
        for gap in (0, 0, 30, 0, 700, 0, 0):
            far.end.sent += gap
            end.send(far.sealed(PLAIN) or b"", 1)
        end.check()
        end.check_sessions()
    assert [one.spi for one in end.model.inbound] == [2000, 1500]
    assert end.drops["replayed"] > 0 and end.model.spi == 41


def test_pace() -> None:
    """Bound by the cipher: 26 cycles for 16 bytes of AES-128, 32 of AES-256."""
    long = udp(0x0A000001, 0x0A000002, 1000, 53, bytes(1410))
    for is_256, cycles in ((False, 26), (True, 32)):
        end = End(near_end(is_256=is_256))
        end.pace(PLAIN, 1)
        short, most = end.pace(PLAIN, 8), end.pace(long, 8)
        assert (most - short) / (len(long) - len(PLAIN)) < cycles / 16 + 0.3
        assert short < 500
