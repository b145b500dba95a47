# SPDX-License-Identifier: Apache-2.0
"""Traffic through a NAT whose host answers late."""

from __future__ import annotations

import random as stdlib_random
from collections import defaultdict

from model.nat import End, Nat
from model.packet import FRAME_BYTES_MAX, parse
from tb.common.slot_host import ENABLE, PUT, VALID, SlotHost
from tb.nat.translator import PUBLIC


def inside_of(frame: bytes) -> bytes:
    """What frames of one flow and direction have in common."""
    headers = parse(frame)
    return b"%d %d %d %d %d" % (
        headers.protocol,
        headers.src_ip,
        headers.src_port,
        headers.dst_ip if headers.src_ip >> 16 == PUBLIC >> 16 else headers.dst_port,
        headers.icmp_id,
    )


async def answered_late(slot: SlotHost, sent: list[tuple[bytes, bool]]) -> None:
    """Traffic with a host that answers late: frames match the model, in the order of their flow."""
    await slot.start()
    await slot.write("CONTROL", ENABLE)
    model = Nat()
    chance = stdlib_random.Random(len(sent))
    for frame, back in sent:
        slot.source.send(frame, int(back))
    answered = 0
    while True:
        for event in await slot.events():
            src, _, ports, protocol = event[1:5]
            inside, outside = End(src, ports >> 16), End(PUBLIC, 40000 + answered)
            assert model.put(protocol, inside, outside), "a second miss of a flow that was answered"
            answered += 1
            await slot.cycles(chance.randrange(200))
            entry = [inside.address, outside.address, inside.port << 16 | outside.port, protocol, 0, 0, 0, 0]
            assert (await slot.table(PUT, entry=entry))[0] & VALID
        if not slot.source.waiting and await slot.read("MISSES_WAITING") == 0:
            await slot.settle()
            if await slot.read("EVENT_COUNT") == 0:
                break
    drops = [await slot.read("DROPS", n) for n in range(4)]
    oversize = sum(1 for frame, _ in sent if len(frame) > FRAME_BYTES_MAX)
    assert await slot.read("FRAMES_IN") == len(sent)
    assert await slot.read("FRAMES_OUT") == len(slot.sink.frames) == len(sent) - sum(drops) - oversize
    assert await slot.read("OVERSIZE") == oversize

    # With all translations known, the model says what each frame becomes. A flow may lack frames that met a full buffer
    # or returned before the translation, but the others are in order.
    expected: dict[tuple[int, bytes], list[bytes]] = defaultdict(list)
    untranslated = 0
    for frame, back in sent:
        if len(frame) > FRAME_BYTES_MAX:
            continue
        verdict = model.process(frame, int(back))
        untranslated += verdict.waits or verdict.drop_reason in ("no-translation", "miss-buffer-full")
        if verdict.frame:
            expected[int(back), inside_of(verdict.frame)].append(verdict.frame)
    seen: dict[tuple[int, bytes], list[bytes]] = defaultdict(list)
    for out in slot.sink.frames:
        seen[out.user, inside_of(out.frame)].append(out.frame)
    for flow, out_frames in seen.items():
        rest = iter(expected[flow])
        assert all(frame in rest for frame in out_frames), flow  # a subsequence
    missing = sum(map(len, expected.values())) - len(slot.sink.frames)
    assert missing == drops[0] + drops[1] - untranslated
    assert answered >= 8 and len(slot.sink.frames) > 100
