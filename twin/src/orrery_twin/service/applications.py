# SPDX-License-Identifier: Apache-2.0
"""The declared applications of the emulated hosts: started and kept running; only what changed is touched."""

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orrery_twin.adapters.process import BoundedLog
from orrery_twin.applications.kind import Place
from orrery_twin.applications.registry import KINDS
from orrery_twin.contract.models import (
    ApplicationSpec,
    ApplicationsSpec,
    ApplicationState,
    ObservedApplication,
    ObservedApplications,
)
from orrery_twin.domain.refusal import FieldFault, Refused, pointer
from orrery_twin.service.application_journal import ApplicationJournal, Entry
from orrery_twin.service.application_run import ApplicationRun
from orrery_twin.service.hub import Hub, Severity, now_ms
from orrery_twin.service.pcaps import Pcaps
from orrery_twin.service.twin import Twin

log = logging.getLogger(__name__)

LOOK_INTERVAL_S = 1.0
"""How often hosts that come and go are noticed, and metrics are published."""
SEVERITIES: dict[ApplicationState, Severity] = {
    "running": "info",
    "completed": "info",
    "unresponsive": "warning",
    "failed": "warning",
}
"""States that raise an event."""


@dataclass(frozen=True)
class Here:
    """Place of a run: if any of it changes, a new run starts."""

    spec: ApplicationSpec
    host_pid: int
    interface: str


@dataclass
class Idle:
    """An application that has no run."""

    state: ApplicationState
    detail: str | None
    since_ms: float


class Applications:
    def __init__(self, twin: Twin, pcaps: Pcaps, hub: Hub, journal: ApplicationJournal, logs: Path) -> None:
        self._twin = twin
        self._pcaps = pcaps
        self._hub = hub
        self._journal = journal
        self._logs = logs
        self._entries = journal.read()
        self._desired = ApplicationsSpec(generation=0, applications=[])
        self._runs: dict[str, tuple[Here, ApplicationRun]] = {}
        self._idle: dict[str, Idle] = {}
        self._told_state: dict[str, ApplicationState] = {}
        self._told: ObservedApplications | None = None
        self._is_told = False
        self._is_saved = True
        self._error: str | None = None
        self._work = asyncio.Event()
        self._changing = asyncio.Lock()
        twin.before_nodes_leave.append(self._stop_at)
        twin.when_up.append(self._work.set)

    def want(self, spec: ApplicationsSpec) -> None:
        """Declare the applications; `run` starts them. Raises Refused if two have the same ID."""
        ids = [each.definition.id for each in spec.applications]
        faults = [
            FieldFault(pointer("applications", index, "definition", "id"), f"{name} is used twice")
            for index, name in enumerate(ids)
            if ids.index(name) != index
        ]
        if faults:
            raise Refused("application ids must be unique", faults)
        self._desired = spec
        self._is_told = True
        self._work.set()

    def observed(self) -> ObservedApplications:
        items = [self._observe(spec) for spec in self._desired.applications]
        return ObservedApplications(generation=self._desired.generation, applications=items)

    def replays(self, pcap_id: str) -> bool:
        """Whether an application that is not over replays the capture."""
        return any(
            spec.definition.enabled
            and getattr(spec.definition.config, "pcap_id", None) == pcap_id
            and not self._is_over(spec)
            for spec in self._desired.applications
        )

    async def run(self) -> None:
        """Reconcile and publish to watchers until cancelled; what fails is reported and tried again."""
        while True:
            try:
                await asyncio.wait_for(self._work.wait(), LOOK_INTERVAL_S)
            except TimeoutError:
                pass
            self._work.clear()
            # Before the first declaration, nothing is known to be unwanted.
            if not self._is_told:
                continue
            try:
                async with self._changing:
                    await self._reconcile()
                if not self._is_saved:
                    self._save()
                self._publish()
            except Exception as error:
                if self._report(f"applications cannot be updated: {error!r}"):
                    log.exception("updating the applications failed")
            else:
                if self._is_saved:
                    self._error = None

    async def _stop_at(self, nodes: Collection[str]) -> None:
        async with self._changing:
            gone = [name for name, (here, _) in self._runs.items() if here.spec.definition.node in nodes]
            stopped = [self._runs.pop(name)[1] for name in gone]
            await asyncio.gather(*(run.stop() for run in stopped))

    async def _reconcile(self) -> None:
        wanted = {spec.definition.id: spec for spec in self._desired.applications}
        places = {name: self._place(spec) for name, spec in wanted.items()}
        gone = [name for name, (here, _) in self._runs.items() if places.get(name) != here]
        stopped = [self._runs.pop(name)[1] for name in gone]
        await asyncio.gather(*(run.stop() for run in stopped))
        self._forget(wanted)
        for name, spec in wanted.items():
            here = places[name]
            if name in self._runs or self._is_over(spec):
                continue
            if isinstance(here, Here):
                self._idle.pop(name, None)
                self._start(here)
            else:
                self._rest(name, here)

    def _place(self, spec: ApplicationSpec) -> "Here | Idle":
        """Where it should run now; otherwise why it does not."""
        definition = spec.definition
        if not definition.enabled:
            return Idle("stopped", None, now_ms())
        plan = self._twin.plan
        if plan is None:
            return Idle("stopped", "the twin is not up", now_ms())
        link = plan.link_of(definition.node)
        pid = self._twin.network.pid_of.get(definition.node)
        if link is None or pid is None:
            return Idle("failed", f"no host {definition.node} in the twin", now_ms())
        return Here(spec, pid, link.far.interface)

    def _start(self, here: Here) -> None:
        definition = here.spec.definition
        entry = self._entries.get(definition.id)
        if entry is None:
            entry = Entry(spec=here.spec, started_ms=now_ms())
            self._entries[definition.id] = entry
            self._save()
        run = ApplicationRun(
            KINDS[definition.kind],
            Place(here.interface, here.spec.address, self._pcap_file),
            here.host_pid,
            BoundedLog(self._logs / f"application-{definition.id}.log"),
            _remaining(definition.config, entry.started_ms),
            lambda: self._changed(definition.id),
        )
        self._runs[definition.id] = here, run

    def _rest(self, name: str, idle: Idle) -> None:
        before = self._idle.get(name)
        if before is None or (before.state, before.detail) != (idle.state, idle.detail):
            self._idle[name] = idle
            self._tell(name, idle.state, idle.detail)

    def _forget(self, wanted: dict[str, ApplicationSpec]) -> None:
        """Runs that no longer match their declaration."""
        kept = {name: entry for name, entry in self._entries.items() if name in wanted and entry.is_of(wanted[name])}
        if len(kept) != len(self._entries):
            self._entries = kept
            self._save()
        for known in (self._idle, self._told_state):
            for name in [name for name in known if name not in wanted]:
                del known[name]

    def _changed(self, name: str) -> None:
        """Called when the state of a run changes."""
        _, run = self._runs[name]
        if run.state == "completed":
            entry = self._entries[name]
            entry.completed_ms, entry.metrics, entry.detail = run.since_ms, run.metrics, run.detail
            self._save()
        self._tell(name, run.state, run.detail)
        self._publish()

    def _save(self) -> None:
        """If the journal cannot be written, `run` tries again; applications do not wait for it."""
        try:
            self._journal.write(self._entries)
            self._is_saved = True
        except OSError as error:
            self._is_saved = False
            self._report(f"the journal of applications cannot be written: {error}")

    def _report(self, error: str) -> bool:
        """Send an event unless this is still the same error; return whether it is a new one."""
        is_new = error != self._error
        if is_new:
            self._error = error
            self._hub.event("twin.applications-failed", "twin", error[:2000], "error")
        return is_new

    def _tell(self, name: str, state: ApplicationState, detail: str | None) -> None:
        if self._told_state.get(name) == state:
            return
        self._told_state[name] = state
        if state in SEVERITIES:
            self._hub.event(f"application.{state}", name, detail or state, SEVERITIES[state])

    def _publish(self) -> None:
        observed = self.observed()
        if self._hub.is_watched and observed != self._told:
            self._told = observed
            self._hub.applications(observed)

    def _is_over(self, spec: ApplicationSpec) -> bool:
        entry = self._entries.get(spec.definition.id)
        return entry is not None and entry.is_of(spec) and entry.completed_ms is not None

    def _observe(self, spec: ApplicationSpec) -> ObservedApplication:
        name = spec.definition.id
        common: dict[str, Any] = {"id": name, "revision": spec.revision}
        here, run = self._runs.get(name, (None, None))
        if here and run and here.spec == spec:
            return ObservedApplication(
                **common,
                state=run.state,
                since_ms=run.since_ms,
                detail=run.detail,
                restarts=run.restarts,
                pid=run.pid,
                metrics=run.metrics,
            )
        entry = self._entries.get(name)
        if entry and self._is_over(spec):
            idle = Idle("completed", entry.detail, entry.completed_ms or 0)
        else:
            idle = self._idle.get(name) or Idle("starting" if spec.definition.enabled else "stopped", None, now_ms())
        metrics = entry.metrics if entry and self._is_over(spec) else {}
        return ObservedApplication(
            **common,
            state=idle.state,
            since_ms=idle.since_ms,
            detail=idle.detail,
            restarts=0,
            pid=None,
            metrics=metrics,
        )

    def _pcap_file(self, pcap_id: str) -> Path | None:
        return self._pcaps.file(pcap_id) if self._pcaps.get(pcap_id) else None


def _remaining(config: Any, started_ms: float) -> Callable[[], Any | None]:
    """The rest of a run; a count of requests or loops starts again."""

    def remaining() -> Any | None:
        duration_s: float = getattr(config, "duration_s", 0)
        if not duration_s:
            return config
        left_s = duration_s - (now_ms() - started_ms) / 1000
        return config.model_copy(update={"duration_s": left_s}) if left_s > 0 else None

    return remaining
