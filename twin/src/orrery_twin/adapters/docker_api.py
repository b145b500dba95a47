# SPDX-License-Identifier: Apache-2.0
"""The little of Docker's API that the twin needs itself. Paths are without a version: the daemon takes its newest."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, UnixConnector

TIMEOUT_S = 5.0
AT_ONCE_MAX = 4
LOOK_AGAIN_S = 0.02
GONE = 404
BEING_REMOVED = 409


class DockerFailed(Exception):
    """It does not answer, or answers that it cannot."""


@dataclass(frozen=True)
class DockerInfo:
    version: str
    storage_driver: str


class DockerApi:
    """All methods raise DockerFailed."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    async def info(self) -> DockerInfo:
        async with self._session() as session:
            info = await _call(session, "GET", "/info")
        return DockerInfo(str(info["ServerVersion"]), str(info["Driver"]))

    async def remove_containers(self) -> None:
        """All of them, running or not; returns when there is none."""
        async with self._session() as session:
            while containers := await _call(session, "GET", "/containers/json", all="1"):
                removals = (
                    _call(session, "DELETE", f"/containers/{one['Id']}", force="1", v="1") for one in containers
                )
                await asyncio.gather(*removals)
                await asyncio.sleep(LOOK_AGAIN_S)

    async def remove_images_but(self, newest: int) -> None:
        async with self._session() as session:
            images = await _call(session, "GET", "/images/json")
            for image in sorted(images, key=lambda image: -int(image["Created"]))[newest:]:
                await _call(session, "DELETE", f"/images/{image['Id']}", force="1")

    def _session(self) -> ClientSession:
        connector = UnixConnector(path=str(self._socket), limit=AT_ONCE_MAX)
        return ClientSession("http://docker", connector=connector, timeout=ClientTimeout(total=TIMEOUT_S))


async def _call(session: ClientSession, method: str, path: str, **query: str) -> Any:
    try:
        async with session.request(method, path, params=query) as reply:
            answer = await reply.json() if reply.content_type == "application/json" else None
    except TimeoutError:
        raise DockerFailed(f"no answer within {TIMEOUT_S:g} s") from None
    except (ClientError, OSError, ValueError) as error:
        raise DockerFailed(str(error) or type(error).__name__) from None
    if reply.status >= 400 and not (method == "DELETE" and reply.status in (GONE, BEING_REMOVED)):
        raise DockerFailed(str((answer or {}).get("message", f"{method} {path}: {reply.status}")))
    return answer
