# SPDX-License-Identifier: Apache-2.0
"""Round trips of small datagrams, one at a time: `echo` returns them, `ask` measures and prints one line of JSON."""

import argparse
import json
import socket
import time

PORT = 9777
PAYLOAD_BYTES = 22
ANSWER_TIMEOUT_S = 0.5
INTERVAL_S = 0.001


def echo() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.bind(("", PORT))
        print("ready")
        while True:
            end.sendto(*end.recvfrom(PAYLOAD_BYTES))


def ask(address: str, count: int) -> dict[str, float]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.connect((address, PORT))
        end.settimeout(ANSWER_TIMEOUT_S)
        taken = sorted(trip for number in range(count) if (trip := one(end, number)) is not None)
    if not taken:
        raise SystemExit("no datagram came back")
    return {
        "p50_us": taken[len(taken) // 2],
        "p99_us": taken[len(taken) * 99 // 100],
        "lost": count - len(taken),
    }


def one(end: socket.socket, number: int) -> float | None:
    """Microseconds until the datagram is back; None: it is lost."""
    time.sleep(INTERVAL_S)
    payload = number.to_bytes(PAYLOAD_BYTES, "big")
    start_ns = time.perf_counter_ns()
    end.send(payload)
    try:
        while end.recv(PAYLOAD_BYTES) != payload:
            pass
    except TimeoutError:
        return None
    return (time.perf_counter_ns() - start_ns) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("echo")
    asking = commands.add_parser("ask")
    asking.add_argument("address")
    asking.add_argument("--count", type=int, default=1000)
    arguments = parser.parse_args()
    if arguments.command == "echo":
        echo()
    else:
        print(json.dumps(ask(arguments.address, arguments.count)))


if __name__ == "__main__":
    main()
