# SPDX-License-Identifier: Apache-2.0
"""The control socket of a board or a delay line: requests and answers are lines of JSON."""

import asyncio
import json
from pathlib import Path
from typing import Any

TIMEOUT_S = 5.0
ANSWER_MAX_BYTES = 1 << 20


class ControlRefused(Exception):
    """The program refused the request."""


class ControlSilent(Exception):
    """The program is unreachable."""


class ControlHung(ControlSilent):
    """The program accepted the request but did not answer in time."""


async def ask(control: Path, method: str, params: dict[str, Any], timeout_s: float = TIMEOUT_S) -> Any:
    """Send a request and return its result. Raises ControlRefused, ControlSilent."""
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_unix_connection(control, limit=ANSWER_MAX_BYTES)
            try:
                writer.write(json.dumps({"id": 1, "method": method, "params": params}).encode() + b"\n")
                await writer.drain()
                answer = json.loads(await reader.readline())
            finally:
                writer.close()
    except TimeoutError:
        raise ControlHung(f"no answer within {timeout_s:g} s") from None
    except (OSError, ValueError) as error:
        raise ControlSilent(str(error) or type(error).__name__) from None
    if "error" in answer:
        raise ControlRefused(str(answer["error"]["detail"]))
    return answer["result"]
