# SPDX-License-Identifier: Apache-2.0
"""Why a request is refused, with a JSON Pointer (RFC 6901) to each field at fault."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class FieldFault:
    pointer: str
    detail: str


class Refused(Exception):
    """Nothing was changed. `status` is the HTTP status (422 by default)."""

    def __init__(self, title: str, faults: Iterable[FieldFault] = (), status: int = 422) -> None:
        self.title = title
        self.faults = tuple(faults)
        self.status = status
        super().__init__("; ".join([title, *(f"{fault.pointer}: {fault.detail}" for fault in self.faults)]))


def pointer(*parts: str | int) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)
