// SPDX-License-Identifier: Apache-2.0
// A generator and a sink at the ends of a veth pair, in a network namespace of their own.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <thread>

#include "flows/closed_port.h"
#include "flows/generate.h"
#include "flows/sink.h"

namespace orrery::flows {
namespace {

class OwnNetwork : public ::testing::Environment {
 public:
  void SetUp() override { ASSERT_EQ(unshare(CLONE_NEWNET), 0) << "these tests need root"; }
};
[[maybe_unused]] const auto* const kNetwork = ::testing::AddGlobalTestEnvironment(new OwnNetwork);

void shell(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

constexpr char kRightMac[] = "02:00:00:00:00:02";

class Veth : public ::testing::Test {
 protected:
  void SetUp() override {
    shell("ip link set lo up");
    shell("ip link add left type veth peer name right address " + std::string(kRightMac));
    shell("ip link set left arp off up && ip link set right arp off up");
    shell("ip addr add 10.0.0.1/32 dev left && ip route add 10.0.0.2/32 dev left");
  }
  void TearDown() override { shell("ip link del left"); }
};

// The latest report of a program that runs beside the test.
class Latest {
 public:
  void take(const nlohmann::json& metrics, const std::string& detail) {
    const std::lock_guard lock(mutex_);
    metrics_ = metrics;
    detail_ = detail;
    changed_.notify_all();
  }
  // Waits until the metric has reached the value; the metrics then, or after ten seconds.
  nlohmann::json once(const std::string& name, uint64_t value) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10),
                      [&] { return metrics_.contains(name) && metrics_[name].get<uint64_t>() >= value; });
    return metrics_;
  }
  std::string detail() {
    const std::lock_guard lock(mutex_);
    return detail_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  nlohmann::json metrics_;
  std::string detail_;
};

class Sink {
 public:
  Sink() : thread_([this] { run(); }) { latest.once("received", 0); }
  ~Sink() {
    stop_ = true;
    thread_.join();
  }
  Latest latest;

 private:
  void run() {
    sink({"right", 9100}, stop_, [this](const auto& metrics, const auto& detail) { latest.take(metrics, detail); });
  }
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

GenerateSettings sending(double flows_per_s, std::optional<RateWave> rate) {
  GenerateSettings settings{"left", kRightMac, "10.0.0.2", 9100, 1, {}};
  settings.source.flows_per_s = flows_per_s;
  settings.source.tcp_share = 0.5;
  settings.source.packet_bytes = 200;
  settings.source.rate = std::move(rate);
  return settings;
}

TEST_F(Veth, EveryPacketThatIsSentArrivesAndIsCountedOfItsFlow) {
  Sink sink;
  nlohmann::json sent;
  const std::atomic<bool> never = false;
  generate(sending(500, RateWave(8e6)), never, [&](const auto& metrics, const auto&) { sent = metrics; });
  const nlohmann::json arrived = sink.latest.once("received", sent["sent"].get<uint64_t>());
  EXPECT_GT(sent["sent"], 1'000);
  EXPECT_EQ(sent["errors"], 0);
  EXPECT_EQ(sent["flows"], 0);
  EXPECT_EQ(sent["flows_ended"], sent["flows_started"]);
  for (const char* same : {"bytes", "flows_started", "flows_ended"}) EXPECT_EQ(arrived[same], sent[same]) << same;
  EXPECT_EQ(arrived["received"], sent["sent"]);
  for (const char* none : {"lost", "reordered", "duplicates", "flows", "flows_with_loss", "errors"})
    EXPECT_EQ(arrived[none], 0) << none;
  EXPECT_EQ(sink.latest.detail(), "");
}

TEST_F(Veth, WhatTheInterfaceDoesNotTakeIsAnErrorAndMissingAtTheSink) {
  Sink sink;
  nlohmann::json sent;
  std::string detail;
  const std::atomic<bool> never = false;
  GenerateSettings settings = sending(500, RateWave(8e6));
  settings.duration_s = 3;
  bool cut = false, back = false;
  generate(settings, never, [&](const auto& metrics, const auto& told) {
    sent = metrics;
    if (!told.empty()) detail = told;
    if (!cut) {
      shell("ip link set left down");
      cut = true;
    } else if (!back) {
      shell("ip link set left up");
      back = true;
    }
  });
  const uint64_t errors = sent["errors"];
  EXPECT_GT(errors, 1'000U);
  EXPECT_NE(detail.find("the interface takes no frames"), std::string::npos);
  const nlohmann::json arrived = sink.latest.once("received", sent["sent"].get<uint64_t>());
  EXPECT_EQ(arrived["received"], sent["sent"]);
  EXPECT_EQ(arrived["lost"], errors);
  EXPECT_GT(arrived["flows_with_loss"], 0);
  EXPECT_NE(sink.latest.detail().find(" lost "), std::string::npos);
}

TEST_F(Veth, WhatAFullLinkDropsIsAnErrorAndCostsNoTime) {
  if (std::system("tc qdisc add dev left root handle 1: htb default 1 2> /dev/null") != 0)
    GTEST_SKIP() << "the kernel has no htb";
  shell(
      "tc class add dev left parent 1: classid 1:1 htb rate 1mbit && tc qdisc add dev left parent 1:1 pfifo limit 10");
  Sink sink;
  nlohmann::json sent;
  std::string detail;
  const std::atomic<bool> never = false;
  generate(sending(50, RateWave(8e6)), never, [&](const auto& metrics, const auto& told) {
    sent = metrics;
    if (!told.empty()) detail = told;
  });
  EXPECT_GT(sent["errors"].get<uint64_t>(), 2 * sent["sent"].get<uint64_t>());
  EXPECT_NE(detail.find("the link is full"), std::string::npos);
  const nlohmann::json arrived = sink.latest.once("received", sent["sent"].get<uint64_t>());
  EXPECT_EQ(arrived["received"], sent["sent"]);
}

TEST_F(Veth, AnInterfaceThatIsNotThereIsNamed) {
  GenerateSettings settings = sending(1, std::nullopt);
  settings.interface = "middle";
  const std::atomic<bool> never = false;
  const auto refusal = [&] {
    try {
      generate(settings, never, [](const auto&, const auto&) {});
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal().find("middle"), std::string::npos);
  settings = sending(1, std::nullopt);
  settings.address = "nowhere";
  EXPECT_EQ(refusal(), "nowhere is no address");
}

// What a connection attempt to the port of this host comes to within a tenth of a second.
int attempt(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int error = connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0 ? 0 : errno;
  pollfd end{fd, POLLOUT, 0};
  if (error == EINPROGRESS && poll(&end, 1, 100) > 0) {
    socklen_t length = sizeof(error);
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  }
  close(fd);
  return error;
}

TEST_F(Veth, TheKernelAnswersNothingAtAClosedPort) {
  EXPECT_EQ(attempt(9100), ECONNREFUSED);
  const ClosedPort closed(9100);
  EXPECT_EQ(attempt(9100), EINPROGRESS);
  EXPECT_THROW(ClosedPort(9100), std::runtime_error);
}

}  // namespace
}  // namespace orrery::flows
