// SPDX-License-Identifier: Apache-2.0
// Ports to other programs: packets come through unchanged, and what the other end does ends no engine. A program of its
// own, because DPDK's AF_XDP driver keeps buffers of ports that are gone.
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "core/engine.h"
#include "engine_fixture.h"
#include "support/checksum.h"

namespace orrery {
namespace {

using nlohmann::json;
using testing::await_stats;
using testing::build_frame;
using testing::Frame;
using testing::GraphBuilder;
using testing::module_stats;

// Of all lengths that a port carries, with bytes that do not repeat.
std::vector<Frame> frames_of_all_lengths(size_t step) {
  std::mt19937 random(7);
  std::vector<Frame> frames;
  for (size_t bytes = 60; bytes <= 1514; bytes = bytes == 1514 ? 1515 : std::min<size_t>(bytes + step, 1514)) {
    Frame frame(bytes);
    for (uint8_t& byte : frame) byte = static_cast<uint8_t>(random());
    // Neither multicast nor a tag or protocol that the kernel looks into.
    frame[0] = frame[6] = 2;
    store_be16(frame.data() + 12, 0x88b5);
    frames.push_back(std::move(frame));
  }
  return frames;
}

bool up(const json& stats, const std::string& port) {
  for (const json& each : stats["ports"])
    if (each["name"] == port) return each["up"];
  return false;
}

class MemifTest : public ::testing::Test {
 protected:
  MemifTest() : engine_({}, testing::eal()) {}

  static json end(const char* role) {
    return {{"name", role}, {"driver", "memif"}, {"socket", "orrery-test-" + std::to_string(getpid())}, {"role", role}};
  }

  void await_up(const std::string& port) {
    await_stats(engine_, [&](const json& stats) { return up(stats, port); });
  }

  testing::TemporaryDirectory dir_;
  Engine engine_;
};

TEST_F(MemifTest, CarriesFramesOfAllLengthsUnchanged) {
  GraphBuilder ports;
  ports.port(end("server")).port(end("client"));
  engine_.apply(ports.json);
  await_up("server");
  await_up("client");

  const std::vector<Frame> frames = frames_of_all_lengths(7);
  testing::write_capture(dir_.file("in.pcap"), frames);
  GraphBuilder g = ports;
  g.capture_in("in", dir_.file("in.pcap")).module("to", "port_out", {{"port", "client"}}).chain({"in", "to"});
  g.module("from", "port_in", {{"port", "server"}}).task("from");
  g.capture_out("out", dir_.file("out.pcap")).chain({"from", "out"});
  engine_.apply(g.json);
  testing::await_packets_in(engine_, "out", frames.size());
  const json stats = engine_.stats();
  EXPECT_TRUE(module_stats(stats, "to")["drops"].empty());
  engine_.apply(json::parse(testing::kEmptyGraph));
  EXPECT_EQ(testing::read_capture(dir_.file("out.pcap")), frames);
}

TEST_F(MemifTest, APeerMayLeaveAndReturnUnderLoad) {
  for (int round = 0; round < 10; ++round) {
    GraphBuilder alone;
    alone.port(end("server")).module("from", "port_in", {{"port", "server"}}).task("from");
    alone.module("sink", "sink").chain({"from", "sink"});
    // Back to the peer as well, whether it is there or not.
    alone.module("src-2", "source").task("src-2").module("back", "port_out", {{"port", "server"}});
    alone.chain({"src-2", "back"});
    GraphBuilder both = alone;
    both.port(end("client")).module("src", "source").task("src");
    both.module("to", "port_out", {{"port", "client"}}).chain({"src", "to"});
    engine_.apply(both.json);
    const auto packets = [](const json& stats) { return module_stats(stats, "sink")["packets_in"].get<uint64_t>(); };
    const uint64_t before = packets(engine_.stats());
    await_stats(engine_, [&](const json& stats) { return packets(stats) > before + 1000; });
    engine_.apply(alone.json);
    await_stats(engine_, [](const json& stats) { return !up(stats, "server"); });
  }
}

// A network namespace of the calling thread with a veth pair, one end of which a socket holds.
class VethTest : public ::testing::TestWithParam<const char*> {
 protected:
  VethTest() : engine_({}, testing::eal()) {}

  void SetUp() override {
    if (unshare(CLONE_NEWNET) != 0 ||
        std::system("ip link add near type veth peer name far && ip link set near up && ip link set far up") != 0)
      skip("network namespaces and veth pairs cannot be made here");
    if (const int fd = socket(AF_XDP, SOCK_RAW, 0); fd >= 0) {
      close(fd);
    } else if (GetParam() == std::string("af_xdp")) {
      skip("the kernel has no XDP sockets");
    }
    far_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = load_be16(reinterpret_cast<const uint8_t*>("\x03\x00"));  // ETH_P_ALL in network order
    address.sll_ifindex = static_cast<int>(if_nametoindex("far"));
    ASSERT_EQ(bind(far_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    packet_mreq all{.mr_ifindex = address.sll_ifindex, .mr_type = PACKET_MR_PROMISC, .mr_alen = 0, .mr_address = {}};
    setsockopt(far_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all));
    const int ignore = 1;
    setsockopt(far_, SOL_PACKET, PACKET_IGNORE_OUTGOING, &ignore, sizeof(ignore));
  }

  void TearDown() override { close(far_); }

  // Meson counts a program that ends so as skipped.
  static void skip(const char* why) {
    std::printf("skipped: %s\n", why);
    std::fflush(stdout);
    std::_Exit(77);
  }

  // The next frame with the EtherType, by default one that the kernel does not send; empty after ten seconds.
  Frame receive(uint16_t ether_type = 0x88b5) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < give_up) {
      pollfd readable{.fd = far_, .events = POLLIN, .revents = 0};
      poll(&readable, 1, 100);
      Frame frame(2048);
      const ssize_t bytes = recv(far_, frame.data(), frame.size(), MSG_DONTWAIT);
      if (bytes < 14 || load_be16(frame.data() + 12) != ether_type) continue;
      frame.resize(static_cast<size_t>(bytes));
      return frame;
    }
    return {};
  }

  GraphBuilder echo() const {
    GraphBuilder g;
    g.port({{"name", "nic"}, {"driver", GetParam()}, {"iface", "near"}});
    g.module("in", "port_in", {{"port", "nic"}}).task("in").module("out", "port_out", {{"port", "nic"}});
    g.chain({"in", "out"});
    return g;
  }

  Engine engine_;
  int far_ = -1;
};

TEST_P(VethTest, CarriesFramesOfAllLengthsUnchangedBothWays) {
  engine_.apply(echo().json);
  await_stats(engine_, [](const json& stats) { return up(stats, "nic"); });
  for (const Frame& frame : frames_of_all_lengths(61)) {
    ASSERT_EQ(send(far_, frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
    ASSERT_EQ(receive(), frame) << frame.size() << " bytes";
  }
  // The worker sleeps between frames and is woken by each.
  EXPECT_EQ(engine_.stats()["ports"][0]["tx_dropped"], 0);
}

// As they are, however long the datagram, and without those that are missing.
TEST_P(VethTest, CarriesFragmentsAsTheyAre) {
  engine_.apply(echo().json);
  await_stats(engine_, [](const json& stats) { return up(stats, "nic"); });
  for (const uint16_t offset : {0, 175, 350}) {
    const Frame frame = build_frame({.proto = testing::kUdp,
                                     .payload = std::string(offset == 0 ? 1392 : 1400, 'f'),
                                     .fragment_offset = offset,
                                     .more_fragments = offset != 350});
    ASSERT_EQ(send(far_, frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
    ASSERT_EQ(receive(0x0800), frame) << "offset " << offset;
  }
}

TEST_P(VethTest, TellsAnInterfaceThatIsGone) {
  engine_.apply(echo().json);
  await_stats(engine_, [](const json& stats) { return up(stats, "nic"); });
  ASSERT_EQ(std::system("ip link del near"), 0);
  await_stats(engine_, [](const json& stats) { return !up(stats, "nic"); });
}

// Copies that share their bytes leave through one port as packets of their own.
TEST_P(VethTest, SendsCopiesThatShareTheirBytes) {
  GraphBuilder g;
  g.port({{"name", "nic"}, {"driver", GetParam()}, {"iface", "near"}});
  g.module("in", "port_in", {{"port", "nic"}}).task("in").module("out", "port_out", {{"port", "nic"}});
  g.module("mirror", "mirror", json::parse(R"({"nested":false,"copies":[{"writes":false},{"writes":false}]})"));
  g.chain({"in", "mirror", "out"}).link("mirror", 1, "out");
  engine_.apply(g.json);
  await_stats(engine_, [](const json& stats) { return up(stats, "nic"); });
  const Frame frame = frames_of_all_lengths(100)[5];
  ASSERT_EQ(send(far_, frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
  EXPECT_EQ(receive(), frame);
  EXPECT_EQ(receive(), frame);
}

INSTANTIATE_TEST_SUITE_P(Drivers, VethTest, ::testing::Values("af_packet", "af_xdp"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace orrery
