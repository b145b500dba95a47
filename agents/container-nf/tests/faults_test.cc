// SPDX-License-Identifier: Apache-2.0
// Interfaces that go, traffic beyond what fits, and ends of every kind.
#include <gtest/gtest.h>

#include <csignal>

#include "network.h"
#include "nf_process.h"
#include "support/clock.h"
#include "support/hop_tag.h"

namespace orrery::container_nf::testing {
namespace {

using nlohmann::json;
using orrery::testing::build_frame;
using orrery::testing::Frame;

constexpr size_t kRingFrames = 2048;

Frame tagged_frame() {
  Frame frame = build_frame({});
  write_hop_tag(frame.data(), {0xffff, 0}, 1);
  return frame;
}

class Faults : public ::testing::Test {
 protected:
  Network network_;
};

TEST(Fault, AnInterfaceThatIsGoneEndsIt) {
  for (const char* gone : {"near", "far"}) {
    Network network;
    ContainerNf nf("l2-forwarder", json::object());
    // Another one that comes and goes is none of its business.
    shell("ip link add spare type veth peer name spare-peer && ip link del spare");
    network.send({tagged_frame()}, Direction::kForward);
    EXPECT_EQ(network.receive(1, Direction::kForward).size(), 1u);
    shell(std::string("ip link del ") + gone);
    const Ended ended = nf.program().wait();
    EXPECT_EQ(ended.status, 1);
    EXPECT_EQ(ended.errors, std::string("orrery-container-nf: interface ") + gone + " is gone\n");
  }
}

TEST_F(Faults, AnInterfaceThatIsDownForAWhileDoesNot) {
  ContainerNf nf("l2-forwarder", json::object());
  const Frame frame = tagged_frame();
  shell("ip link set dev far down");
  network_.send({frame, frame, frame}, Direction::kForward);
  EXPECT_EQ(nf.await_frames(3)["drops"], json({{"link_down", 3}}));
  shell("ip link set dev far up");
  await_link("test-far");
  network_.send({frame}, Direction::kForward);
  EXPECT_EQ(network_.receive(1, Direction::kForward), std::vector<Frame>{frame});
  network_.send({frame}, Direction::kReturn);
  EXPECT_EQ(network_.receive(1, Direction::kReturn), std::vector<Frame>{frame});
  const uint64_t cpu_ns = nf.program().cpu_ns();
  for (int i = 0; i < 100; ++i) nf.call("describe");
  EXPECT_LT(nf.program().cpu_ns() - cpu_ns, 500'000'000u);
}

TEST_F(Faults, FramesBeyondTheRingAreCounted) {
  ContainerNf nf("l2-forwarder", json::object());
  const size_t sent = kRingFrames + 1000;
  nf.program().freeze();
  network_.send(std::vector<Frame>(sent, tagged_frame()), Direction::kForward);
  nf.program().signal(SIGCONT);
  const json stats = nf.await_frames(kRingFrames);
  EXPECT_EQ(frames_in(stats), kRingFrames);
  EXPECT_EQ(stats["drops"], json({{"rx_full", 1000}}));
  EXPECT_EQ(network_.receive(kRingFrames, Direction::kForward).size(), kRingFrames);
}

TEST_F(Faults, FramesThatAnInterfaceDoesNotTakeAreCounted) {
  ContainerNf nf("l2-forwarder", json::object());
  shell("tc qdisc add dev far root tbf rate 8kbit burst 2000 limit 3000");
  network_.send(std::vector<Frame>(500, tagged_frame()), Direction::kForward);
  const json stats = nf.await_frames(500);
  EXPECT_GT(drops(stats, "tx_full"), 400u);
  EXPECT_EQ(drops(stats, "tx_full") + stats["forward"]["packets_out"].get<uint64_t>(), 500u);
  network_.send({tagged_frame()}, Direction::kReturn);
  EXPECT_EQ(network_.receive(1, Direction::kReturn).size(), 1u) << "the other direction does not wait";
}

TEST_F(Faults, FramesTooLongForTheOtherInterfaceAreCounted) {
  ContainerNf nf("l2-forwarder", json::object());
  shell("ip link set dev far mtu 100");
  shell("ip link set dev near mtu 9000");
  shell("ip link set dev test-near mtu 9000");
  Frame frame = tagged_frame();
  frame.resize(115);
  Frame huge = frame;
  huge.resize(3000);
  network_.send({frame, huge}, Direction::kForward);
  EXPECT_EQ(nf.await_frames(1)["drops"], json({{"oversize", 2}}));
}

TEST_F(Faults, ASignalEndsItWithinASecondUnderLoad) {
  for (int number : {SIGTERM, SIGINT}) {
    ContainerNf nf("monitor", json::object());
    network_.send(std::vector<Frame>(kRingFrames, tagged_frame()), Direction::kForward);
    const uint64_t began_ns = monotonic_ns();
    nf.program().signal(number);
    EXPECT_EQ(nf.program().wait().status, 0);
    EXPECT_LT(monotonic_ns() - began_ns, 1'000'000'000u);
  }
}

TEST_F(Faults, ARequestEndsIt) {
  ContainerNf nf("monitor", json::object());
  EXPECT_EQ(nf.call("shutdown"), json::object());
  EXPECT_EQ(nf.program().wait().status, 0);
}

TEST_F(Faults, RequestsAreAnsweredUnderLoad) {
  ContainerNf nf("monitor", json::object());
  for (int i = 0; i < 20; ++i) {
    network_.send(std::vector<Frame>(200, tagged_frame()), i % 2 == 0 ? Direction::kForward : Direction::kReturn);
    EXPECT_TRUE(nf.call("export_state").is_object());
  }
  EXPECT_EQ(frames_in(nf.await_frames(4000)), 4000u);
}

}  // namespace
}  // namespace orrery::container_nf::testing
