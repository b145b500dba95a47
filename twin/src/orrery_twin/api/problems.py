# SPDX-License-Identifier: Apache-2.0
"""Errors as problem details (RFC 9457), each bad field with a JSON Pointer."""

import json
from typing import Any

from aiohttp import web
from pydantic import BaseModel, ValidationError

from orrery_twin.contract.models import FieldError, Problem
from orrery_twin.domain.refusal import Refused, pointer

ERRORS_MAX = 50
TYPES = {
    400: "malformed-request",
    404: "not-found",
    405: "method-not-allowed",
    409: "conflict",
    413: "too-large",
    422: "invalid",
    429: "too-many",
    500: "internal",
    503: "unavailable",
}


def problem(status: int, title: str, detail: str | None = None, errors: list[FieldError] | None = None) -> web.Response:
    body = Problem(
        type=f"urn:orrery:problem:{TYPES.get(status, 'internal')}",
        title=title,
        status=status,
        detail=detail,
        errors=errors,
    )
    text = body.model_dump_json(exclude_none=True)
    return web.Response(status=status, text=text, content_type="application/problem+json")


def refusal_problem(refusal: Refused) -> web.Response:
    errors = [FieldError(pointer=fault.pointer, detail=fault.detail) for fault in refusal.faults[:ERRORS_MAX]]
    return problem(refusal.status, refusal.title, errors=errors or None)


def validation_problem(error: ValidationError, body: bytes) -> web.Response:
    found = error.errors(include_url=False)
    if any(item["type"] == "json_invalid" for item in found):
        return problem(400, "the body is not JSON", found[0]["msg"])
    document = json.loads(body)
    errors = []
    for item in found[:ERRORS_MAX]:
        place = _pointer(document, item["loc"], item["type"])
        if item["type"].startswith("union_tag"):
            place += pointer(item["ctx"]["discriminator"].strip("'"))
        errors.append(FieldError(pointer=place, detail=item["msg"], code=item["type"]))
    return problem(422, "the body does not follow the contract", errors=errors)


def _pointer(document: Any, location: tuple[str | int, ...], kind: str) -> str:
    """Drop the names of union members, which are in pydantic's location but not in the document."""
    parts: list[str | int] = []
    for place, part in enumerate(location):
        is_last = place == len(location) - 1
        if isinstance(document, dict) and (part in document or (is_last and kind == "missing")):
            parts.append(part)
            document = document.get(part)
        elif isinstance(document, list) and isinstance(part, int) and part < len(document):
            parts.append(part)
            document = document[part]
    return pointer(*parts)


def json_reply(
    body: BaseModel, status: int = 200, headers: dict[str, str] | None = None, *, only_set: bool = False
) -> web.Response:
    """`only_set`: for bodies with optional fields, which the contract requires to be left out, not null."""
    text = body.model_dump_json(by_alias=True, exclude_unset=only_set)
    return web.Response(status=status, text=text, content_type="application/json", headers=headers)
