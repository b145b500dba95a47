# SPDX-License-Identifier: Apache-2.0
"""Rates of links, shaping, and what iperf3 prints."""

import pytest

from orrery_twin.domain.iperf import Interval, read_interval
from orrery_twin.domain.rates import Reading, link_rates
from orrery_twin.domain.shaping import queue_bytes, shape_script


def test_what_the_switch_sends_goes_away_from_it() -> None:
    before, now = Reading(10.0, 1000, 2000), Reading(10.5, 1000 + 500, 2000 + 125)
    assert link_rates(before, now, near_is_a=True) == (2000, 8000)
    assert link_rates(before, now, near_is_a=False) == (8000, 2000)


def test_first_reading_and_reset_counters_give_no_rate() -> None:
    now = Reading(10.0, 100, 100)
    assert link_rates(None, now, near_is_a=True) == (0, 0)
    assert link_rates(Reading(9.0, 5000, 5000), now, near_is_a=True) == (0, 0)
    assert link_rates(now, now, near_is_a=True) == (0, 0)


def test_a_slow_link_still_queues_offloaded_frames() -> None:
    assert queue_bytes(1e6) == 200_000
    assert queue_bytes(1e9) == 3_125_000


def test_a_delay_replaces_the_plain_queue() -> None:
    assert "bfifo limit 312500" in shape_script("p1", 100e6, 0)
    delayed = shape_script("p1", 100e6, 5000)
    assert "netem delay 5000us" in delayed and "bfifo" not in delayed and "rate 100000000bit" in delayed


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "[  5]   1.00-2.00   sec  22.6 MBytes  189646 Kbits/sec    0    206 KBytes       ",
            Interval(1.0, 189_646_000, 22.6 * 1024**2, 0, 0, is_sum=False),
        ),
        (
            "[  5]   0.00-2.00   sec  23.8 MBytes  99800 Kbits/sec  0.012 ms  3/17852 (0.017%)  receiver",
            Interval(2.0, 99_800_000, 23.8 * 1024**2, 3, 17852, is_sum=True),
        ),
        (
            "[  5]   0.00-3.00   sec  69.0 MBytes  193000 Kbits/sec    7             sender",
            Interval(3.0, 193_000_000, 69.0 * 1024**2, 0, 0, is_sum=True),
        ),
        ("[  5]   0.00-1.00   sec  0.00 Bytes  0.00 Kbits/sec", Interval(1.0, 0, 0, 0, 0, is_sum=False)),
    ],
)
def test_iperf3_lines(line: str, expected: Interval) -> None:
    assert read_interval(line) == expected


@pytest.mark.parametrize("line", ["", "Connecting to host 10.0.2.1, port 5201", "- - - - -", "iperf Done."])
def test_other_iperf3_lines_are_no_interval(line: str) -> None:
    assert read_interval(line) is None
