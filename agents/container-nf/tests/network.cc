// SPDX-License-Identifier: Apache-2.0
#include "network.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>

#include "support/clock.h"

namespace orrery::container_nf::testing {
namespace {

class OwnNamespace final : public ::testing::Environment {
  void SetUp() override { ASSERT_EQ(unshare(CLONE_NEWNET), 0) << "these tests need root"; }
};

[[maybe_unused]] const auto* const g_own_namespace = ::testing::AddGlobalTestEnvironment(new OwnNamespace);

}  // namespace

void shell(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

void await(const std::function<bool()>& done, const char* what) {
  const uint64_t end_ns = monotonic_ns() + 10'000'000'000u;
  while (!done()) {
    if (monotonic_ns() > end_ns) FAIL() << "waited in vain for " << what;
    usleep(200);
  }
}

void await_link(const char* interface) {
  const std::string command = std::string("ip link show dev ") + interface + " | grep -q 'state UP'";
  await([&] { return std::system(command.c_str()) == 0; }, interface);
}

Network::Network() {
  for (const auto& [end, inner] : {std::pair{"test-near", "near"}, {"test-far", "far"}}) {
    shell(std::string("ip link add ") + end + " type veth peer name " + inner);
    for (const char* interface : {end, inner})
      shell(std::string("ip link set dev ") + interface + " addrgenmode none arp off up");
  }
  for (const char* end : {"test-near", "test-far"}) await_link(end);
  ends_ = {std::make_unique<PacketPort>("test-near"), std::make_unique<PacketPort>("test-far")};
}

Network::~Network() {
  for (const char* end : {"test-near", "test-far"})
    if (if_nametoindex(end) != 0) shell(std::string("ip link del ") + end);
}

void Network::send(const std::vector<Frame>& frames, Direction in) {
  std::vector<Frame> copies = frames;
  for (Frame& frame : copies) {
    const container_nf::Frame one{frame.data(), static_cast<uint32_t>(frame.size())};
    ASSERT_EQ(ends_[static_cast<size_t>(in)]->send({&one, 1}).packets, 1u) << frame.size() << " bytes";
  }
}

std::vector<Frame> Network::receive(size_t n, Direction out) {
  PacketPort& end = *ends_[1 - static_cast<size_t>(out)];
  std::vector<Frame> frames;
  await(
      [&] {
        for (const auto& [data, length, tailroom] : end.receive()) frames.emplace_back(data, data + length);
        end.release();
        return frames.size() >= n;
      },
      "frames");
  return frames;
}

size_t Network::left_over() {
  size_t n = 0;
  for (const auto& end : ends_)
    for (size_t some = 1; some > 0; n += some) {
      some = end->receive().size();
      end->release();
    }
  return n;
}

}  // namespace orrery::container_nf::testing
