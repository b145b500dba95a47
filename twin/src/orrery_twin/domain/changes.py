# SPDX-License-Identifier: Apache-2.0
"""The steps from the built network to the desired one; they touch nothing else."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from orrery_twin.domain.topology import BuildPlan, LinkPlan, NodePlan, SwitchPlan

Element = SwitchPlan | NodePlan | LinkPlan
Plan = TypeVar("Plan", SwitchPlan, NodePlan, LinkPlan)
Verb = Literal[
    "remove-link",
    "remove-node",
    "unplug-link",
    "remove-switch",
    "add-switch",
    "add-node",
    "add-link",
    "plug-link",
    "reshape-link",
]


@dataclass(frozen=True)
class Step:
    verb: Verb
    element: Element


def steps_between(built: BuildPlan, wanted: BuildPlan) -> Iterator[Step]:
    """In a feasible order: links are removed before the nodes and switches that they need, and added after them.

    A link whose switch changes its driver is unplugged from the one and plugged into the other: its interfaces stay,
    and with them what has opened them.
    """
    links_before = {link.id: link for link in built.links}
    links_after = {link.id: link for link in wanted.links}
    nodes_before = {(node.id, node.kind): node for node in built.nodes}
    nodes_after = {(node.id, node.kind): node for node in wanted.nodes}

    for link_id, link in links_before.items():
        if link_id not in links_after or not _same_wiring(link, links_after[link_id]):
            yield Step("remove-link", link)
    stays = {
        link_id: link
        for link_id, link in links_before.items()
        if link_id in links_after and _same_wiring(link, links_after[link_id])
    }
    for key, node in nodes_before.items():
        if key not in nodes_after:
            yield Step("remove-node", node)
    for link_id, link in stays.items():
        if link != _unplugged(link) and _drivers(link) != _drivers(links_after[link_id]):
            yield Step("unplug-link", _unplugged(link))
    for switch in built.switches:
        if switch not in wanted.switches:
            yield Step("remove-switch", switch)
    for switch in wanted.switches:
        if switch not in built.switches:
            yield Step("add-switch", switch)
    for key, node in nodes_after.items():
        if key not in nodes_before:
            yield Step("add-node", node)
    for link_id, link in links_after.items():
        if link_id not in stays:
            yield Step("add-link", link)
    for link_id, before in stays.items():
        if _drivers(before) != _drivers(links_after[link_id]):
            yield Step("plug-link", replace(links_after[link_id], shape=before.shape))
    for link_id, before in stays.items():
        if before.shape != links_after[link_id].shape:
            yield Step("reshape-link", links_after[link_id])


def after(built: BuildPlan, step: Step) -> BuildPlan:
    """What is built after the step."""
    element = step.element
    remains = step.verb not in ("remove-link", "remove-node", "remove-switch")
    match element:
        case SwitchPlan():
            return replace(built, switches=_put(built.switches, element, remains))
        case NodePlan():
            return replace(built, nodes=_put(built.nodes, element, remains))
        case LinkPlan():
            return replace(built, links=_put(built.links, element, remains))


def without(built: BuildPlan, nodes: Collection[str], links: Collection[str]) -> BuildPlan:
    return replace(
        built,
        nodes=tuple(node for node in built.nodes if node.id not in nodes),
        links=tuple(link for link in built.links if link.id not in links),
    )


def settled(built: BuildPlan, wanted: BuildPlan) -> BuildPlan:
    """What is built, in the desired order and with those desired details that need no step."""
    nodes = {node.id: node for node in built.nodes}
    links = {link.id: link for link in built.links}
    wanted_nodes = [node for node in wanted.nodes if node.id in nodes]
    wanted_links = [links[link.id] for link in wanted.links if link.id in links]
    return replace(
        built,
        nodes=(*wanted_nodes, *(node for node in built.nodes if wanted.node(node.id) is None)),
        links=(*wanted_links, *(link for link in built.links if wanted.link(link.id) is None)),
    )


def can_be_done(step: Step, built: BuildPlan) -> bool:
    """False if something that the step depends on failed before."""
    if step.verb not in ("add-link", "plug-link") or not isinstance(step.element, LinkPlan):
        return True
    there = {node.id for node in built.nodes} | {switch.id for switch in built.switches}
    ends = (step.element.near, step.element.far)
    if not all(end.node in there for end in ends):
        return False
    taken = {end.interface for link in built.links for end in (link.near, link.far) if end.port is not None}
    return step.verb == "plug-link" or not any(end.interface in taken for end in ends if end.port)


def _put(plans: tuple[Plan, ...], plan: Plan, remains: bool) -> tuple[Plan, ...]:
    """A plan replaces the one with the same ID in place."""
    if not remains:
        return tuple(each for each in plans if each.id != plan.id)
    if any(each.id == plan.id for each in plans):
        return tuple(plan if each.id == plan.id else each for each in plans)
    return plans + (plan,)  # noqa: RUF005


def _same_wiring(one: LinkPlan, other: LinkPlan) -> bool:
    """Only figures and drivers differ, which change in place. Loss applies to single frames: offloads at the ends
    depend on it.
    """
    one, other = _unplugged(one), _unplugged(other)
    return (
        (one.near, one.far, one.near_is_a) == (other.near, other.far, other.near_is_a)
        and one.shape.needs_line == other.shape.needs_line
        and (one.shape.loss > 0) == (other.shape.loss > 0)
    )


def _drivers(link: LinkPlan) -> tuple[str | None, str | None]:
    return link.near.driver, link.far.driver


def _unplugged(link: LinkPlan) -> LinkPlan:
    """Its interfaces are there, and no switch has them as ports."""
    return replace(link, near=replace(link.near, driver=None), far=replace(link.far, driver=None))
