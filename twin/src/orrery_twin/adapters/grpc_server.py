# SPDX-License-Identifier: Apache-2.0
"""Whether a gRPC server answers, told from the first frames of HTTP/2 (RFC 9113, 3.4), so that no call is needed."""

import asyncio
from pathlib import Path

from orrery_twin.adapters.control_socket import ControlHung, ControlSilent

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADER_BYTES = 9
SETTINGS, ACKNOWLEDGED = 4, 1
EMPTY_SETTINGS = bytes([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0])
PAYLOAD_MAX = 1 << 14
"""No frame is longer before both sides agreed on more (RFC 9113, 4.2)."""


async def greet(socket: Path, timeout_s: float) -> None:
    """Return when the server has acknowledged our settings. Raises ControlHung if it is late, ControlSilent."""
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_unix_connection(socket)
            try:
                writer.write(PREFACE + EMPTY_SETTINGS)
                while not await _is_acknowledged(reader):
                    pass
            finally:
                writer.close()
    except TimeoutError:
        raise ControlHung(f"no answer within {timeout_s:g} s") from None
    except (OSError, EOFError) as error:
        raise ControlSilent(str(error) or type(error).__name__) from None


async def _is_acknowledged(reader: asyncio.StreamReader) -> bool:
    """Read one frame."""
    header = await reader.readexactly(HEADER_BYTES)
    length, kind, flags = int.from_bytes(header[:3]), header[3], header[4]
    if length > PAYLOAD_MAX:
        raise ControlSilent("what answers does not speak HTTP/2")
    await reader.readexactly(length)
    return kind == SETTINGS and flags & ACKNOWLEDGED != 0
