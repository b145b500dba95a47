# SPDX-License-Identifier: Apache-2.0
from tb.common.simulate import simulate


def test_stateful_firewall() -> None:
    simulate(
        "nf_stateful_firewall",
        ["common", "nf_stateful_firewall"],
        "tb.stateful_firewall.bench_stateful_firewall",
        {"US_PER_MS": 2, "MS_PER_S": 4},
    )
