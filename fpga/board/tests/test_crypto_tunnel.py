# SPDX-License-Identifier: Apache-2.0
"""A crypto tunnel between two slots of a live board."""

from collections.abc import Callable, Iterator

from board.host.board_process import FPGA, Board, Images
from model.crypto_tunnel import CryptoTunnel, Tunnel
from model.packet import VLAN
from model.random_frames import SERVICE_VLAN
from model.tunnel_traffic import far_end, near_end, traffic
from regs.description import read_common, read_description
from tb.crypto_tunnel.end import settings

from .test_traffic import send
from .traffic import Receiver

FIRST_SESSION, FIRST_IV = 7, (1 << 64) - 3
TAGS = {VLAN.to_bytes(2, "big"), SERVICE_VLAN.to_bytes(2, "big")}


def writes(tunnel: Tunnel) -> Iterator[list[int]]:
    """Addresses and values."""
    common = read_common(FPGA / "regs/common.yaml")
    registers = common + read_description(FPGA / "regs/nf_crypto_tunnel.yaml", common).registers
    by_name = {register.name: register for register in registers}
    iv = [("IV", n, FIRST_IV >> 32 * n & 0xFFFFFFFF) for n in range(2)]
    for name, index, value in [*iv, *settings(tunnel, FIRST_SESSION)]:
        yield [by_name[name].address + index * by_name[name].stride, value]


def test_both_ends_send_the_bytes_of_their_models(start: Callable[..., Board], images: Images) -> None:
    near = near_end()
    board = start(slots=2)
    # The kernel takes tags away from those who receive.
    frames = [frame for direction, frame in traffic(near, 4, 400) if direction == 0 and frame[12:14] not in TAGS]
    for slot, tunnel in enumerate((near, far_end(near))):
        board.load(images.partial("ecp5", "nf_crypto_tunnel", slot), slot)
        board.call("csr_write", slot=slot, writes=list(writes(tunnel)))
        board.call("resume", slot=slot)
        model = CryptoTunnel(tunnel, FIRST_SESSION, FIRST_IV)
        verdicts = [model.process(frame) for frame in frames]
        expected = [verdict.frame for verdict in verdicts if verdict.drop_reason is None]
        receiver = Receiver(f"far{slot}-x")
        send(f"near{slot}-x", frames)
        assert receiver.take(len(expected)) == expected
        assert board.slot(slot)["counters"]["frames_in"] == len(frames)
        receiver.close()
        frames = expected
    assert len(frames) > 100
