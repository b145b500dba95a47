# SPDX-License-Identifier: Apache-2.0
"""The samples of links when the kernel cannot be read."""

import asyncio
from pathlib import Path

import pytest

from orrery_twin.domain.shaping import LinkShape
from orrery_twin.domain.topology import EndPlan, LinkPlan
from orrery_twin.service import links
from orrery_twin.service.delay_lines import DelayLines
from orrery_twin.service.directories import Directories
from orrery_twin.service.hub import Hub
from orrery_twin.service.links import LinkSampler

LINK = LinkPlan(
    "a-b", EndPlan("sw1", "p1", "s1-p1", 1), EndPlan("sw2", "p1", "s2-p1", 1), True, LinkShape(1e9, 0, 0, 0, 1)
)


class Drops:
    broken = False

    def __init__(self, _: int | None) -> None:
        pass

    def read(self) -> dict[int, int]:
        if Drops.broken:
            raise TimeoutError("no answer")
        return {}

    def close(self) -> None:
        pass


def test_links_that_cannot_be_read_have_no_samples_until_they_can(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(links, "QueueDrops", Drops)
    monkeypatch.setattr(links, "overflow_by_interface", dict)
    monkeypatch.setattr(links, "INTERVAL_S", 0)
    hub = Hub()
    events: list[str] = []
    monkeypatch.setattr(hub, "event", lambda event, *_: events.append(event))

    async def until(count: int) -> None:
        async with asyncio.timeout(10):
            while len(events) < count:
                await asyncio.sleep(0)

    async def scenario() -> None:
        sampler = LinkSampler(hub, DelayLines(Directories(tmp_path, tmp_path), hub, lambda: None))
        await sampler.follow((LINK,), {})
        assert [one.link_id for one in sampler.latest] == ["a-b"]
        monkeypatch.setattr(Drops, "broken", True)
        await until(1)
        assert sampler.latest == []
        for _ in range(20):
            await asyncio.sleep(0)
        monkeypatch.setattr(Drops, "broken", False)
        await until(2)
        assert [one.link_id for one in sampler.latest] == ["a-b"]
        assert events == ["links.unread", "links.read"]
        await sampler.follow((), {})
        assert sampler.latest == []

    asyncio.run(scenario())
