# SPDX-License-Identifier: Apache-2.0
"""Rates of links, shaping, and the output of iperf3."""

import pytest

from orrery_twin.applications.iperf3_client.kind import Iperf3Client
from orrery_twin.applications.iperf3_server.kind import Iperf3Server
from orrery_twin.applications.kind import Meter
from orrery_twin.contract.models import Iperf3ClientConfig, Iperf3ServerConfig, Link
from orrery_twin.domain.iperf import Interval, read_interval
from orrery_twin.domain.rates import Reading, link_rates
from orrery_twin.domain.shaping import shape_of, shape_script


def test_what_the_switch_sends_goes_away_from_it() -> None:
    before, now = Reading(10.0, 1000, 2000), Reading(10.5, 1000 + 500, 2000 + 125)
    assert link_rates(before, now, near_is_a=True) == (2000, 8000)
    assert link_rates(before, now, near_is_a=False) == (8000, 2000)


def test_first_reading_and_reset_counters_give_no_rate() -> None:
    now = Reading(10.0, 100, 100)
    assert link_rates(None, now, near_is_a=True) == (0, 0)
    assert link_rates(Reading(9.0, 5000, 5000), now, near_is_a=True) == (0, 0)
    assert link_rates(now, now, near_is_a=True) == (0, 0)


def link(**fields: float) -> Link:
    ends = {"a": {"node": "a", "port": "p"}, "b": {"node": "b", "port": "p"}}
    return Link.model_validate({"id": "a-b", **ends, **fields})


def test_a_slow_link_still_queues_offloaded_frames() -> None:
    assert shape_of(link(bandwidth_bps=1e6)).queue_bytes == 200_000
    assert shape_of(link(bandwidth_bps=1e9)).queue_bytes == 3_125_000
    assert shape_of(link(bandwidth_bps=1e9, queue_bytes=3000)).queue_bytes == 3000


def test_only_a_bandwidth_needs_no_delay_line() -> None:
    plain = shape_of(link(bandwidth_bps=100e6))
    assert not plain.needs_line and "bfifo limit 312500" in shape_script("p1", plain)
    assert all(shape_of(link(bandwidth_bps=1e6, **{name: 0.5})).needs_line for name in ("delay_us", "loss"))
    assert shape_of(link(bandwidth_bps=8e6, delay_us=1e6, queue_bytes=5000)).held_bytes == 1_005_000


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


def test_the_receiver_counts_what_arrives_and_what_does_not() -> None:
    meter = Iperf3Server().meter(Iperf3ServerConfig())
    for second in range(4):
        end = "100 KBytes  819 Kbits/sec  0.01 ms  2/102" if second < 2 else "0.00 Bytes  0.00 Kbits/sec  0.01 ms  0/0"
        meter.take(f"[  5]   {second}.00-{second + 1}.00   sec   {end}")
    assert (meter.metrics["received"], meter.metrics["lost"], meter.metrics["bits_per_second"]) == (200, 4, 0)


def test_a_receiver_without_a_stream_receives_nothing() -> None:
    meter = Iperf3Server().meter(Iperf3ServerConfig())
    meter.silent(60)
    assert meter.metrics == {}
    meter.take("[  5]   0.00-1.00   sec   100 KBytes  819 Kbits/sec  0.01 ms  2/102")
    meter.silent(1.5)
    assert meter.metrics == {"received": 100, "lost": 2, "bits_per_second": 819_000}
    meter.silent(3)
    assert meter.metrics == {"received": 100, "lost": 2, "bits_per_second": 0}


@pytest.fixture
def sent() -> Meter:
    return Iperf3Client().meter(Iperf3ClientConfig(to="10.0.0.1", packet_bytes=1000))


def test_the_end_of_a_stream_says_what_was_lost(sent: Meter) -> None:
    for second in range(4):
        sent.take(f"[  5]   {second}.00-{second + 1}.00   sec   100 KBytes   819 Kbits/sec  102")
    assert sent.metrics["sent"] == 408 and "lost" not in sent.metrics
    sent.take("[  5]   0.00-4.00   sec   400 KBytes   819 Kbits/sec  0.000 ms  0/408 (0%)  sender")
    sent.take("[  5]   0.00-4.00   sec   200 KBytes   409 Kbits/sec  0.010 ms  208/408 (51%)  receiver")
    assert (sent.metrics["sent"], sent.metrics["received"], sent.metrics["lost"]) == (408, 200, 208)


def test_tcp_loses_nothing_by_what_is_still_under_way(sent: Meter) -> None:
    for second in range(3):
        sent.take(f"[  5]   {second}.00-{second + 1}.00   sec   100 KBytes   819 Kbits/sec    0   14.1 KBytes")
    assert sent.metrics["sent"] > 300 and "lost" not in sent.metrics
