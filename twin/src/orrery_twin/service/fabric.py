# SPDX-License-Identifier: Apache-2.0
"""Keeps the switches' flows as the last fabric spec says."""

import asyncio
import time

from orrery_twin.adapters import ovs
from orrery_twin.adapters.process import CommandFailed
from orrery_twin.contract.models import Fabric, FabricSpec, Infrastructure, Rule
from orrery_twin.domain.fabric import FabricProgram, compile_fabric
from orrery_twin.domain.refusal import Refused
from orrery_twin.domain.topology import BuildPlan
from orrery_twin.service.hub import Hub

COUNTERS_AGE_MAX_S = 0.5
EMPTY = FabricSpec(generation=0, rules=[])


class FabricControl:
    def __init__(self, hub: Hub) -> None:
        self.error: str | None = None
        self._hub = hub
        self._desired = EMPTY
        self._program: FabricProgram | None = None
        self._lock = asyncio.Lock()
        self._counters: dict[str, tuple[int, int]] = {}
        self._counters_at = 0.0

    def check(self, infrastructure: Infrastructure, plan: BuildPlan, spec: FabricSpec) -> None:
        """Raises Refused when the infrastructure cannot carry the rules."""
        compile_fabric(infrastructure, plan, spec)

    def want(self, spec: FabricSpec) -> None:
        """What to apply from now on; `apply` does it."""
        self._desired = spec

    async def apply(self, infrastructure: Infrastructure, plan: BuildPlan) -> None:
        """Brings the switches to the desired rules, or says in `error` why not; then they keep what they had."""
        async with self._lock:
            spec = self._desired
            try:
                program = compile_fabric(infrastructure, plan, spec)
            except Refused as refusal:
                self.error = str(refusal)
                self._hub.event("fabric.refused", "fabric", self.error, "error")
                if self._program is not None:
                    return
                program = compile_fabric(infrastructure, plan, EMPTY)
            else:
                self.error = None
            start = time.monotonic()
            await self._install(program)
            took_ms = (time.monotonic() - start) * 1000
            counts = f"{len(program.rule_of_cookie)} rules, in {took_ms:.0f} ms"
            self._hub.event("fabric.applied", "fabric", f"generation {program.generation}: {counts}")

    def forget(self) -> None:
        """The switches are gone."""
        self._program = None
        self._counters = {}

    async def state(self) -> Fabric:
        await self._read_counters()
        return self.last_state()

    def last_state(self) -> Fabric:
        program = self._program
        rules = []
        for rule_id in program.rule_of_cookie.values() if program else ():
            packets, octets = self._counters.get(rule_id, (0, 0))
            rules.append(Rule(id=rule_id, packets=packets, bytes=octets))
        return Fabric(generation=program.generation if program else 0, error=self.error, rules=rules)

    async def _install(self, program: FabricProgram) -> None:
        try:
            for bridge, content in program.switches.items():
                await ovs.install(bridge, content)
        except CommandFailed as failure:
            self.error = str(failure)
            self._hub.event("fabric.failed", "fabric", self.error, "error")
            raise
        self._program = program
        self._counters_at = 0.0

    async def _read_counters(self) -> None:
        program = self._program
        if not program or not program.rule_of_cookie or time.monotonic() - self._counters_at < COUNTERS_AGE_MAX_S:
            return
        self._counters_at = time.monotonic()
        totals: dict[str, tuple[int, int]] = {}
        try:
            for bridge in program.switches:
                for cookie, (packets, octets) in (await ovs.counters(bridge)).items():
                    rule_id = program.rule_of_cookie.get(cookie)
                    if rule_id is not None:
                        before = totals.get(rule_id, (0, 0))
                        totals[rule_id] = (before[0] + packets, before[1] + octets)
        except CommandFailed:
            return
        self._counters = totals
