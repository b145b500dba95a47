# SPDX-License-Identifier: Apache-2.0
"""Processes of the twin: short commands with a time limit, and long-running ones with a bounded log."""

import asyncio
import logging
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Mapping, Sequence
from pathlib import Path

log = logging.getLogger(__name__)

LOG_MAX_BYTES = 1 << 20
LINE_MAX_BYTES = 1 << 16
ENTERING_POLL_S = 0.002
ENTERING_POLL_MAX_S = 0.05
"""On a busy machine, where many processes start at once, polling would delay them further."""
ENTERING_TIMEOUT_S = 10.0


class CommandFailed(Exception):
    def __init__(self, command: Sequence[str], status: int | None, output: str) -> None:
        self.output = output.strip()
        self.timed_out = status is None
        reason = "took too long" if status is None else f"exited with {status}"
        super().__init__(f"{command[0]} {reason}: {self.output[-500:]} (command: {' '.join(command)[:500]})")


def in_namespace(pid: int | None, command: Sequence[str]) -> list[str]:
    """Return the command as it runs in the network namespace of a process; it keeps its PID."""
    return list(command) if pid is None else ["nsenter", f"--net=/proc/{pid}/ns/net", "--", *command]


def python_module(name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", name, *arguments]


async def run(
    command: Sequence[str],
    *,
    namespace_of: int | None = None,
    stdin: str = "",
    timeout_s: float = 10.0,
) -> str:
    """Return standard output. Raises CommandFailed unless the command succeeds within the time limit."""
    command = in_namespace(namespace_of, command)
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    try:
        output, errors = await asyncio.wait_for(process.communicate(stdin.encode()), timeout_s)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise CommandFailed(command, None, "") from None
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode != 0:
        raise CommandFailed(command, process.returncode, (errors or output).decode(errors="replace"))
    return output.decode(errors="replace")


async def spawn(
    command: Sequence[str],
    *,
    namespace_of: int | None = None,
    log: "BoundedLog | None" = None,
    capture_output: bool = False,
    environment: Mapping[str, str] | None = None,
    umask: int | None = None,
) -> Process:
    """Start a process that outlives the call, in its own process group; on return, it is in its namespace or has ended.

    With `log`, both its streams are written there until it ends; with `capture_output`, they are left to the caller.
    Without `umask`, it inherits the caller's. Raises OSError, and CommandFailed if it does not get into its namespace
    in time; it has then been killed.
    """
    output = PIPE if capture_output or log else DEVNULL
    namespace = None if namespace_of is None else _network_of(namespace_of)
    process = await asyncio.create_subprocess_exec(
        *in_namespace(namespace_of, command),
        stdin=DEVNULL,
        stdout=output,
        stderr=PIPE if capture_output else STDOUT,
        start_new_session=True,
        env={**os.environ, **(environment or {})},
        limit=LINE_MAX_BYTES,
        umask=-1 if umask is None else umask,
    )
    if log and not capture_output:
        assert process.stdout
        log.follow(process.stdout)
    if namespace is not None:
        await _until_inside(process, namespace, command)
    return process


async def _until_inside(process: Process, namespace: os.stat_result, command: Sequence[str]) -> None:
    pause_s = ENTERING_POLL_S
    try:
        async with asyncio.timeout(ENTERING_TIMEOUT_S):
            while process.returncode is None:
                entered = _network_of(process.pid)
                if entered and os.path.samestat(entered, namespace):
                    return
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, ENTERING_POLL_MAX_S)
    except TimeoutError:
        await end(process, at_once=True)
        said = f"not in its network namespace after {ENTERING_TIMEOUT_S:g} s"
        raise CommandFailed(command, None, said) from None
    except asyncio.CancelledError:
        await end(process, at_once=True)
        raise


def _network_of(pid: int) -> os.stat_result | None:
    """None for a process that has ended."""
    try:
        return Path(f"/proc/{pid}/ns/net").stat()
    except OSError:
        return None


async def end(process: Process, grace_s: float = 1.0, at_once: bool = False) -> None:
    """End the process and its group: kill it after the grace period, or at once."""
    if process.returncode is not None:
        return
    attempts = [(signal.SIGTERM, grace_s), (signal.SIGKILL, 5.0)]
    for number, limit_s in attempts[at_once:]:
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            await asyncio.wait_for(process.wait(), limit_s)
            return
        except TimeoutError:
            continue


class BoundedLog:
    """A log file that keeps at least the last LOG_MAX_BYTES and at most twice as much (in `<name>.old`)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.last_line = ""
        self._dropped_bytes = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def follow(self, stream: asyncio.StreamReader) -> None:
        self.last_line = ""
        task = asyncio.create_task(self._copy(stream))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def until_ended(self, limit_s: float) -> None:
        """Wait for the end of the streams, which comes late if a process leaves children behind."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=limit_s)

    def write(self, data: bytes) -> None:
        """Drop what cannot be written, e.g. on a full disk: a process blocks when nobody reads its output."""
        try:
            with self.path.open("ab") as file:
                file.write(data)
                size = file.tell()
            if size > LOG_MAX_BYTES:
                self.path.replace(self.path.with_name(self.path.name + ".old"))
        except OSError as error:
            if self._dropped_bytes == 0:
                log.warning("%s cannot be written, output is dropped: %s", self.path, error)
            self._dropped_bytes += len(data)
            return
        if self._dropped_bytes:
            log.warning("%s is written again; %d bytes of output were dropped", self.path, self._dropped_bytes)
            self._dropped_bytes = 0

    async def _copy(self, stream: asyncio.StreamReader) -> None:
        while data := await stream.read(LINE_MAX_BYTES):
            self.write(data)
            lines = data.decode(errors="replace").split("\n")
            self.last_line = next((line.strip() for line in reversed(lines) if line.strip()), self.last_line)
