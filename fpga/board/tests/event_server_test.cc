// SPDX-License-Identifier: Apache-2.0
#include "board/control/event_server.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace orrery::board {
namespace {

using nlohmann::json;

class Subscriber {
 public:
  explicit Subscriber(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
      throw std::system_error(errno, std::generic_category(), path);
  }
  ~Subscriber() { close(fd_); }
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  // All lines received so far.
  std::vector<json> lines() {
    char buffer[65536];
    for (ssize_t n = 0; (n = recv(fd_, buffer, sizeof(buffer), MSG_DONTWAIT)) > 0;)
      input_.append(buffer, static_cast<size_t>(n));
    std::vector<json> out;
    for (size_t end = 0; (end = input_.find('\n')) != std::string::npos; input_.erase(0, end + 1))
      out.push_back(json::parse(input_.substr(0, end)));
    return out;
  }
  bool closed() const {
    char byte;
    return recv(fd_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
  }

 private:
  int fd_;
  std::string input_;
};

class Events : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/orrery-events-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/events";
    server_ = std::make_unique<EventServer>(path_);
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(directory_);
  }
  void serve_all() {
    pollfd p{server_->fd(), POLLIN, 0};
    while (poll(&p, 1, 0) > 0) server_->serve();
  }

  std::string directory_, path_;
  std::unique_ptr<EventServer> server_;
};

TEST_F(Events, ReachEverySubscriberInOrder) {
  Subscriber a(path_), b(path_);
  serve_all();
  for (int i = 0; i < 100; ++i) server_->publish({{"n", i}});
  for (Subscriber* s : {&a, &b}) {
    const auto lines = s->lines();
    ASSERT_EQ(lines.size(), 100u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(lines[i]["n"], i);
  }
}

TEST_F(Events, ThatASlowSubscriberMissesAreCountedAndTold) {
  Subscriber slow(path_);
  serve_all();
  const std::string ballast(1000, 'x');
  int published = 0;
  while (server_->lost() < 50) server_->publish({{"n", published++}, {"ballast", ballast}});
  std::vector<json> read;
  for (std::vector<json> lines = slow.lines(); !lines.empty(); lines = slow.lines()) {
    read.insert(read.end(), lines.begin(), lines.end());
    serve_all();
  }
  ASSERT_EQ(read.size(), static_cast<size_t>(published - 50 + 1));
  EXPECT_EQ(read.back(), json({{"lost", 50}})) << "no further event is needed";
  read.pop_back();
  for (int n = 0; n < published - 50; ++n) ASSERT_EQ(read[static_cast<size_t>(n)]["n"], n);
  server_->publish({{"n", published}});
  const auto next = slow.lines();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0]["n"], published);
}

TEST_F(Events, DoNotStopWhenASubscriberGoes) {
  {
    Subscriber gone(path_);
    serve_all();
  }
  server_->publish({{"n", 1}});
  serve_all();
  Subscriber stays(path_);
  serve_all();
  server_->publish({{"n", 2}});
  EXPECT_EQ(stays.lines().size(), 1u);
}

TEST_F(Events, AreHeardWhileASubscriberIsThere) {
  EXPECT_FALSE(server_->heard());
  {
    Subscriber one(path_);
    serve_all();
    EXPECT_TRUE(server_->heard());
  }
  serve_all();
  EXPECT_FALSE(server_->heard());
}

TEST_F(Events, HaveABoundedNumberOfSubscribers) {
  std::vector<std::unique_ptr<Subscriber>> all;
  for (size_t i = 0; i < EventServer::kMaxClients + 1; ++i) {
    all.push_back(std::make_unique<Subscriber>(path_));
    serve_all();
  }
  EXPECT_FALSE(all.front()->closed());
  EXPECT_TRUE(all.back()->closed());
}

TEST_F(Events, TakeTheirPathBackAfterACrashOnly) {
  EXPECT_THROW(EventServer second(path_), std::system_error);
  Subscriber still(path_);
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
  // A socket file left by a killed process.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int dead = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(dead);
  server_ = std::make_unique<EventServer>(path_);
  Subscriber again(path_);
}

}  // namespace
}  // namespace orrery::board
