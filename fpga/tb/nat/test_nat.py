# SPDX-License-Identifier: Apache-2.0
from tb.common.simulate import simulate


def test_nat() -> None:
    simulate("nf_nat", ["common", "nf_nat"], "tb.nat.bench_nat", {"US_PER_MS": 2, "MS_PER_S": 5})
