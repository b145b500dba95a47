# SPDX-License-Identifier: Apache-2.0
"""Which traffic runs, kept in a file so that a killed twind can start it again."""

from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from orrery_twin.contract.models import TrafficRequest


class Running(BaseModel):
    id: str
    request: TrafficRequest
    started_ms: float

    def rest(self, now_ms: float) -> TrafficRequest | None:
        """What is left to be made; None when its time is over. A count of requests or loops begins anew."""
        duration_s: float | None = getattr(self.request, "duration_s", None)
        if not duration_s:
            return self.request
        left_s = duration_s - (now_ms - self.started_ms) / 1000
        return self.request.model_copy(update={"duration_s": left_s}) if left_s > 0 else None


ENTRIES = TypeAdapter(list[Running])


class TrafficJournal:
    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> list[Running]:
        """Nothing when there is no such file or it is of another version."""
        try:
            return ENTRIES.validate_json(self._file.read_bytes())
        except (OSError, ValidationError):
            return []

    def write(self, entries: list[Running]) -> None:
        """All or nothing."""
        draft = self._file.with_suffix(".new")
        draft.write_bytes(ENTRIES.dump_json(entries, by_alias=True))
        draft.rename(self._file)
