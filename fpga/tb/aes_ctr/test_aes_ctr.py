# SPDX-License-Identifier: Apache-2.0
"""AES in counter mode: the golden model against the standards' vectors, the RTL against the model."""

import pytest

from model.aes_ctr import AesCtr, encrypt_block, expand_key
from tb.aes_ctr.vectors import CTR_COUNTER, CTR_TEXT, CTR_VECTORS, FIPS_197
from tb.common.simulate import simulate


def test_aes_ctr() -> None:
    simulate("nf_aes_ctr", ["common", "crypto"], "tb.aes_ctr.bench_aes_ctr")


@pytest.mark.parametrize(("key", "cipher"), FIPS_197)
def test_model_encrypts_the_block_of_fips_197(key: str, cipher: str) -> None:
    block = bytes.fromhex("00112233445566778899aabbccddeeff")
    assert encrypt_block(expand_key(bytes.fromhex(key)), block).hex() == cipher


@pytest.mark.parametrize(("key", "cipher"), CTR_VECTORS)
def test_model_encrypts_the_text_of_sp_800_38a(key: str, cipher: str) -> None:
    model = AesCtr(bytes.fromhex(key), int(CTR_COUNTER, 16))
    assert model.process(bytes.fromhex(CTR_TEXT)).frame.hex() == cipher


def test_model_refuses_keys_of_other_lengths() -> None:
    with pytest.raises(ValueError, match="key: 24 bytes"):
        AesCtr(bytes(24), 0)
