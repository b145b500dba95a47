# SPDX-License-Identifier: Apache-2.0
"""The part of Docker's API that the twin itself needs. Paths have no version: the daemon uses its newest."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import ClientError, ClientSession, ClientTimeout, UnixConnector

TIMEOUT_S = 5.0
AT_ONCE_MAX = 4
LOOK_AGAIN_S = 0.02
GONE = 404
BEING_REMOVED = 409


class DockerFailed(Exception):
    """It does not answer, reports an error, or returns something unexpected."""


@dataclass(frozen=True)
class DockerInfo:
    version: str
    storage_driver: str


class DockerApi:
    """All methods raise DockerFailed."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    async def ping(self) -> None:
        async with self._session() as session:
            await _call(session, "GET", "/_ping")

    async def info(self) -> DockerInfo:
        async with self._session() as session:
            info = await _call(session, "GET", "/info")
        return DockerInfo(_take(info, "ServerVersion", str), _take(info, "Driver", str))

    async def remove_containers(self, label: str | None = None) -> None:
        """Remove the containers with the label (None: all), running or not; return once none is left."""
        wanted = {"filters": json.dumps({"label": [label]})} if label else {}
        async with self._session() as session:
            while containers := await _list(session, "/containers/json", all="1", **wanted):
                ids = [_take(one, "Id", str) for one in containers]
                removals = (_call(session, "DELETE", f"/containers/{id}", force="1", v="1") for id in ids)
                await asyncio.gather(*removals)
                await asyncio.sleep(LOOK_AGAIN_S)

    async def remove_images_but(self, newest: int) -> None:
        async with self._session() as session:
            images = await _list(session, "/images/json")
            by_age = sorted((-_take(image, "Created", int), _take(image, "Id", str)) for image in images)
            for _, id in by_age[newest:]:
                await _call(session, "DELETE", f"/images/{id}", force="1")

    def _session(self) -> ClientSession:
        connector = UnixConnector(path=str(self._socket), limit=AT_ONCE_MAX)
        return ClientSession("http://docker", connector=connector, timeout=ClientTimeout(total=TIMEOUT_S))


_T = TypeVar("_T", int, str)


def _take(record: Any, name: str, kind: type[_T]) -> _T:
    value = record.get(name) if isinstance(record, dict) else None
    if not isinstance(value, kind) or value == "":
        raise DockerFailed(f"its answer has no {name}")
    return value


async def _list(session: ClientSession, path: str, **query: str) -> list[Any]:
    answer = await _call(session, "GET", path, **query)
    if not isinstance(answer, list):
        raise DockerFailed(f"its answer to {path} is not a list")
    return answer


async def _call(session: ClientSession, method: str, path: str, **query: str) -> Any:
    try:
        async with session.request(method, path, params=query) as reply:
            answer = await reply.json() if reply.content_type == "application/json" else None
    except TimeoutError:
        raise DockerFailed(f"no answer within {TIMEOUT_S:g} s") from None
    except (ClientError, OSError, ValueError) as error:
        raise DockerFailed(str(error) or type(error).__name__) from None
    if reply.status >= 400 and not (method == "DELETE" and reply.status in (GONE, BEING_REMOVED)):
        said = answer.get("message") if isinstance(answer, dict) else None
        raise DockerFailed(str(said or f"{method} {path}: {reply.status}"))
    return answer
