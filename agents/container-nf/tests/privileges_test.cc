// SPDX-License-Identifier: Apache-2.0
// What a fault of an NF could be used for: nothing that root or a capability allows.
#include <gtest/gtest.h>
#include <linux/capability.h>

#include <fstream>

#include "network.h"
#include "nf_process.h"
#include "support/hop_tag.h"

namespace orrery::container_nf::testing {
namespace {

using nlohmann::json;
using orrery::testing::build_frame;
using orrery::testing::Frame;

constexpr const char* kNone = "0000000000000000";

TEST(Privileges, NoThreadHasAnyWhileFramesGoThrough) {
  Network network;
  ContainerNf nf("monitor", json::object());
  const auto threads = nf.program().threads();
  EXPECT_EQ(threads.size(), 3u) << "frames, requests, heartbeats";
  for (const ThreadStatus& thread : threads) {
    EXPECT_EQ(thread.at("Uid"), "65534\t65534\t65534\t65534");
    EXPECT_EQ(thread.at("Gid"), "65534\t65534\t65534\t65534");
    EXPECT_TRUE(thread.at("Groups").find_first_not_of(' ') == std::string::npos) << thread.at("Groups");
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) EXPECT_EQ(thread.at(set), kNone) << set;
    EXPECT_EQ(thread.at("NoNewPrivs"), "1");
  }
  Frame frame = build_frame({});
  write_hop_tag(frame.data(), {0xffff, 0}, 1);
  network.send({frame}, Direction::kForward);
  EXPECT_EQ(network.receive(1, Direction::kForward), std::vector<Frame>{frame});
}

TEST(Privileges, ItDoesNotRunWhereItCannotGiveThemUp) {
  Network network;
  TemporaryDirectory directory;
  const std::string instance = directory.file("instance.json");
  std::ofstream(instance) << R"({"nf": "monitor", "config": {}})";
  const std::vector<std::string> run = {
      "run", "--near", "near", "--far", "far", "--instance", instance, "--control", directory.file("control")};
  for (const auto& [kept, fault] : {std::pair{std::set{CAP_NET_RAW}, "giving up root's groups"},
                                    {std::set{CAP_NET_RAW, CAP_SETGID}, "giving up root"}}) {
    const Ended ended = Program(run, kept).wait();
    EXPECT_EQ(ended.status, 1);
    EXPECT_EQ(ended.errors, std::string("orrery-container-nf: ") + fault + ": Operation not permitted\n");
  }
}

}  // namespace
}  // namespace orrery::container_nf::testing
