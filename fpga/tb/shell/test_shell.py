# SPDX-License-Identifier: Apache-2.0
from tb.common.simulate import simulate


def test_shell() -> None:
    simulate("board", ["common", "shell", "../tb/shell"], "tb.shell.bench_shell")


def test_hops() -> None:
    simulate("board", ["common", "shell", "../tb/shell"], "tb.shell.bench_hops")


def test_slots() -> None:
    simulate("nf_shell", ["common", "shell"], "tb.shell.bench_slots", {"SLOTS": 3})
