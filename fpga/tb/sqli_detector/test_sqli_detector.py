# SPDX-License-Identifier: Apache-2.0
from tb.common.simulate import simulate


def test_sqli_detector() -> None:
    simulate("nf_sqli_detector", ["common", "nf_sqli_detector"], "tb.sqli_detector.bench_sqli_detector")
