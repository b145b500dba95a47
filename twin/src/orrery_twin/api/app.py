# SPDX-License-Identifier: Apache-2.0
"""HTTP routes of twind."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from pydantic import BaseModel, ValidationError

from orrery_twin import __version__
from orrery_twin.api.problems import json_reply, problem, refusal_problem, validation_problem
from orrery_twin.contract.models import (
    ApplicationsSpec,
    Capability,
    CaptureRequest,
    FaultRequest,
    Health,
    Part,
    TwinCapabilities,
    TwinSpec,
)
from orrery_twin.domain.refusal import Refused
from orrery_twin.service.applications import Applications
from orrery_twin.service.captures import Captures
from orrery_twin.service.faults import Faults
from orrery_twin.service.hub import Hub, TooManyWatchers, now_ms
from orrery_twin.service.pcaps import FILE_MAX_BYTES, Pcaps
from orrery_twin.service.twin import Twin

log = logging.getLogger(__name__)

BODY_MAX_BYTES = 8 << 20
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Services:
    twin: Twin
    applications: Applications
    captures: Captures
    faults: Faults
    pcaps: Pcaps
    hub: Hub
    capabilities: Callable[[], list[Capability]]


def make_app(services: Services) -> web.Application:
    app = web.Application(middlewares=[_problems], client_max_size=FILE_MAX_BYTES)
    api = _Api(services)
    app.add_routes(
        [
            web.get("/health", api.health),
            web.get("/capabilities", api.capabilities),
            web.put("/spec", api.put_spec),
            web.post("/spec/check", api.check_spec),
            web.get("/state", api.state),
            web.put("/applications", api.put_applications),
            web.get("/applications", api.applications),
            web.post("/faults", api.make_fault),
            web.delete("/faults/{id}", api.remove_fault),
            web.get("/pcaps", api.list_pcaps),
            web.post("/pcaps", api.add_pcap),
            web.delete("/pcaps/{id}", api.remove_pcap),
            web.get("/captures", api.list_captures),
            web.post("/captures", api.start_capture),
            web.get("/captures/{id}", api.get_capture),
            web.post("/captures/{id}/stop", api.stop_capture),
            web.get("/watch", api.watch),
        ]
    )
    return app


@web.middleware
async def _problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except Refused as refusal:
        return refusal_problem(refusal)
    except web.HTTPException as error:
        return problem(error.status, error.reason.lower())
    except Exception as error:
        log.exception("%s %s failed", request.method, request.path)
        return problem(500, "the twin could not do this", str(error)[:2000])


class _Api:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._started_ms = now_ms()

    async def health(self, _: web.Request) -> web.Response:
        phase = self._services.twin.phase
        failed = phase == "failed"
        part = Part(name="twin", status="failed" if failed else "ok", detail=phase)
        health = Health(
            status="degraded" if failed else "ok", version=__version__, started_ms=self._started_ms, parts=[part]
        )
        return json_reply(health)

    async def capabilities(self, _: web.Request) -> web.Response:
        return json_reply(TwinCapabilities(capabilities=self._services.capabilities()))

    async def put_spec(self, request: web.Request) -> web.Response:
        body = await _body(request)
        try:
            spec = TwinSpec.model_validate_json(body, strict=True)
        except ValidationError as error:
            return validation_problem(error, body)
        self._services.twin.want(spec)
        return json_reply(self._services.twin.state(), status=202, only_set=True)

    async def check_spec(self, request: web.Request) -> web.Response:
        """Refuse what `PUT /spec` would refuse, without changing anything."""
        body = await _body(request)
        try:
            spec = TwinSpec.model_validate_json(body, strict=True)
        except ValidationError as error:
            return validation_problem(error, body)
        if spec.infrastructure is not None:
            self._services.twin.check(spec.infrastructure)
        return web.Response(status=204)

    async def state(self, _: web.Request) -> web.Response:
        return json_reply(self._services.twin.state(), only_set=True)

    async def put_applications(self, request: web.Request) -> web.Response:
        body = await _body(request)
        try:
            spec = ApplicationsSpec.model_validate_json(body, strict=True)
        except ValidationError as error:
            return validation_problem(error, body)
        self._services.applications.want(spec)
        return json_reply(self._services.applications.observed(), status=202)

    async def applications(self, _: web.Request) -> web.Response:
        return json_reply(self._services.applications.observed())

    async def make_fault(self, request: web.Request) -> web.Response:
        body = await _body(request)
        try:
            wanted = FaultRequest.model_validate_json(body, strict=True)
        except ValidationError as error:
            return validation_problem(error, body)
        fault = await self._services.faults.make(wanted)
        return json_reply(fault, 201, {"Location": f"/faults/{fault.id}"}, only_set=True)

    async def remove_fault(self, request: web.Request) -> web.Response:
        if not await self._services.faults.remove(request.match_info["id"]):
            return problem(404, "no such fault")
        return web.Response(status=204)

    async def list_pcaps(self, _: web.Request) -> web.Response:
        return _collection(self._services.pcaps.all())

    async def add_pcap(self, request: web.Request) -> web.Response:
        info = await self._services.pcaps.add(request.query.get("name", ""), await request.read())
        return json_reply(info, 201)

    async def remove_pcap(self, request: web.Request) -> web.Response:
        pcap_id = request.match_info["id"]
        if self._services.applications.replays(pcap_id):
            return problem(409, "an application replays the capture")
        if not self._services.pcaps.remove(pcap_id):
            return problem(404, "no such capture")
        return web.Response(status=204)

    async def list_captures(self, _: web.Request) -> web.Response:
        return _collection(self._services.captures.all())

    async def start_capture(self, request: web.Request) -> web.Response:
        body = await _body(request)
        try:
            wanted = CaptureRequest.model_validate_json(body, strict=True)
        except ValidationError as error:
            return validation_problem(error, body)
        status = await self._services.captures.start(wanted)
        return json_reply(status, 201, {"Location": f"/captures/{status.id}"})

    async def get_capture(self, request: web.Request) -> web.Response:
        return _found(self._services.captures.get(request.match_info["id"]), "capture")

    async def stop_capture(self, request: web.Request) -> web.Response:
        return _found(await self._services.captures.stop(request.match_info["id"]), "capture")

    async def watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson", "Cache-Control": "no-store"})
        lines = self._services.hub.watch(self._services.twin.state, self._services.applications.observed)
        try:
            first = await anext(lines)
        except TooManyWatchers:
            return problem(429, "too many watchers")
        await response.prepare(request)
        try:
            await response.write(first.encode() + b"\n")
            async for line in lines:
                await response.write(line.encode() + b"\n")
        except ConnectionError:
            pass
        finally:
            await lines.aclose()
        return response


async def _body(request: web.Request) -> bytes:
    if (request.content_length or 0) > BODY_MAX_BYTES:
        raise Refused(f"the body is larger than {BODY_MAX_BYTES >> 20} MiB", status=413)
    body = await request.read()
    if len(body) > BODY_MAX_BYTES:
        raise Refused(f"the body is larger than {BODY_MAX_BYTES >> 20} MiB", status=413)
    return body


def _found(body: BaseModel | None, what: str) -> web.Response:
    return problem(404, f"no such {what}") if body is None else json_reply(body)


def _collection(items: Sequence[BaseModel]) -> web.Response:
    body: dict[str, Any] = {"items": [item.model_dump(by_alias=True) for item in items], "total": len(items)}
    return web.json_response(body)
