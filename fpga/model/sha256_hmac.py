# SPDX-License-Identifier: Apache-2.0
"""Golden model of rtl/crypto/nf_sha256_hmac: SHA-256 (FIPS 180-4) and HMAC (RFC 2104), from Python's library."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from model.verdict import FORWARD, Verdict

KEY_BYTES_MAX = 64


@dataclass
class Sha256Hmac:
    key: bytes | None = None  # None: no HMAC

    def __post_init__(self) -> None:
        if self.key is not None and len(self.key) > KEY_BYTES_MAX:
            raise ValueError(f"key: {len(self.key)} bytes, must be at most {KEY_BYTES_MAX}; hash a longer one first")

    def process(self, frame: bytes, direction: int = FORWARD) -> Verdict:
        if self.key is None:
            return Verdict(frame=hashlib.sha256(frame).digest())
        return Verdict(frame=hmac.new(self.key, frame, hashlib.sha256).digest())

    def blocks(self, size: int) -> int:
        """Number of compressions for a frame of this many bytes."""
        padded = (size + 9 + 63) // 64
        return padded if self.key is None else 1 + padded + 2
