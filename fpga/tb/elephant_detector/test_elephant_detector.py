# SPDX-License-Identifier: Apache-2.0
from tb.common.simulate import simulate


def test_elephant_detector() -> None:
    simulate(
        "nf_elephant_detector",
        ["common", "nf_elephant_detector"],
        "tb.elephant_detector.bench_elephant_detector",
        {"US_PER_MS": 2, "MS_PER_S": 5},
    )
