# SPDX-License-Identifier: Apache-2.0
"""FNV-1a of 32 bits, for short names and addresses that depend only on an ID."""

OFFSET_BASIS = 0x811C9DC5
PRIME = 0x01000193


def fnv1a(text: str) -> int:
    digest = OFFSET_BASIS
    for octet in text.encode():
        digest = ((digest ^ octet) * PRIME) & 0xFFFFFFFF
    return digest
