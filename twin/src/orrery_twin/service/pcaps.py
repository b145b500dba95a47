# SPDX-License-Identifier: Apache-2.0
"""Uploaded captures, kept in the state directory across restarts."""

import asyncio
import secrets
from pathlib import Path

from pydantic import ValidationError

from orrery_twin.adapters.captures import convert_to_pcap
from orrery_twin.adapters.process import CommandFailed
from orrery_twin.contract.models import PcapInfo
from orrery_twin.domain.pcap_file import ETHERNET, LINK_TYPES, PCAPNG_MAGIC, NotACapture, summarize
from orrery_twin.domain.refusal import FieldFault, Refused
from orrery_twin.service.hub import now_ms

FILE_MAX_BYTES = 64 << 20
FILES_MAX = 100
TOTAL_MAX_BYTES = 512 << 20
NAME_MAX = 120


class Pcaps:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._known: dict[str, PcapInfo] = {}
        for description in sorted(directory.glob("*.json")):
            try:
                info = PcapInfo.model_validate_json(description.read_bytes())
            except ValidationError:
                continue
            if self.file(info.id).exists():
                self._known[info.id] = info

    def all(self) -> list[PcapInfo]:
        return sorted(self._known.values(), key=lambda info: info.created_ms)

    def get(self, pcap_id: str) -> PcapInfo | None:
        return self._known.get(pcap_id)

    def file(self, pcap_id: str) -> Path:
        return self._directory / f"{pcap_id}.pcap"

    async def add(self, name: str, data: bytes) -> PcapInfo:
        """Raises Refused for a capture that cannot be replayed, and stores nothing then."""
        if data.startswith(PCAPNG_MAGIC):
            try:
                data = await convert_to_pcap(data, self._directory)
            except CommandFailed as failure:
                raise Refused("not a capture file", [FieldFault("", failure.output[-300:])]) from None
        return await asyncio.to_thread(self._add, name, data)

    def remove(self, pcap_id: str) -> bool:
        """False if there is none."""
        if self._known.pop(pcap_id, None) is None:
            return False
        # The description is removed first: without it, the file does not count.
        (self._directory / f"{pcap_id}.json").unlink(missing_ok=True)
        self.file(pcap_id).unlink(missing_ok=True)
        return True

    def _add(self, name: str, data: bytes) -> PcapInfo:
        if not 1 <= len(name) <= NAME_MAX:
            raise Refused("the capture needs a name", [FieldFault("/name", f"has 1 to {NAME_MAX} characters")])
        if (
            len(self._known) >= FILES_MAX
            or sum(info.bytes for info in self._known.values()) + len(data) > TOTAL_MAX_BYTES
        ):
            raise Refused(
                f"the twin keeps at most {FILES_MAX} captures of {TOTAL_MAX_BYTES >> 20} MiB together", status=409
            )
        try:
            summary = summarize(data)
        except NotACapture as problem:
            raise Refused("not a capture file", [FieldFault("", str(problem))]) from None
        link_type = LINK_TYPES.get(summary.link_type, f"link-type-{summary.link_type}")
        if summary.packets == 0:
            raise Refused("the capture has no packets", [FieldFault("", "nothing to replay")])
        if summary.link_type != ETHERNET:
            raise Refused(
                "not an Ethernet capture", [FieldFault("", f"hosts can only send Ethernet frames, not {link_type}")]
            )
        pcap_id = "pcap-" + secrets.token_hex(6)
        info = PcapInfo(
            id=pcap_id,
            name=name,
            bytes=len(data),
            packets=summary.packets,
            duration_s=summary.duration_s,
            link_type=link_type,
            created_ms=now_ms(),
        )
        # The description is written last: without it, the file does not count.
        self.file(pcap_id).write_bytes(data)
        partial = self._directory / f"{pcap_id}.json.new"
        partial.write_text(info.model_dump_json())
        partial.replace(self._directory / f"{pcap_id}.json")
        self._known[pcap_id] = info
        return info
