# SPDX-License-Identifier: Apache-2.0
"""Golden model of rtl/crypto/nf_aes_ctr: AES (FIPS 197) in counter mode (NIST SP 800-38A 6.5)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from model.verdict import FORWARD, Verdict

BLOCK_BYTES = 16


def _double(value: int) -> int:
    return (value << 1 ^ (0x11B if value & 0x80 else 0)) & 0xFF


def _multiply(a: int, b: int) -> int:
    """In the field of FIPS 197 4.2."""
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a, b = _double(a), b >> 1
    return product


@cache
def _sbox() -> bytes:
    """FIPS 197 5.1.1, computed from its definition."""
    inverse = [0] + [next(y for y in range(1, 256) if _multiply(x, y) == 1) for x in range(1, 256)]
    rotations = [[(value << n | value >> (8 - n)) & 0xFF for n in range(5)] for value in inverse]
    return bytes(r[0] ^ r[1] ^ r[2] ^ r[3] ^ r[4] ^ 0x63 for r in rotations)


def expand_key(key: bytes) -> list[bytes]:
    """The round keys: FIPS 197 5.2."""
    words = [key[n : n + 4] for n in range(0, len(key), 4)]
    per_key, constant = len(words), 1
    for n in range(per_key, 4 * (per_key + 7)):
        word = words[-1]
        if n % per_key == 0:
            word = bytes([_sbox()[word[1]] ^ constant, *(_sbox()[word[m]] for m in (2, 3, 0))])
            constant = _double(constant)
        elif per_key == 8 and n % 8 == 4:
            word = bytes(_sbox()[byte] for byte in word)
        words.append(bytes(a ^ b for a, b in zip(words[-per_key], word, strict=True)))
    return [b"".join(words[n : n + 4]) for n in range(0, len(words), 4)]


def encrypt_block(round_keys: list[bytes], block: bytes) -> bytes:
    """FIPS 197 5.1."""
    state = bytes(a ^ b for a, b in zip(block, round_keys[0], strict=True))
    for round_key in round_keys[1:]:
        shifted = [_sbox()[state[(5 * n) % 16]] for n in range(16)]
        if round_key is not round_keys[-1]:
            columns = [shifted[n : n + 4] for n in range(0, 16, 4)]
            shifted = [
                _double(c[n]) ^ _double(c[n - 3]) ^ c[n - 3] ^ c[n - 2] ^ c[n - 1] for c in columns for n in range(4)
            ]
        state = bytes(a ^ b for a, b in zip(shifted, round_key, strict=True))
    return state


@dataclass
class AesCtr:
    key: bytes  # 16 or 32 bytes
    counter: int  # the next counter block, as a number

    def __post_init__(self) -> None:
        if len(self.key) not in (16, 32):
            raise ValueError(f"key: {len(self.key)} bytes, must be 16 or 32")
        self._round_keys = expand_key(self.key)

    def key_stream(self, size: int) -> bytes:
        """A frame uses whole blocks: the rest of the last one is discarded."""
        stream = b""
        while len(stream) < size:
            stream += encrypt_block(self._round_keys, self.counter.to_bytes(BLOCK_BYTES, "big"))
            self.counter = (self.counter + 1) % (1 << 128)
        return stream[:size]

    def process(self, frame: bytes, direction: int = FORWARD) -> Verdict:
        stream = self.key_stream(len(frame))
        return Verdict(frame=bytes(a ^ b for a, b in zip(frame, stream, strict=True)))
