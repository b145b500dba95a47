# SPDX-License-Identifier: Apache-2.0
import asyncio
import json
from typing import Any

import pytest

from orrery_twin.contract.models import LinkSample, ObservedApplications, TwinState
from orrery_twin.service.hub import EVENTS_WAITING_MAX, WATCHERS_MAX, Hub, TooManyWatchers


def state(generation: int = 1) -> TwinState:
    return TwinState(
        generation=generation,
        phase="up",
        error=None,
        nodes=[],
        links=[],
        faults=[],
        build_ms=None,
    )


def applications(generation: int = 1) -> ObservedApplications:
    return ObservedApplications(generation=generation, applications=[])


def sample(bps: float) -> LinkSample:
    return LinkSample(link_id="l", t_ms=1, up=True, a_to_b_bps=bps, b_to_a_bps=0, utilization=0, drops=0)


async def take(lines: Any, count: int) -> list[Any]:
    return [json.loads(await anext(lines)) for _ in range(count)]


def test_a_slow_watcher_gets_the_newest_sample_and_every_event() -> None:
    async def scenario() -> None:
        hub = Hub()
        lines = hub.watch(state, applications)
        whole = await take(lines, 2)
        assert (whole[0]["state"]["generation"], whole[1]["observed"]["generation"]) == (1, 1)
        for number in range(5):
            hub.links([sample(number)])
            hub.event("link.down", f"l{number}", "")
        told = await take(lines, 6)
        assert [line["subject"] for line in told if line["type"] == "event"] == ["l0", "l1", "l2", "l3", "l4"]
        assert [line["links"][0]["a_to_b_bps"] for line in told if line["type"] == "links"] == [4]

    asyncio.run(scenario())


def test_lost_events_are_counted() -> None:
    async def scenario() -> None:
        hub = Hub()
        lines = hub.watch(state, applications)
        await take(lines, 2)
        for number in range(EVENTS_WAITING_MAX + 7):
            hub.event("link.down", str(number), "")
        assert [line["event"] for line in await take(lines, EVENTS_WAITING_MAX)] == ["link.down"] * EVENTS_WAITING_MAX
        (overflow,) = await take(lines, 1)
        assert (overflow["event"], overflow["message"].split()[0]) == ("watch.overflow", "7")

    asyncio.run(scenario())


def test_watchers_are_limited_and_leave_when_they_close() -> None:
    async def scenario() -> None:
        hub = Hub()
        watchers = [hub.watch(state, applications) for _ in range(WATCHERS_MAX)]
        for lines in watchers:
            await anext(lines)
        with pytest.raises(TooManyWatchers):
            await anext(hub.watch(state, applications))
        await watchers[0].aclose()
        await anext(hub.watch(state, applications))

    asyncio.run(scenario())


def test_a_watcher_gets_signs_of_life_when_there_is_no_news() -> None:
    async def scenario() -> None:
        lines = Hub().watch(state, applications)
        async with asyncio.timeout(60):
            await take(lines, 2)
            assert [line["type"] for line in await take(lines, 3)] == ["state"] * 3

    asyncio.run(scenario())
