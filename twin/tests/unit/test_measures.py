# SPDX-License-Identifier: Apache-2.0
"""Rates of links, shaping, and what iperf3 prints."""

import pytest

from orrery_twin.contract.models import TrafficRequestIperf3, TrafficStatus
from orrery_twin.domain.iperf import Interval, IperfCounts, read_interval
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


def iperf_counts(protocol: str) -> IperfCounts:
    request = TrafficRequestIperf3.model_validate(
        {"kind": "iperf3", "from": "a", "to": "b", "protocol": protocol, "packet_bytes": 1000}
    )
    status = TrafficStatus(
        id="traffic-1",
        request=request,
        state="running",
        started_ms=0,
        ended_ms=None,
        sent=0,
        received=0,
        errors=0,
        bits_per_second=None,
        latency_us=None,
        detail=None,
    )
    return IperfCounts(status, request)


def test_a_stream_that_arrives_nowhere_is_lost_while_it_runs() -> None:
    counts = iperf_counts("udp")
    for second in range(4):
        counts.take_sent(f"[  5]   {second}.00-{second + 1}.00   sec   100 KBytes   819 Kbits/sec  102")
        if second < 2:
            counts.take_received(
                f"[  5]   {second}.00-{second + 1}.00   sec   100 KBytes  819 Kbits/sec  0.01 ms  2/102"
            )
        else:
            counts.take_received(f"[  5]   {second}.00-{second + 1}.00   sec  0.00 Bytes  0.00 Kbits/sec  0.01 ms  0/0")
    assert (counts.status.received, counts.status.bits_per_second) == (200, 0)
    assert 100 <= counts.status.errors <= 110
    counts.take_sent("[  5]   0.00-4.00   sec   400 KBytes   819 Kbits/sec  0.000 ms  0/408 (0%)  sender")
    counts.take_sent("[  5]   0.00-4.00   sec   200 KBytes   409 Kbits/sec  0.010 ms  208/408 (51%)  receiver")
    assert (counts.status.sent, counts.status.received, counts.status.errors) == (408, 200, 208)


def test_tcp_loses_nothing_by_what_is_still_under_way() -> None:
    counts = iperf_counts("tcp")
    for second in range(3):
        counts.take_sent(f"[  5]   {second}.00-{second + 1}.00   sec   100 KBytes   819 Kbits/sec    0   14.1 KBytes")
    counts.take_received("[  5]   0.00-1.00   sec   50 KBytes  409 Kbits/sec")
    assert (counts.status.received, counts.status.errors) == (51, 0)
