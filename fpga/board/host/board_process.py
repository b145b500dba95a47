# SPDX-License-Identifier: Apache-2.0
"""A boardd from the build directory, its control and event sockets, and images for it."""

import itertools
import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

FPGA = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("ORRERY_BOARD_BUILD", FPGA / "build")) / "board"
LIBRARY = BUILD / "slot"
SIGNED_BYTES = 264
HEADER_BYTES = 328


class BoardError(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["detail"])
        self.code = error["code"]
        self.pointer = error["pointer"]


class Lines:
    """JSON lines over a unix socket."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(30)
        self._socket.connect(str(path))
        self._file = self._socket.makefile("rb")

    def send(self, text: bytes) -> None:
        self._socket.sendall(text + b"\n")

    def read(self) -> dict[str, Any]:
        line = self._file.readline()
        if not line:
            raise EOFError
        return json.loads(line)

    def close(self) -> None:
        self._file.close()
        self._socket.close()


class Board:
    def __init__(self, directory: Path, key: Path, profile: str, ports: Iterable[str], time_scale: float) -> None:
        self._control_path = directory / "control"
        self._events_path = directory / "events"
        self._ids = itertools.count(1)
        command = [BUILD / "boardd", "--id", "board-1", "--profile", FPGA / f"board/profiles/{profile}.json"]
        command += ["--library", LIBRARY, "--images-key", key, "--control", self._control_path]
        command += ["--events", self._events_path, "--time-scale", str(time_scale)]
        for port in ports:
            command += ["--port", port]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            raise AssertionError("boardd exited at once")
        self.control = Lines(self._control_path)
        self.seen: list[dict[str, Any]] = []  # events that await_event() has read
        self.listen()

    def call(self, method: str, **params: Any) -> Any:
        request = {"id": next(self._ids), "method": method, "params": params}
        self.control.send(json.dumps(request).encode())
        answer = self.control.read()
        assert answer["id"] == request["id"]
        if "error" in answer:
            raise BoardError(answer["error"])
        return answer["result"]

    def listen(self) -> None:
        self.events = Lines(self._events_path)
        self.describe()  # anyone subscribed before an answer gets all events after it

    def describe(self) -> Any:
        return self.call("describe")

    def status(self) -> Any:
        return self.call("status")

    def slot(self, n: int = 0) -> Any:
        return self.status()["slots"][n]

    def await_event(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            self.seen.append(event := self.events.read())
            if holds(event):
                return event

    def await_slot(self, state: str, slot: int = 0) -> dict[str, Any]:
        return self.await_event(lambda e: e["type"] == "slot" and e["slot"] == slot and e["state"] == state)

    def load(self, image: Path, slot: int | None = 0, **params: Any) -> Any:
        """Load an image and wait for the end; return `last_load`."""
        kind = "full" if slot is None else "partial"
        load = self.call("load", slot=slot, kind=kind, image=str(image), **params)["id"]
        ends = ("operating", "write error", "write complete error")
        self.await_event(lambda e: e["type"] == "board" and e["load"] == load and e["state"] in ends)
        return self.status()["last_load"]

    def cpu_ns(self) -> int:
        tasks = Path(f"/proc/{self.process.pid}/task")
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._close()

    def stop(self) -> int:
        self.process.terminate()
        code = self.process.wait(timeout=10)
        self._close()
        return code

    def _close(self) -> None:
        self.control.close()
        self.events.close()
        if self.process.stdout is not None:
            self.process.stdout.close()


class Images:
    """A key and containers signed with it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.key = directory / "key"
        self.public_key = directory / "key.pub"
        self._bitgen("--new-key", self.key, "--public-key", self.public_key)

    def _bitgen(self, *arguments: Any) -> None:
        subprocess.run([BUILD / "bitgen", *arguments], check=True)

    def partial(self, profile: str, module: str = "nf_pass", slot: int = 0) -> Path:
        path = self.directory / f"{profile}-{module}-{slot}.bit"
        if not path.exists():
            self._bitgen(*self._common(profile, path), "--module", module, "--slot", str(slot))
        return path

    def full(self, profile: str, *modules: str) -> Path:
        path = self.directory / f"{profile}-{'-'.join(modules)}.full.bit"
        if not path.exists():
            self._bitgen(*self._common(profile, path), "--full", *(a for m in modules for a in ("--module", m)))
        return path

    def _common(self, profile: str, path: Path) -> list[Any]:
        file = FPGA / f"board/profiles/{profile}.json"
        return ["--profile", file, "--library", LIBRARY, "--key", self.key, "--output", path]

    def changed(self, image: Path, at: int, value: bytes, sign: bool) -> Path:
        """Copy with modified bytes, signed again or not."""
        data = bytearray(image.read_bytes())
        data[at : at + len(value)] = value
        if sign:
            message = self.directory / "message"
            message.write_bytes(data[:SIGNED_BYTES])
            command = ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", self.key, "-in", message]
            data[SIGNED_BYTES:HEADER_BYTES] = subprocess.run(command, check=True, capture_output=True).stdout
        path = self.directory / "changed.bit"
        path.write_bytes(data)
        return path
