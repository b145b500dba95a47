# SPDX-License-Identifier: Apache-2.0
import pytest

from model import compared
from tb.common.simulate import simulate
from tb.common.verilated_bench import VerilatedBench, as_boards_run_it
from tb.sqli_detector.detector import prepared


def test_sqli_detector() -> None:
    simulate("nf_sqli_detector", ["common", "nf_sqli_detector"], "tb.sqli_detector.bench_sqli_detector")


@pytest.mark.parametrize("seed", compared.SEEDS)
@as_boards_run_it
async def test_what_software_was_compared_on(seed: int) -> None:
    d = await prepared(VerilatedBench("nf_sqli_detector"), compared.sqli_detector())
    for _, back, frame in compared.traffic(seed)[: compared.RTL_FRAMES]:
        d.send(frame, back)
    await d.check()
    assert d.drops["attack"] > 10
