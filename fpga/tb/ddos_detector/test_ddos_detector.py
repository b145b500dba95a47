# SPDX-License-Identifier: Apache-2.0
from math import isqrt
from random import Random

import pytest

from model.ddos_detector import sums_of
from tb.common.simulate import simulate


@pytest.mark.parametrize("bench", ["bench_ddos_detector", "bench_window_end"])
def test_ddos_detector(bench: str) -> None:
    simulate("nf_ddos_detector", ["common", "nf_ddos_detector"], f"tb.ddos_detector.{bench}", {"US_PER_MS": 4})


def test_threshold() -> None:
    simulate("ddos_threshold", ["nf_ddos_detector"], "tb.ddos_detector.bench_threshold")


def test_one_threshold_says_the_same_as_the_definition() -> None:
    source = Random(1)
    for _ in range(3000):
        top = source.choice([2, 5, 40, 65535])
        counts = [source.randint(1, top) for _ in range(source.randint(2, 30))]
        sums, quarters = sums_of(counts), source.choice([0, 1, 4, 12, 64, 255])
        spread = quarters**2 * (sums.counters * sums.squares - sums.sum**2)
        threshold = (sums.sum + isqrt(spread // 16)) // sums.counters
        for count in {*counts, threshold, threshold + 1}:
            assert sums.stands_out(count, quarters) == (count > threshold)
