# SPDX-License-Identifier: Apache-2.0
"""A board's control socket: a request and its answer, each a line of JSON."""

import asyncio
import json
from pathlib import Path
from typing import Any

TIMEOUT_S = 5.0
ANSWER_MAX_BYTES = 1 << 20


class BoardRefused(Exception):
    """The board answers that it will not."""


class BoardSilent(Exception):
    """The board does not answer."""


async def ask_board(control: Path, method: str, params: dict[str, Any]) -> Any:
    """The result. Raises BoardRefused, BoardSilent."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            reader, writer = await asyncio.open_unix_connection(control, limit=ANSWER_MAX_BYTES)
            try:
                writer.write(json.dumps({"id": 1, "method": method, "params": params}).encode() + b"\n")
                await writer.drain()
                answer = json.loads(await reader.readline())
            finally:
                writer.close()
    except TimeoutError:
        raise BoardSilent(f"no answer within {TIMEOUT_S:g} s") from None
    except (OSError, ValueError) as error:
        raise BoardSilent(str(error) or type(error).__name__) from None
    if "error" in answer:
        raise BoardRefused(str(answer["error"]["detail"]))
    return answer["result"]
