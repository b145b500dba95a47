# SPDX-License-Identifier: Apache-2.0
"""Publishes to watchers: states and samples replace older ones, events are kept in order."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Literal

from pydantic import BaseModel

from orrery_twin.contract.models import (
    LinkSample,
    ObservedApplications,
    TwinState,
    TwinWatchLineApplications,
    TwinWatchLineEvent,
    TwinWatchLineLinks,
    TwinWatchLineState,
)

log = logging.getLogger(__name__)

EVENTS_WAITING_MAX = 1000
WATCHERS_MAX = 32
ALIVE_INTERVAL_S = 0.5
"""A watcher that gets nothing else for so long gets the state again, as a sign of life."""
Severity = Literal["info", "warning", "error"]
LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def now_ms() -> float:
    return round(time.time() * 1000, 3)


class TooManyWatchers(Exception):
    pass


class _Watcher:
    def __init__(self) -> None:
        self.events: deque[str] = deque()
        self.lost_events = 0
        self.latest: dict[str, BaseModel] = {}
        self.wake = asyncio.Event()


class Hub:
    def __init__(self) -> None:
        self._watchers: set[_Watcher] = set()

    @property
    def is_watched(self) -> bool:
        return bool(self._watchers)

    def event(self, event: str, subject: str, message: str, severity: Severity = "info") -> None:
        """`event` is a TwinEventType of the contract, which declares what users see; `severity` is for the log."""
        log.log(LEVELS[severity], "%s %s: %s", event, subject, message)
        line = _event_line(event, subject, message)
        for watcher in self._watchers:
            if len(watcher.events) >= EVENTS_WAITING_MAX:
                watcher.lost_events += 1
            else:
                watcher.events.append(line)
            watcher.wake.set()

    def state(self, state: TwinState) -> None:
        self._replace(TwinWatchLineState(type="state", state=state))

    def links(self, links: list[LinkSample]) -> None:
        self._replace(TwinWatchLineLinks(type="links", links=links))

    def applications(self, observed: ObservedApplications) -> None:
        self._replace(TwinWatchLineApplications(type="applications", observed=observed))

    def _replace(self, line: TwinWatchLineState | TwinWatchLineLinks | TwinWatchLineApplications) -> None:
        for watcher in self._watchers:
            watcher.latest[line.type] = line
            watcher.wake.set()

    async def watch(
        self, state: Callable[[], TwinState], applications: Callable[[], ObservedApplications]
    ) -> AsyncGenerator[str, None]:
        """Lines of NDJSON, starting with the whole state and the applications, which are told only when they change.
        Raises TooManyWatchers.
        """
        if len(self._watchers) >= WATCHERS_MAX:
            raise TooManyWatchers
        watcher = _Watcher()
        watcher.latest["state"] = TwinWatchLineState(type="state", state=state())
        watcher.latest["applications"] = TwinWatchLineApplications(type="applications", observed=applications())
        watcher.wake.set()
        self._watchers.add(watcher)
        try:
            while True:
                try:
                    async with asyncio.timeout(ALIVE_INTERVAL_S):
                        await watcher.wake.wait()
                except TimeoutError:
                    watcher.latest["state"] = TwinWatchLineState(type="state", state=state())
                watcher.wake.clear()
                if "state" in watcher.latest:
                    yield _line(watcher.latest.pop("state"))
                while watcher.events:
                    yield watcher.events.popleft()
                if watcher.lost_events:
                    lost, watcher.lost_events = watcher.lost_events, 0
                    yield _event_line("watch.overflow", "twin", f"{lost} events were not delivered")
                while watcher.latest:
                    yield _line(watcher.latest.pop(next(iter(watcher.latest))))
        finally:
            self._watchers.discard(watcher)


def _event_line(event: str, subject: str, message: str) -> str:
    return _line(TwinWatchLineEvent(type="event", event=event, subject=subject, message=message, t_ms=now_ms()))


def _line(line: BaseModel) -> str:
    """The contract requires optional fields to be left out, not null."""
    return line.model_dump_json(by_alias=True, exclude_unset=True)
