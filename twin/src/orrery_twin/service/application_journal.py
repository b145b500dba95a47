# SPDX-License-Identifier: Apache-2.0
"""When each run began and which are over, kept in a file: a restarted twind continues the rest and repeats nothing."""

from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from orrery_twin.contract.models import ApplicationSpec


class Entry(BaseModel):
    spec: ApplicationSpec
    started_ms: float
    completed_ms: float | None = None
    metrics: dict[str, float] = {}
    detail: str | None = None

    def is_of(self, spec: ApplicationSpec) -> bool:
        return (self.spec.revision, self.spec.definition) == (spec.revision, spec.definition)


ENTRIES = TypeAdapter(dict[str, Entry])


class ApplicationJournal:
    """By application ID."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> dict[str, Entry]:
        """Empty if there is no such file or it has another version."""
        try:
            return ENTRIES.validate_json(self._file.read_bytes())
        except (OSError, ValidationError):
            return {}

    def write(self, entries: dict[str, Entry]) -> None:
        """All or nothing."""
        draft = self._file.with_suffix(".new")
        draft.write_bytes(ENTRIES.dump_json(entries, by_alias=True, exclude_unset=False))
        draft.rename(self._file)
