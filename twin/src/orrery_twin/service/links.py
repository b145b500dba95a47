# SPDX-License-Identifier: Apache-2.0
"""Samples every link at 5 Hz, at its switch-side interface."""

import asyncio
import logging
import socket
import time

from orrery_twin.adapters.counters import QueueDrops, interface_bytes, is_up
from orrery_twin.adapters.packet_sockets import overflow_by_interface
from orrery_twin.contract.models import LinkSample
from orrery_twin.domain.rates import Reading, link_rates
from orrery_twin.domain.topology import LinkPlan
from orrery_twin.service.delay_lines import DelayLines
from orrery_twin.service.hub import Hub, now_ms

log = logging.getLogger(__name__)

INTERVAL_S = 0.2
INTERVALS_BETWEEN_DROP_READS = 5


class LinkSampler:
    def __init__(self, hub: Hub, lines: DelayLines) -> None:
        self.latest: list[LinkSample] = []
        self._hub = hub
        self._lines = lines
        self._links: tuple[LinkPlan, ...] = ()
        self._readings: dict[str, Reading] = {}
        self._near_drops: QueueDrops | None = None
        self._far_drops: dict[str, QueueDrops] = {}
        self._drops: dict[str, int] = {}
        self._unread = False
        self._task: asyncio.Task[None] | None = None

    async def follow(self, links: tuple[LinkPlan, ...], pid_of: dict[str, int]) -> None:
        """Sample these links from now on; rates and drops of links that were already sampled continue."""
        if self._near_drops is None:
            self._near_drops = await asyncio.to_thread(QueueDrops, None)
        stay = {link.id for link in links if link in self._links}
        for gone in self._far_drops.keys() - stay:
            self._far_drops.pop(gone).close()
        self._readings = {name: reading for name, reading in self._readings.items() if name in stay}
        self._drops = {name: drops for name, drops in self._drops.items() if name in stay}
        for link in links:
            if link.far.port is None and link.id not in stay:
                self._far_drops[link.id] = await asyncio.to_thread(QueueDrops, pid_of[link.far.node])
        self._links = links
        self._sample()
        if not links:
            await self._stop()
        elif self._task is None:
            self._task = asyncio.create_task(self._run())

    async def _stop(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self._unread = False

    async def _run(self) -> None:
        count = 0
        while True:
            self._try_sample(with_drops=count % INTERVALS_BETWEEN_DROP_READS == 0)
            if self._hub.is_watched:
                self._hub.links(self.latest)
            count += 1
            await asyncio.sleep(INTERVAL_S)

    def _try_sample(self, with_drops: bool) -> None:
        """Links that cannot be read have no sample until they can: an old sample would look current."""
        try:
            if with_drops or self._unread:
                self._read_drops()
            self._sample()
        except Exception as error:
            self.latest = []
            if not self._unread:
                log.exception("the links cannot be read")
                self._hub.event("links.unread", "twin", f"the links cannot be read: {error}"[:500], "warning")
            self._unread = True
            return
        if self._unread:
            self._hub.event("links.read", "twin", "the links can be read again")
        self._unread = False

    def _sample(self) -> None:
        counters = interface_bytes()
        t_s, t_ms = time.monotonic(), now_ms()
        samples = []
        for link in self._links:
            received, sent = counters.get(link.near.interface, (0, 0))
            reading = Reading(t_s, received, sent)
            a_to_b, b_to_a = link_rates(self._readings.get(link.id), reading, link.near_is_a)
            self._readings[link.id] = reading
            samples.append(
                LinkSample(
                    link_id=link.id,
                    t_ms=t_ms,
                    up=is_up(link.near.interface) and self._lines.carries(link),
                    a_to_b_bps=a_to_b,
                    b_to_a_bps=b_to_a,
                    utilization=max(a_to_b, b_to_a) / link.bandwidth_bps,
                    drops=self._drops.get(link.id, 0),
                )
            )
        self.latest = samples

    def _read_drops(self) -> None:
        if not self._near_drops:
            return
        near = self._near_drops.read()
        overflow = overflow_by_interface()
        for link in self._links:
            drops = self._lines.drops(link.id)
            for end in (link.near, link.far):
                if end.port is None:
                    continue
                try:
                    index = socket.if_nametoindex(end.interface)
                except OSError:
                    continue
                drops += near.get(index, 0) + overflow.get(index, 0)
            if far := self._far_drops.get(link.id):
                drops += far.read().get(far.index_of[link.far.interface], 0)
            self._drops[link.id] = drops
