# SPDX-License-Identifier: Apache-2.0
"""The little of Docker's API that the twin needs itself. Paths are without a version: the daemon takes its newest."""

import asyncio
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import ClientError, ClientSession, ClientTimeout, UnixConnector
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

TIMEOUT_S = 5.0
AT_ONCE_MAX = 4
LOOK_AGAIN_S = 0.02
GONE = 404
BEING_REMOVED = 409


class DockerFailed(Exception):
    """It does not answer, or answers that it cannot."""


class DockerInfo(BaseModel):
    version: str = Field(validation_alias="ServerVersion")
    storage_driver: str = Field(validation_alias="Driver")


class _Container(BaseModel):
    id: str = Field(validation_alias="Id", min_length=1)


class _Image(BaseModel):
    id: str = Field(validation_alias="Id", min_length=1)
    created_s: int = Field(validation_alias="Created")


_T = TypeVar("_T")
_Info = TypeAdapter(DockerInfo)
_Containers = TypeAdapter(list[_Container])
_Images = TypeAdapter(list[_Image])


class DockerApi:
    """All methods raise DockerFailed."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    async def info(self) -> DockerInfo:
        async with self._session() as session:
            return await _read(session, _Info, "/info")

    async def remove_containers(self) -> None:
        """All of them, running or not; returns when there is none."""
        async with self._session() as session:
            while containers := await _read(session, _Containers, "/containers/json", all="1"):
                await asyncio.gather(
                    *(_call(session, "DELETE", f"/containers/{one.id}", force="1", v="1") for one in containers)
                )
                await asyncio.sleep(LOOK_AGAIN_S)

    async def remove_images_but(self, newest: int) -> None:
        async with self._session() as session:
            images = await _read(session, _Images, "/images/json")
            for image in sorted(images, key=lambda image: -image.created_s)[newest:]:
                await _call(session, "DELETE", f"/images/{image.id}", force="1")

    def _session(self) -> ClientSession:
        connector = UnixConnector(path=str(self._socket), limit=AT_ONCE_MAX)
        return ClientSession("http://docker", connector=connector, timeout=ClientTimeout(total=TIMEOUT_S))


async def _read(session: ClientSession, kind: TypeAdapter[_T], path: str, **query: str) -> _T:
    answer = await _call(session, "GET", path, **query)
    try:
        return kind.validate_python(answer)
    except ValidationError as error:
        first = error.errors()[0]
        where = "/".join(str(key) for key in first["loc"])
        raise DockerFailed(f"its answer to {path} is not understood: {where or 'all of it'}: {first['msg']}") from None


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
