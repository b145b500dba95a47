# SPDX-License-Identifier: Apache-2.0
"""Stand-in for a board: opens its sockets, and can only make slots stuck or empty (`empty`)."""

import argparse
import json
import socket
import sys
from pathlib import Path


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for flag in ("--id", "--profile", "--library", "--images-key", "--control", "--events"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--port", action="append", required=True)
    return parser.parse_args()


def listen(path: str) -> socket.socket:
    Path(path).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    return listener


def main() -> None:
    arguments = parse_arguments()
    slots = len(json.loads(Path(arguments.profile).read_text())["slots"])
    for port in arguments.port:
        place, interface = port.split("=")
        assert int(place.split(":")[0]) < slots
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)).bind((interface, 0))
    events = listen(arguments.events)
    control = listen(arguments.control)
    print("ready", *sys.argv[1:], flush=True)
    stuck: set[int] = set()
    while events:
        connection, _ = control.accept()
        with connection, connection.makefile("rw") as stream:
            for line in stream:
                stream.write(json.dumps(answer(json.loads(line), stuck)) + "\n")
                stream.flush()


def answer(request: dict[str, object], stuck: set[int]) -> dict[str, object]:
    match request:
        case {"method": "inject", "params": {"fault": "slot-stuck", "slot": int(slot)}} if slot not in stuck:
            stuck.add(slot)
        case {"method": "inject", "params": {"fault": "slot-clear", "slot": int(slot)}} if slot in stuck:
            stuck.remove(slot)
        case {"method": "empty"}:
            stuck.clear()
        case _:
            return {"id": request["id"], "error": {"code": "bad-request", "detail": "cannot", "pointer": None}}
    return {"id": request["id"], "result": {}}


if __name__ == "__main__":
    main()
