# SPDX-License-Identifier: Apache-2.0
import pytest

from tb.common.simulate import simulate
from tb.nat.translator import MS_PER_S, US_PER_MS


@pytest.mark.parametrize("bench", ["bench_nat", "bench_nat_misses"])
def test_nat(bench: str) -> None:
    simulate("nf_nat", ["common", "nf_nat"], f"tb.nat.{bench}", {"US_PER_MS": US_PER_MS, "MS_PER_S": MS_PER_S})
