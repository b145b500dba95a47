# SPDX-License-Identifier: Apache-2.0
from tb.common.simulate import simulate


def test_hdr_parse() -> None:
    simulate("hdr_parse", ["common"], "tb.common.bench_hdr_parse")
