# SPDX-License-Identifier: Apache-2.0
"""Capabilities of this machine, probed once in the twin's own namespaces, with the fallback for each missing one."""

import asyncio
import os
import shutil
from pathlib import Path

from orrery_twin.adapters.board_build import BoardBuild
from orrery_twin.adapters.p4_software import SOFTWARE
from orrery_twin.adapters.process import CommandFailed, run
from orrery_twin.contract.models import Capability


async def probe_all(no_delay_lines: str | None) -> list[Capability]:
    """Must run before the twin's first build: it adds and removes devices of its own.

    `no_delay_lines`: why there are none; None if there are.
    """
    kernel_ovs, htb, vxlan = await asyncio.gather(
        _succeeds(["ovs-dpctl", "show"]),
        _qdisc_on_dummy("htb"),
        _succeeds(["ip", "link", "add", "probe-vxlan", "type", "vxlan", "id", "1", "dstport", "4789"]),
    )
    if vxlan:
        await _succeeds(["ip", "link", "del", "probe-vxlan"])
    tun = os.access("/dev/net/tun", os.R_OK | os.W_OK)
    mptcp = _sysctl("net/mptcp/enabled") == "1"
    hugepages = _hugepages()
    cgroup, cgroup_detail = _cpu_cgroup()
    realtime = await _succeeds(["chrt", "-r", "10", "true"])
    bfdd = shutil.which("bfdd") or (Path("/usr/lib/frr/bfdd").exists() and "/usr/lib/frr/bfdd")
    return [
        _capability(
            "kernel-ovs",
            "Open vSwitch in the kernel",
            kernel_ovs,
            "ovs-dpctl show",
            "the userspace datapath of Open vSwitch",
        ),
        _capability(
            "userspace-tso",
            "Segmentation offload in the switch",
            tun,
            "Open vSwitch option userspace-tso-enable",
            None,
        ),
        Capability(
            id="delay-line",
            title="Link delay, jitter and loss",
            where="twin",
            available=no_delay_lines is None,
            detail=no_delay_lines or "orrery-linkd",
            fallback="links without them: an infrastructure that needs them is refused" if no_delay_lines else None,
        ),
        _capability("htb", "Link bandwidth", htb, "tc htb", "links without a bandwidth limit"),
        _capability("mptcp", "Multipath TCP", mptcp, "net.mptcp.enabled", "TCP over one path"),
        _capability(
            "vxlan", "VXLAN devices", vxlan, "ip link add type vxlan", "tunnels of Open vSwitch without offload"
        ),
        _capability(
            "cgroup-cpu", "CPU limits", cgroup, cgroup_detail, "CPU shares are measured from /proc and not limited"
        ),
        _capability(
            "hugepages",
            "Huge pages",
            hugepages > 0,
            f"{hugepages} pages" if hugepages else "reserved pages",
            "DPDK runs with --no-huge",
        ),
        _capability(
            "realtime", "Real-time scheduling", realtime, "chrt -r 10", "normal scheduling: longer latency tails"
        ),
        _capability("tun", "TUN/TAP devices", tun, "/dev/net/tun", None),
        _capability("bfdd", "BFD daemon", bool(bfdd), str(bfdd or "bfdd of FRR"), "BFD of Open vSwitch"),
    ]


def built_parts(board_build: BoardBuild) -> list[Capability]:
    """As of now: the set-up may build them while the twin runs."""
    return [
        _boards(board_build),
        _p4_switch("p4-switch", "Built-in P4 switch", "p4"),
        _p4_switch("bmv2", "P4 reference switch", "bmv2"),
    ]


def _p4_switch(capability: str, title: str, driver: str) -> Capability:
    missing = SOFTWARE[driver].missing()
    return Capability(
        id=capability,
        title=title,
        where="twin",
        available=missing is None,
        detail=missing or f"switches of the driver {driver}",
        fallback=f"switches of other drivers: an infrastructure with the driver {driver} is refused"
        if missing
        else None,
    )


def _boards(build: BoardBuild) -> Capability:
    progress, modules = build.under_way(), build.modules()
    missing = build.missing() if progress is None else f"being built: {progress}"
    return Capability(
        id="boards",
        title="Emulated FPGA boards",
        where="twin",
        available=missing is None,
        detail=missing or f"modules: {', '.join(modules) or 'none'}",
        fallback="boards start once they are built" if progress else "boards fail, the rest works" if missing else None,
    )


def _capability(name: str, title: str, available: bool, probed: str, fallback: str | None) -> Capability:
    return Capability(
        id=name,
        title=title,
        where="twin",
        available=available,
        detail=probed if available else f"not found: {probed}",
        fallback=None if available else fallback,
    )


async def _succeeds(command: list[str]) -> bool:
    try:
        await run(command)
    except (CommandFailed, OSError):
        return False
    return True


async def _qdisc_on_dummy(kind: str) -> bool:
    """A veth pair, because a kernel may lack dummy devices."""
    await _succeeds(["ip", "link", "add", "probe-a", "type", "veth", "peer", "name", "probe-b"])
    works = await _succeeds(["tc", "qdisc", "add", "dev", "probe-a", "root", kind])
    await _succeeds(["ip", "link", "del", "probe-a"])
    return works


def _sysctl(name: str) -> str:
    try:
        return (Path("/proc/sys") / name).read_text().strip()
    except OSError:
        return ""


def _hugepages() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("HugePages_Total:"):
            return int(line.split()[1])
    return 0


def _cpu_cgroup() -> tuple[bool, str]:
    """Test that a group can be created, not only that a file system is mounted."""
    controllers = Path("/sys/fs/cgroup/cgroup.controllers")
    if controllers.exists() and "cpu" in controllers.read_text().split():
        root, version = Path("/sys/fs/cgroup"), "cgroup v2"
    else:
        root, version = Path("/sys/fs/cgroup/cpu"), "cgroup v1"
    probe = root / f"orrery-probe-{os.getpid()}"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        return False, f"{version}: {error.strerror}"
    return True, version
