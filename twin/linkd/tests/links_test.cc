// SPDX-License-Identifier: Apache-2.0
// Frames through links between veth pairs. `left` and `right` are the outer ends; the link has their peers.
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <thread>

#include "linkd/pump.h"
#include "linkd/tests/units.h"
#include "support/clock.h"

namespace orrery::linkd {
namespace {

class OwnNetwork : public ::testing::Environment {
 public:
  void SetUp() override { ASSERT_EQ(unshare(CLONE_NEWNET), 0) << "these tests need root"; }
};
[[maybe_unused]] const auto* const kNetwork = ::testing::AddGlobalTestEnvironment(new OwnNetwork);

void shell(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

class Links : public ::testing::Test {
 protected:
  void SetUp() override {
    shell("[ ! -e /proc/sys/net/ipv6 ] || echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6");
    for (const std::string end : {"left", "right"}) {
      shell("ip link add " + end + " type veth peer name " + end + "-l");
      shell("ip link set " + end + " arp off up && ip link set " + end + "-l arp off up");
    }
    thread_ = std::thread([this] { pump_.run(); });
  }

  void TearDown() override {
    pump_.stop();
    thread_.join();
    shell("ip link del left; ip link del right");
  }

  void set(LineSettings settings) {
    pump_.between_batches([&](LinkTable& links) { links.set({{"link", "left-l", "right-l", settings}}); });
  }

  LinkReport report() {
    LinkReport one;
    pump_.between_batches([&](LinkTable& links) { one = links.report().at(0); });
    return one;
  }

  static Frame frame(uint8_t mark, size_t size = 100) {
    Frame it;
    it.bytes.assign(size, mark);
    it.bytes[12] = 0x88;  // local experimental Ethernet type
    it.bytes[13] = 0xb5;
    return it;
  }

  // Receives until `many` frames have arrived or `limit_ns` has passed.
  static std::vector<Frame> receive(FrameSocket& socket, size_t many, uint64_t limit_ns = 2000 * kMs) {
    std::vector<Frame> all;
    for (const uint64_t end_ns = monotonic_ns() + limit_ns; all.size() < many && monotonic_ns() < end_ns;)
      for (Frame& each : socket.receive(64)) all.push_back(std::move(each));
    return all;
  }

  Pump pump_;
  std::thread thread_;
};

TEST_F(Links, FramesComeOutWholeInOrderAndNotEarly) {
  set({.rate_bps = 1e9, .delay_ns = 20 * kMs, .jitter_ns = 5 * kMs, .queue_bytes = 1'000'000});
  FrameSocket left("left"), right("right");
  std::vector<uint64_t> sent_ns;
  for (uint8_t i = 0; i < 100; ++i) {
    sent_ns.push_back(monotonic_ns());
    ASSERT_EQ(left.send(frame(i, 60 + 14 * i)), Sent::kYes);
  }
  const std::vector<Frame> frames = receive(right, 100);
  ASSERT_EQ(frames.size(), 100u);
  for (uint8_t i = 0; i < 100; ++i) {
    EXPECT_EQ(frames[i].bytes, frame(i, 60 + 14 * i).bytes);
    EXPECT_GE(frames[i].received_ns, sent_ns[i] + 15 * kMs);
  }
  EXPECT_EQ(report().a_to_b.frames, 100u);
  EXPECT_EQ(report().b_to_a.frames, 0u);
}

TEST_F(Links, CarryBothWaysAndCountWhatTheyLose) {
  set({.rate_bps = 1e9, .loss = 0.5, .queue_bytes = 1'000'000});
  FrameSocket left("left"), right("right");
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(left.send(frame(1)), Sent::kYes);
    ASSERT_EQ(right.send(frame(2)), Sent::kYes);
  }
  auto all_seen = [&] {
    const LinkReport now = report();
    return now.a_to_b.frames + now.a_to_b.lost == 1000 && now.b_to_a.frames + now.b_to_a.lost == 1000;
  };
  for (const uint64_t end_ns = monotonic_ns() + 5000 * kMs; !all_seen() && monotonic_ns() < end_ns;) sched_yield();
  const LinkReport told = report();
  ASSERT_TRUE(all_seen());
  EXPECT_NEAR(static_cast<double>(told.a_to_b.lost), 500, 100);
  EXPECT_NEAR(static_cast<double>(told.b_to_a.lost), 500, 100);
  EXPECT_EQ(receive(right, told.a_to_b.frames).size(), told.a_to_b.frames);
  EXPECT_EQ(receive(left, told.b_to_a.frames).size(), told.b_to_a.frames);
}

TEST_F(Links, AFullQueueDropsAndCounts) {
  set({.rate_bps = 8e6, .queue_bytes = 10'000});
  FrameSocket left("left"), right("right");
  for (int i = 0; i < 100; ++i) ASSERT_EQ(left.send(frame(1, 1000)), Sent::kYes);
  const std::vector<Frame> frames = receive(right, 100, 300 * kMs);
  EXPECT_GE(frames.size(), 10u);
  EXPECT_LT(frames.size(), 100u);
  EXPECT_EQ(report().a_to_b.queue_drops + frames.size(), 100u);
}

TEST_F(Links, AVlanTagStays) {
  set({.rate_bps = 1e9, .delay_ns = kMs, .queue_bytes = 1'000'000});
  FrameSocket left("left"), right("right");
  Frame tagged = frame(7);
  const uint8_t tag[] = {0x81, 0x00, 0x20, 0x05};
  tagged.bytes.insert(tagged.bytes.begin() + 12, tag, tag + 4);
  ASSERT_EQ(left.send(tagged), Sent::kYes);
  const std::vector<Frame> frames = receive(right, 1);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].bytes, tagged.bytes);
}

TEST_F(Links, ADelayChangesInPlaceAndKeepsWhatIsOnItsWay) {
  set({.rate_bps = 1e9, .delay_ns = 300 * kMs, .queue_bytes = 1'000'000});
  FrameSocket left("left"), right("right");
  ASSERT_EQ(left.send(frame(1)), Sent::kYes);
  while (report().a_to_b.frames == 0 && receive(right, 1, 10 * kMs).empty()) {
    set({.rate_bps = 1e9, .delay_ns = kMs, .queue_bytes = 1'000'000});
  }
  EXPECT_EQ(report().a_to_b.frames, 1u);
}

TEST_F(Links, AnInterfaceThatGoesIsToldAndOneThatComesIsTaken) {
  set({.rate_bps = 1e9, .queue_bytes = 1'000'000});
  EXPECT_EQ(report().failure, "");
  shell("ip link del right");
  EXPECT_NE(report().failure, "");
  shell(
      "ip link add right type veth peer name right-l && ip link set right arp off up && ip link set right-l arp off "
      "up");
  set({.rate_bps = 1e9, .queue_bytes = 1'000'000});
  EXPECT_EQ(report().failure, "");
  FrameSocket left("left"), right("right");
  ASSERT_EQ(left.send(frame(3)), Sent::kYes);
  EXPECT_EQ(receive(right, 1).size(), 1u);
}

TEST_F(Links, ALinkThatWasDownCarriesAgain) {
  set({.rate_bps = 1e9, .queue_bytes = 1'000'000});
  shell("ip link set left-l down && ip link set left-l up");
  FrameSocket left("left"), right("right");
  ASSERT_EQ(left.send(frame(3)), Sent::kYes);
  EXPECT_EQ(receive(right, 1).size(), 1u);
}

}  // namespace
}  // namespace orrery::linkd
