# SPDX-License-Identifier: Apache-2.0
"""The network as built, and changes to it, which disturb nothing that stays the same."""

from itertools import groupby

from orrery_twin.adapters.network import Network
from orrery_twin.domain.changes import after, can_be_done, settled, steps_between
from orrery_twin.domain.topology import NOTHING, BuildPlan


class ChangeFailed(Exception):
    """Some elements are not as desired; all others are."""

    def __init__(self, failures: dict[str, str]) -> None:
        super().__init__("; ".join(f"{element}: {reason}" for element, reason in failures.items()))


class Substrate:
    """`failures`: why elements are not as last desired, by ID. Boards are handled elsewhere."""

    def __init__(self) -> None:
        self.network = Network()
        self.built: BuildPlan = NOTHING
        self.failures: dict[str, str] = {}

    async def bring_to(self, wanted: BuildPlan) -> None:
        """Continue past failures, and raise ChangeFailed at the end. The same call again does what is left."""
        self.failures = {}
        steps = list(steps_between(self.built, wanted))
        for verb, group in groupby(steps, key=lambda step: step.verb):
            batch = list(group)
            feasible = [step for step in batch if can_be_done(step, self.built)]
            failures = await self.network.do(verb, [step.element for step in feasible])
            for step in feasible:
                if step.element.id not in failures:
                    self.built = after(self.built, step)
            self.failures |= {f"{verb} {element}": reason for element, reason in failures.items()}
            for step in batch:
                if step not in feasible:
                    self.failures[f"{verb} {step.element.id}"] = "what it depends on could not be created or removed"
        self.built = settled(self.built, wanted)
        if self.failures:
            raise ChangeFailed(self.failures)
