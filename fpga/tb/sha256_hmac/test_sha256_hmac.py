# SPDX-License-Identifier: Apache-2.0
"""SHA-256 and HMAC: the golden model against the standards' vectors, the RTL against the model."""

import pytest

from model.sha256_hmac import Sha256Hmac
from tb.common.simulate import simulate
from tb.sha256_hmac.vectors import FIPS_180, RFC_4231


def test_sha256_hmac() -> None:
    simulate("nf_sha256_hmac", ["common", "crypto"], "tb.sha256_hmac.bench_sha256_hmac")


@pytest.mark.parametrize(("text", "digest"), FIPS_180)
def test_model_gives_the_digests_of_fips_180_4(text: bytes, digest: str) -> None:
    assert Sha256Hmac().process(text).frame.hex() == digest


@pytest.mark.parametrize(("key", "text", "digest"), RFC_4231)
def test_model_gives_the_codes_of_rfc_4231(key: bytes, text: bytes, digest: str) -> None:
    assert Sha256Hmac(key).process(text).frame.hex().startswith(digest)


def test_model_refuses_a_longer_key() -> None:
    with pytest.raises(ValueError, match="key: 65 bytes"):
        Sha256Hmac(bytes(65))
