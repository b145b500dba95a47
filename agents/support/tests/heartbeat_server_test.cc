// SPDX-License-Identifier: Apache-2.0
#include "support/heartbeat_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <string>

namespace orrery {
namespace {

// One request and its answer.
std::string ask(const std::string& path, const std::string& method) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  std::string answer;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string line = R"({"id": 1, "method": ")" + method + R"(", "params": {}})" + "\n";
    EXPECT_EQ(send(fd, line.data(), line.size(), MSG_NOSIGNAL), static_cast<ssize_t>(line.size()));
    char byte = 0;
    while (recv(fd, &byte, 1, 0) == 1 && byte != '\n') answer += byte;
  }
  close(fd);
  return answer;
}

TEST(HeartbeatServer, AnswersWhileARequestOfTheControlSocketTakesLong) {
  const std::string path = "/tmp/orrery-beat-" + std::to_string(getpid());
  std::promise<void> entered, release;
  JsonLineServer control({.path = path}, [&](const nlohmann::json& request) {
    entered.set_value();
    release.get_future().wait();
    return nlohmann::json{{"id", request["id"]}, {"result", nlohmann::json::object()}};
  });
  HeartbeatServer heartbeat(path);
  heartbeat.start();
  std::thread serving([&] { control.run(); });
  auto slow = std::async(std::launch::async, [&] { return ask(path, "export_state"); });
  entered.get_future().wait();
  EXPECT_EQ(ask(heartbeat_path(path), "heartbeat"), R"({"id":1,"result":{}})");
  release.set_value();
  EXPECT_NE(slow.get().find("result"), std::string::npos);
  control.stop();
  serving.join();
}

TEST(HeartbeatServer, RefusesOtherRequestsAndLeavesNoSocketBehind) {
  const std::string path = "/tmp/orrery-beat-refuses-" + std::to_string(getpid());
  {
    HeartbeatServer heartbeat(path);
    heartbeat.start();
    EXPECT_NE(ask(heartbeat_path(path), "shutdown").find("bad-request"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(heartbeat_path(path)));
}

}  // namespace
}  // namespace orrery
