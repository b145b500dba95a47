# SPDX-License-Identifier: Apache-2.0
import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from orrery_twin.adapters.process import CommandFailed
from orrery_twin.contract.models import FaultRequest
from orrery_twin.domain.refusal import Refused
from orrery_twin.service.faults import Faults
from orrery_twin.service.hub import Hub

LINK_DOWN = FaultRequest(kind="link-down", target="a-b")


class Network:
    fails = False
    up = True

    async def set_link(self, link: str, up: bool) -> None:
        await asyncio.sleep(0)
        self.up = up
        if self.fails:
            raise CommandFailed(["ip", "link"], 1, "no such device")


def faults_of(network: Network) -> tuple[Faults, Any]:
    plan = SimpleNamespace(link=lambda link_id: link_id)
    twin: Any = SimpleNamespace(plan=plan, faults={}, network=network, publish=lambda: None)
    return Faults(twin, Hub()), twin


def test_a_link_that_could_not_be_taken_down_is_no_fault() -> None:
    async def scenario() -> None:
        network = Network()
        faults, twin = faults_of(network)
        network.fails = True
        with pytest.raises(CommandFailed):
            await faults.make(LINK_DOWN)
        assert twin.faults == {}
        assert network.up
        network.fails = False
        fault = await faults.make(LINK_DOWN)
        assert twin.faults == {fault.id: fault}

    asyncio.run(scenario())


def test_one_of_two_requests_at_once_takes_a_link_down() -> None:
    async def scenario() -> None:
        faults, twin = faults_of(Network())
        answers = await asyncio.gather(faults.make(LINK_DOWN), faults.make(LINK_DOWN), return_exceptions=True)
        assert [isinstance(answer, Refused) for answer in answers] == [False, True]
        assert len(twin.faults) == 1

    asyncio.run(scenario())
