# SPDX-License-Identifier: Apache-2.0
"""Loading bitstreams into a live board."""

import signal
from collections.abc import Callable

import pytest

from board.host.board_process import HEADER_BYTES, Board, BoardError, Images

from .traffic import Receiver, Sender, frame, number_of

Start = Callable[..., Board]


def test_a_board_that_was_just_powered_on_is_empty(start: Start) -> None:
    board = start(slots=2)
    status = board.status()
    assert status["board"]["state"] == "unknown"
    assert [slot["state"] for slot in status["slots"]] == ["empty", "empty"]
    assert status["last_load"] is None
    about = board.describe()
    assert about["emulated"] and about["profile"] == "ecp5" and about["clock_hz"] == 80_000_000
    assert about["slots"][1]["far"] == "far1"
    assert next(m for m in about["library"] if m["name"] == "nf_pass")["id"] == "PAS1"


def test_slots_go_through_their_states(start: Start, images: Images) -> None:
    board = start()
    load = board.load(images.partial("ecp5"))
    assert (load["state"], load["error"], load["bytes"]) == ("operating", None, load["bytes_total"])
    assert board.slot()["state"] == "configuring"
    assert board.slot()["module"]["name"] == "nf_pass"
    board.call("resume", slot=0)
    board.call("quiesce", slot=0)
    board.call("unload", slot=0)
    board.load(images.partial("ecp5"))
    states = [event["state"] for event in board.seen if event["type"] == "slot"]
    assert states == ["loading", "configuring", "active", "quiescing", "empty", "loading", "configuring"]


def test_two_slots_with_the_same_module_are_unloaded_in_any_order(start: Start, images: Images) -> None:
    board = start(slots=2)
    for slot in (0, 1):
        board.load(images.partial("ecp5", "nf_stateful_firewall", slot), slot)
        board.call("resume", slot=slot)
    for slot in (1, 0):
        board.call("unload", slot=slot)
    assert [slot["state"] for slot in board.status()["slots"]] == ["empty", "empty"]
    assert board.stop() == 0


@pytest.mark.parametrize("policy", ["hold", "drop", "bypass"])
def test_every_frame_of_a_swap_is_accounted_for(start: Start, images: Images, policy: str) -> None:
    board = start(time_scale=3)
    board.load(images.partial("ecp5"))
    board.call("resume", slot=0)
    receiver = Receiver("far0-x")
    sender = Sender("near0-x", 5000, lengths=(60, 1514))
    sender.start()
    first = receiver.take(100)
    before = board.slot()["counters"]["dropped"]
    board.load(images.partial("ecp5"), policy=policy)
    board.call("resume", slot=0)
    later = receiver.take(100)
    sent = sender.stop()
    load = board.status()["last_load"]
    lost = board.slot()["counters"]["dropped"] - before
    numbers = [number_of(data) for data in first + later + receiver.take(sent - lost - len(first + later))]
    assert numbers == sorted(set(numbers)), "in order, none twice"
    assert len(numbers) == sent - lost
    assert load["lost"] == lost
    assert (load["held"] > 500) == (policy == "hold")
    assert (load["lost"] > 500) == (policy == "drop")
    assert (load["bypassed"] > 500) == (policy == "bypass")
    if policy != "drop":
        assert lost == 0
    receiver.close()


@pytest.mark.parametrize("policy", ["drop", "bypass"])
def test_frames_that_wait_for_a_late_board_are_not_held_by_its_policy(
    start: Start, images: Images, policy: str
) -> None:
    board = start()
    board.load(images.partial("ecp5"))
    board.call("resume", slot=0)
    board.load(images.partial("ecp5"), policy=policy)
    sender = Sender("near0-x", 5000)
    board.process.send_signal(signal.SIGSTOP)
    board.control.send(b'{"id": 0, "method": "resume", "params": {"slot": 0}}')
    sender.start()
    while sender.sent < 1000:
        pass
    board.process.send_signal(signal.SIGCONT)
    assert "result" in board.control.read()
    sender.stop()
    assert board.status()["last_load"]["held"] == 0


def test_a_full_load_takes_links_and_slots_down(start: Start, images: Images) -> None:
    board = start(time_scale=1, slots=2)
    board.load(images.partial("ecp5"))
    board.call("resume", slot=0)
    sender = Sender("near0-x", 5000)
    board.call("load", slot=None, kind="full", image=str(images.full("ecp5", "-", "nf_pass")))
    sender.start()
    status = board.status()
    assert status["board"]["state"] == "write"
    assert [slot["state"] for slot in status["slots"]] == ["loading", "loading"]
    assert not any(port["up"] for port in status["ports"])
    with pytest.raises(BoardError, match="being configured"):
        board.call("csr_read", slot=None, addresses=[0])
    board.await_slot("configuring", slot=1)
    sent = sender.stop()
    status = board.status()
    assert [slot["state"] for slot in status["slots"]] == ["empty", "configuring"]
    assert all(port["up"] for port in status["ports"])
    near = status["ports"][0]
    assert near["drops"]["not_configured"] + near["rx"] == sent
    assert near["drops"]["not_configured"] > 0


def test_every_frame_of_a_full_load_with_full_queues_is_accounted_for(start: Start, images: Images) -> None:
    board = start(time_scale=0.1)
    board.load(images.partial("ecp5"))
    board.call("resume", slot=0)
    receiver = Receiver("far0-x")
    before = board.slot()["counters"]["dropped"]
    sender = Sender("near0-x", 20_000, lengths=(60, 1514))
    sender.start()
    first = receiver.take(100)
    board.call("quiesce", slot=0)
    while board.slot()["counters"]["held"] < 500:
        pass
    load = board.load(images.full("ecp5", "nf_pass", "-"), slot=None)
    assert load["state"] == "operating"
    board.call("resume", slot=0)
    later = receiver.take(100)
    sent = sender.stop()
    status = board.status()
    load, near = status["last_load"], status["ports"][0]
    assert sum(near["drops"].values()) == near["drops"]["not_configured"]
    lost = status["slots"][0]["counters"]["dropped"] - before + near["drops"]["not_configured"]
    numbers = [number_of(data) for data in first + later + receiver.take(sent - lost - len(first + later))]
    assert numbers == sorted(set(numbers)), "in order, none twice"
    assert len(numbers) == sent - lost
    assert load["lost"] == lost > 500
    receiver.close()


@pytest.mark.parametrize(("profile", "scale"), [("de5", 1), ("ecp5", 8)])
def test_a_load_takes_the_time_that_the_profile_says(start: Start, images: Images, profile: str, scale: float) -> None:
    board = start(profile, time_scale=scale)
    cpu = board.cpu_ns()
    load = board.load(images.partial(profile))
    # Never sooner; how much later depends on what else the machine does.
    assert 0.98 < load["measured_s"] / (load["modelled_s"] * scale) < 1.5
    if profile == "de5":
        assert load["modelled_s"] == pytest.approx(2.5)
    assert board.cpu_ns() - cpu < 0.2e9, "it waits; it does not spin"


REGION, SHELL, MODULE, PROFILE, KIND = 48, 80, 96, 16, 8


@pytest.mark.parametrize(
    ("at", "value", "sign", "words"),
    [
        (0, b"X", True, "reconfig incompatible image: not a bitstream"),
        (KIND, b"\x01", True, "reconfig incompatible image: the image is full"),
        (PROFILE, b"de5\0", True, "reconfig incompatible image: the image is for de5"),
        (REGION, b"pr1", True, "reconfig incompatible image: the image is for region pr1"),
        (SHELL, b"\0\0", True, "reconfig incompatible image: the image is for another shell"),
        (MODULE, b"\0\0", True, "reconfig incompatible image: unknown module"),
        (REGION, b"pr1", False, "reconfig operation error: the signature"),
    ],
)
def test_an_image_that_does_not_fit_is_refused_and_nothing_changes(
    board: Board, images: Images, at: int, value: bytes, sign: bool, words: str
) -> None:
    image = images.changed(images.partial("ecp5"), at, value, sign)
    with pytest.raises(BoardError, match=words) as refused:
        board.call("load", slot=0, kind="partial", image=str(image))
    assert (refused.value.code, refused.value.pointer) == ("image-refused", "/image")
    assert board.slot()["state"] == "active"
    assert board.status()["board"]["state"] == "operating"


def test_a_damaged_payload_leaves_the_slot_faulty(board: Board, images: Images) -> None:
    image = images.changed(images.partial("ecp5"), HEADER_BYTES + 1000, b"damage", sign=False)
    load = board.load(image)
    assert load["state"] == board.status()["board"]["state"] == "write error"
    assert load["error"].startswith("reconfig CRC error")
    assert board.slot()["state"] == "faulty"
    assert board.slot()["error"] == load["error"]
    assert board.load(images.partial("ecp5"))["state"] == "operating", "a good image repairs it"


def test_a_truncated_payload_leaves_the_slot_faulty(board: Board, images: Images) -> None:
    image = images.directory / "short.bit"
    image.write_bytes(images.partial("ecp5").read_bytes()[:-1])
    assert board.load(image)["error"].startswith("reconfig IP protocol error")
    assert board.slot()["state"] == "faulty"


def test_a_damaged_full_image_leaves_the_board_empty_with_links_up(board: Board, images: Images) -> None:
    image = images.changed(images.full("ecp5", "nf_pass", "nf_pass"), HEADER_BYTES, b"damage", sign=False)
    assert board.load(image, slot=None)["state"] == "write error"
    status = board.status()
    assert [slot["state"] for slot in status["slots"]] == ["faulty", "faulty"]
    assert all(port["up"] for port in status["ports"])


def test_power_loss_in_a_load_leaves_an_empty_board(start: Start, images: Images) -> None:
    board = start(time_scale=1000)
    board.call("load", slot=0, kind="partial", image=str(images.partial("ecp5")))
    assert board.slot()["load"]["bytes_total"] == 774_799
    with pytest.raises(BoardError, match="another load"):
        board.call("load", slot=1, kind="partial", image=str(images.partial("ecp5", slot=1)))
    board.kill()
    assert board.process.returncode == -signal.SIGKILL
    board = start()
    assert board.status()["board"]["state"] == "unknown"
    assert board.slot()["state"] == "empty"
    assert board.load(images.partial("ecp5"))["state"] == "operating"


def test_a_slot_that_hangs_is_faulty_and_the_other_goes_on(start: Start, images: Images) -> None:
    board = start(slots=2)
    for slot in (0, 1):
        board.load(images.partial("ecp5", slot=slot), slot=slot)
        board.call("resume", slot=slot)
    receivers = [Receiver(f"far{slot}-x") for slot in (0, 1)]
    senders = [Sender(f"near{slot}-x", 2000) for slot in (0, 1)]
    for sender in senders:
        sender.start()
    assert len(receivers[0].take(50)) >= 50
    board.call("inject", fault="slot-stuck", slot=0)
    assert board.await_slot("faulty")["error"].startswith("the slot ")
    receivers[1].waiting()
    assert len(receivers[1].take(200)) >= 200
    with pytest.raises(BoardError, match="no registers"):
        board.call("csr_read", slot=0, addresses=[0])
    receivers[0].waiting()
    board.load(images.partial("ecp5"))
    board.call("resume", slot=0)
    assert len(receivers[0].take(50)) >= 50, "a load repairs it"
    for sender in senders:
        sender.stop()
    for receiver in receivers:
        receiver.close()


def test_frames_wait_in_the_socket_while_their_slot_is_held(board: Board) -> None:
    receiver = Receiver("far0-x")
    board.call("quiesce", slot=0)
    sender = Sender("near0-x", 20_000)
    sender.start()
    while board.slot()["counters"]["held"] < 1000:
        pass
    sent = sender.stop()
    assert receiver.waiting() == []
    board.call("resume", slot=0)
    assert receiver.take(sent) == [frame(n) for n in range(sent)]
    receiver.close()
