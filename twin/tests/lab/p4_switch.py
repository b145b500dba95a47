# SPDX-License-Identifier: Apache-2.0
"""The built-in P4 switch between interfaces of namespaces of its own, and a P4Runtime client made of finsy's parts."""

import contextlib
import ctypes
import json
import os
import queue
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
from finsy import P4TableAction, P4TableEntry, P4TableMatch, p4entity
from finsy.p4schema import P4Schema
from finsy.proto import p4r, p4r_grpc, rpc_status

REPOSITORY = Path(__file__).resolve().parents[3]
PROGRAM = REPOSITORY / "agents/build/p4/switch/orrery-p4-switch"
P4_PROGRAMS = REPOSITORY / "agents/p4/tests/programs"
DEVICE = 7
CPU_PORT = 510
CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
PACKET_IGNORE_OUTGOING = 23
PACKET_AUXDATA = 8
VLAN_VALID = 1 << 4
LIMIT_S = 10.0

INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


class Namespace:
    """A network namespace under a name of this process."""

    def __init__(self, name: str) -> None:
        self.name = f"p4t{os.getpid()}-{name}"
        ip("netns", "add", self.name)
        # The system would send frames of its own.
        ip("netns", "exec", self.name, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")

    def ip(self, *arguments: str) -> None:
        ip("-n", self.name, *arguments)

    def socket(self, interface: str) -> socket.socket:
        """All frames of an interface that come in."""
        made: list[socket.socket] = []

        def enter() -> None:
            libc = ctypes.CDLL(None, use_errno=True)
            with Path("/run/netns", self.name).open() as handle:
                if libc.setns(handle.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            taken = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            taken.setsockopt(263, PACKET_IGNORE_OUTGOING, 1)
            taken.setsockopt(263, PACKET_AUXDATA, 1)
            taken.bind((interface, 0))
            taken.settimeout(LIMIT_S)
            made.append(taken)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        return made[0]

    def close(self) -> None:
        subprocess.run(["ip", "netns", "delete", self.name], check=False, capture_output=True)


def receive(from_socket: socket.socket) -> bytes:
    """The next frame with the VLAN tag that the kernel keeps beside it."""
    data, ancillary, _, _ = from_socket.recvmsg(65536, 256)
    for _, _, extra in ancillary:
        status, *_, tci, tpid = struct.unpack_from("<IIIHHHH", extra)
        if status & VLAN_VALID:
            return data[:12] + struct.pack(">HH", tpid, tci) + data[12:]
    return data


class Switch:
    """The program with its namespace; ports 1 and 2 lead to `host(1)` and `host(2)`."""

    def __init__(self, *arguments: str, ports: int = 0) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="p4"))
        self.address = f"unix:{self.directory}/grpc"
        self.namespace = Namespace("s")
        self.hosts = Namespace("h")
        self._sockets: dict[int, socket.socket] = {}
        for port in range(1, ports + 1):
            self.add_link(port)
        self.arguments = list(arguments)
        for port in range(1, ports + 1):
            self.arguments += ["--port", f"{port}@s{port}"]
        for port in range(1, ports + 1):
            self._sockets[port] = self.hosts.socket(f"h{port}")
        self.start()

    def add_link(self, port: int) -> None:
        self.namespace.ip("link", "add", f"s{port}", "type", "veth", "peer", "name", f"h{port}")
        self.namespace.ip("link", "set", f"h{port}", "netns", self.hosts.name)
        self.hosts.ip("link", "set", f"h{port}", "up")
        self.namespace.ip("link", "set", f"s{port}", "up")

    def start(self) -> None:
        self.launch()
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"orrery-p4-switch runs\n"

    def launch(self) -> None:
        """Without waiting for it to serve."""
        command = ["ip", "netns", "exec", self.namespace.name, str(PROGRAM), "--device-id", str(DEVICE)]
        command += ["--p4runtime", self.address, "--control", f"{self.directory}/control", *self.arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)

    def host(self, port: int) -> socket.socket:
        return self._sockets[port]

    def request(self, method: str, path: str = "control", **params: Any) -> Any:
        with socket.socket(socket.AF_UNIX) as to, to.makefile("rw") as lines:
            to.settimeout(LIMIT_S)
            to.connect(f"{self.directory}/{path}")
            lines.write(json.dumps({"id": 1, "method": method, "params": params}) + "\n")
            lines.flush()
            return json.loads(lines.readline())

    def call(self, method: str, **params: Any) -> Any:
        answer = self.request(method, **params)
        assert "result" in answer, answer
        return answer["result"]

    def until(self, ready: Callable[[], Any]) -> Any:
        end = time.monotonic() + LIMIT_S
        while not (result := ready()):
            assert time.monotonic() < end
            time.sleep(0.02)
        return result

    def until_port(self, number: int, state: str) -> None:
        self.until(lambda: any(p["number"] == number and p["state"] == state for p in self.call("describe")["ports"]))

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            self.process.wait(LIMIT_S)
        for each in self._sockets.values():
            each.close()
        self.namespace.close()
        self.hosts.close()
        shutil.rmtree(self.directory)


Change = tuple[int, Any]


def insert(entity: Any) -> Change:
    return INSERT, entity


def modify(entity: Any) -> Change:
    return MODIFY, entity


def delete(entity: Any) -> Change:
    return DELETE, entity


def entry(table: str, match: dict[str, object], action: str = "", priority: int = 0, **more: object) -> P4TableEntry:
    made = P4TableEntry(table, match=P4TableMatch(**match), priority=priority)
    if action:
        name, *arguments = action.split()
        made.action = P4TableAction(name, **dict(each.split("=") for each in arguments))
    for key, value in more.items():
        setattr(made, key, value)
    return made


def frame(dst: int = 0xB, src: int = 0xA, payload: bytes = b"payload", kind: int = 0x1234) -> bytes:
    return dst.to_bytes(6, "big") + src.to_bytes(6, "big") + kind.to_bytes(2, "big") + payload.ljust(46, b".")


class Failed(Exception):
    """An RPC that failed, with the outcome of each update."""

    def __init__(self, error: Any) -> None:
        super().__init__(error.details())
        self.code = error.code().name
        self.errors: list[p4r.Error] = []
        for key, value in error.trailing_metadata() or ():
            if key == "grpc-status-details-bin":
                for detail in rpc_status.Status.FromString(value).details:
                    one = p4r.Error()
                    assert detail.Unpack(one)
                    self.errors.append(one)

    @property
    def codes(self) -> list[int]:
        return [error.canonical_code for error in self.errors]


class Client:
    """A client with one stream. Messages of the stream come in order from `next`, unless it never reads."""

    def __init__(self, switch: Switch, program: str = "control_plane", reads: bool = True) -> None:
        self.schema = P4Schema(P4_PROGRAMS / f"{program}.p4info.txtpb", P4_PROGRAMS / f"{program}.json")
        self.channel = grpc.insecure_channel(
            switch.address, options=[("grpc.max_metadata_size", 1 << 22), ("grpc.use_local_subchannel_pool", 1)]
        )
        self.stub = p4r_grpc.P4RuntimeStub(self.channel)
        self.election: int | None = None
        self._requests: queue.Queue[p4r.StreamMessageRequest | None] = queue.Queue()
        self._responses: queue.Queue[p4r.StreamMessageResponse | Failed] = queue.Queue()
        self._stream = self.stub.StreamChannel(iter(self._requests.get, None))
        if reads:
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            for message in self._stream:
                self._responses.put(message)
        except grpc.RpcError as error:
            self._responses.put(Failed(error))

    def send(self, message: p4r.StreamMessageRequest) -> None:
        self._requests.put(message)

    def next(self, kind: str) -> Any:
        """The next message, which is of this kind."""
        message = self._responses.get(timeout=LIMIT_S)
        if isinstance(message, Failed):
            raise message
        assert message.WhichOneof("update") == kind, message
        return getattr(message, kind)

    def arbitrate(self, election: int | None = None, device: int = DEVICE, role: str = "") -> None:
        update = p4r.MasterArbitrationUpdate(device_id=device)
        if role:
            update.role.name = role
        if election is not None:
            update.election_id.low = election
            self.election = election
        self.send(p4r.StreamMessageRequest(arbitration=update))

    def lead(self, election: int = 1) -> "Client":
        self.arbitrate(election)
        assert self.next("arbitration").status.code == 0
        return self

    def _elected(self, request: Any) -> Any:
        request.device_id = DEVICE
        if self.election is not None:
            request.election_id.low = self.election
        return request

    def _ask(self, rpc: Callable[..., Any], request: Any) -> Any:
        try:
            return rpc(request, timeout=LIMIT_S)
        except grpc.RpcError as error:
            raise Failed(error) from None

    def set_pipeline(self, action: str = "VERIFY_AND_COMMIT", cookie: int | None = None, config: bool = True) -> None:
        request = self._elected(p4r.SetForwardingPipelineConfigRequest())
        request.action = p4r.SetForwardingPipelineConfigRequest.Action.Value(action)
        if config:
            request.config.p4info.CopyFrom(self.schema.p4info)
            request.config.p4_device_config = self.schema.p4blob
        if cookie is not None:
            request.config.cookie.cookie = cookie
        self._ask(self.stub.SetForwardingPipelineConfig, request)

    def get_pipeline(self, kind: str = "ALL") -> Any:
        request = p4r.GetForwardingPipelineConfigRequest(device_id=DEVICE)
        request.response_type = p4r.GetForwardingPipelineConfigRequest.ResponseType.Value(kind)
        return self._ask(self.stub.GetForwardingPipelineConfig, request)

    def request_of(self, *updates: Change | p4r.Update, atomicity: str = "CONTINUE_ON_ERROR") -> p4r.WriteRequest:
        """Changes of finsy's entities, or messages."""
        request = self._elected(p4r.WriteRequest())
        request.atomicity = p4r.WriteRequest.Atomicity.Value(atomicity)
        for update in updates:
            if isinstance(update, p4r.Update):
                request.updates.append(update)
            else:
                kind, entity = update
                request.updates.add(type=kind, entity=self.message(entity))
        return request

    def write(self, *updates: Change | p4r.Update, atomicity: str = "CONTINUE_ON_ERROR") -> None:
        self._ask(self.stub.Write, self.request_of(*updates, atomicity=atomicity))

    def read_raw(self, *entities: Any) -> list[p4r.Entity]:
        request = p4r.ReadRequest(device_id=DEVICE)
        for entity in entities:
            request.entities.append(entity if isinstance(entity, p4r.Entity) else self.message(entity))
        try:
            return [entity for message in self.stub.Read(request, timeout=LIMIT_S) for entity in message.entities]
        except grpc.RpcError as error:
            raise Failed(error) from None

    def message(self, entity: Any) -> p4r.Entity:
        return p4entity.encode_entities([entity], self.schema)[0]

    def assert_there(self, wildcard: Any, *entities: Any) -> None:
        """What a read finds, in any order."""
        read = sorted(each.SerializeToString() for each in self.read_raw(wildcard))
        assert read == sorted(self.message(each).SerializeToString() for each in entities)

    def read(self, *entities: Any) -> list[Any]:
        return [p4entity.decode_entity(entity, self.schema) for entity in self.read_raw(*entities)]

    def close(self) -> None:
        self._requests.put(None)
        self._stream.cancel()
        self.channel.close()


@contextlib.contextmanager
def switch_of(*arguments: str, ports: int = 0) -> Iterator[Switch]:
    switch = Switch(*arguments, ports=ports)
    try:
        yield switch
    finally:
        switch.close()


@contextlib.contextmanager
def client_of(switch: Switch, **options: Any) -> Iterator[Client]:
    client = Client(switch, **options)
    try:
        yield client
    finally:
        client.close()
