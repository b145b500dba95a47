// SPDX-License-Identifier: Apache-2.0
#include "support/json_line_server.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace orrery {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class Client {
 public:
  explicit Client(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }

  void send_text(const std::string& text) const {
    size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t n = send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return;
      sent += static_cast<size_t>(n);
    }
  }

  // Sends until the kernel takes no more for now; returns how many bytes it took.
  size_t send_until_full(const std::string& text) const {
    size_t total = 0;
    for (;;) {
      pollfd p{fd_, POLLOUT, 0};
      if (poll(&p, 1, 300) <= 0) return total;
      const ssize_t n = send(fd_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n <= 0) return total;
      total += static_cast<size_t>(n);
    }
  }

  void end_requests() const { shutdown(fd_, SHUT_WR); }

  // The next line, or an empty string when the server closed the connection.
  std::string line() {
    for (;;) {
      if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
        std::string out = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return out;
      }
      char bytes[65536];
      const ssize_t n = recv(fd_, bytes, sizeof(bytes), 0);
      if (n <= 0) return "";
      buffer_.append(bytes, static_cast<size_t>(n));
    }
  }

  json call(const json& request) {
    send_text(request.dump() + "\n");
    return json::parse(line());
  }

 private:
  int fd_;
  bool connected_;
  std::string buffer_;
};

class JsonLineServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/jls-XXXXXX";
    dir_ = mkdtemp(name);
    path_ = dir_ + "/s.sock";
  }
  void TearDown() override {
    stop();
    fs::remove_all(dir_);
  }

  static json answer(const json& request) {
    const std::string method = request.value("method", "");
    if (method == "throw") throw std::runtime_error("it broke");
    if (method == "big") return {{"id", request["id"]}, {"result", std::string(request["size"].get<size_t>(), 'x')}};
    return {{"id", request.value("id", json())}, {"result", {{"echo", request}}}};
  }

  JsonLineServer& start(size_t line_limit = 4096, size_t max_clients = 16) {
    server_ = std::make_unique<JsonLineServer>(JsonLineServerOptions{path_, line_limit, max_clients}, answer);
    thread_ = std::thread([this] { server_->run(); });
    return *server_;
  }

  void stop() {
    if (server_ != nullptr) server_->stop();
    if (thread_.joinable()) thread_.join();
    server_.reset();
  }

  std::string dir_;
  std::string path_;
  std::unique_ptr<JsonLineServer> server_;
  std::thread thread_;
};

TEST_F(JsonLineServerTest, AnswersManyClientsInOrder) {
  start();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 10; ++i) clients.push_back(std::make_unique<Client>(path_));
  for (int n = 0; n < 20; ++n)
    for (size_t i = 0; i < clients.size(); ++i) {
      const json response = clients[i]->call({{"id", n}, {"who", i}});
      EXPECT_EQ(response["id"], n);
      EXPECT_EQ(response["result"]["echo"]["who"], i);
    }
}

TEST_F(JsonLineServerTest, TakesLinesHoweverTheyAreCut) {
  start();
  Client client(path_);
  for (char c : std::string("{\"id\":1}\n")) client.send_text({c});
  EXPECT_EQ(json::parse(client.line())["id"], 1);
  client.send_text("{\"id\":2}\r\n\n  \n{\"id\":3}\n{\"id\":4");
  client.send_text("}\n");
  for (int id : {2, 3, 4}) EXPECT_EQ(json::parse(client.line())["id"], id);
  client.send_text("{\"id\":5}\n{\"id\":6}\n");
  client.end_requests();
  for (int id : {5, 6}) EXPECT_EQ(json::parse(client.line())["id"], id);
  EXPECT_EQ(client.line(), "");
}

TEST_F(JsonLineServerTest, NamesWhatIsWrongWithARequest) {
  start();
  Client client(path_);
  client.send_text("{\"id\":1,\n[1]\n");
  for (int i = 0; i < 2; ++i) {
    const json response = json::parse(client.line());
    EXPECT_TRUE(response["id"].is_null());
    EXPECT_EQ(response["error"]["code"], "bad-request");
    EXPECT_TRUE(response["error"]["pointer"].is_null());
  }
  const json response = client.call({{"id", 7}, {"method", "throw"}});
  EXPECT_EQ(response["id"], 7);
  EXPECT_EQ(response["error"]["code"], "internal");
  EXPECT_EQ(response["error"]["detail"], "it broke");
  EXPECT_EQ(client.call({{"id", 8}})["id"], 8) << "the connection lives on";
}

TEST_F(JsonLineServerTest, LimitsLinesInBothDirections) {
  start(1000);
  Client client(path_);
  EXPECT_EQ(client.call({{"id", 1}, {"method", "big"}, {"size", 5000}})["error"]["code"], "internal");
  std::string exact = R"({"id":2,"method":"big","size":1,"pad":")";
  exact += std::string(1000 - exact.size() - 2, 'p') + "\"}";
  ASSERT_EQ(exact.size(), 1000u);
  client.send_text(exact + "\n");
  EXPECT_EQ(json::parse(client.line())["result"], "x");
  client.send_text(std::string(200'000, 'y'));
  EXPECT_EQ(json::parse(client.line())["error"]["code"], "bad-request");
  EXPECT_EQ(client.line(), "") << "closed";
  Client other(path_);
  other.send_text(exact + " \n");
  EXPECT_EQ(json::parse(other.line())["error"]["code"], "bad-request") << "one byte too many";
}

TEST_F(JsonLineServerTest, HoldsBackAClientThatDoesNotReadAndServesTheOthers) {
  start(1 << 20);
  Client greedy(path_);
  const std::string request =
      json({{"id", 1}, {"method", "big"}, {"size", 1 << 19}, {"pad", std::string(30'000, 'p')}}).dump() + "\n";
  const size_t taken = greedy.send_until_full(request);
  EXPECT_LT(taken, 16u << 20) << "the kernel's buffers and no more";
  Client other(path_);
  EXPECT_EQ(other.call({{"id", 2}})["id"], 2);
  for (size_t n = 0; n < taken / request.size(); ++n) ASSERT_EQ(json::parse(greedy.line())["id"], 1);
}

TEST_F(JsonLineServerTest, ClosesConnectionsBeyondTheLimit) {
  start(4096, 2);
  Client a(path_);
  Client b(path_);
  EXPECT_EQ(a.call({{"id", 1}})["id"], 1);
  EXPECT_EQ(b.call({{"id", 1}})["id"], 1);
  Client c(path_);
  EXPECT_EQ(c.line(), "");
  EXPECT_EQ(a.call({{"id", 2}})["id"], 2);
}

TEST_F(JsonLineServerTest, SurvivesClientsThatVanish) {
  start(1 << 20, 64);
  for (int i = 0; i < 50; ++i) {
    Client client(path_);
    client.send_text(json({{"id", 1}, {"method", "big"}, {"size", 1 << 19}}).dump() + "\n{\"half");
  }
  // A connection is refused as long as those that vanished are not yet noticed, so the first few may be.
  bool answered = false;
  for (int tries = 0; tries < 200 && !answered; ++tries) {
    try {
      Client client(path_);
      answered = client.call({{"id", 2}})["id"] == 2;
    } catch (const std::exception&) {
      std::this_thread::yield();
    }
  }
  EXPECT_TRUE(answered);
}

TEST_F(JsonLineServerTest, ReplacesAStaleSocketAndNothingElse) {
  {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    close(fd);
  }
  start();
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_THROW(JsonLineServer({path_}, answer), std::system_error) << "somebody serves it";
  Client client(path_);
  EXPECT_EQ(client.call({{"id", 1}})["id"], 1) << "and still does";
  stop();
  EXPECT_FALSE(fs::exists(path_));
  std::ofstream(path_) << "precious";
  EXPECT_THROW(JsonLineServer({path_}, answer), std::system_error);
  EXPECT_TRUE(fs::exists(path_));
  EXPECT_THROW(JsonLineServer({std::string(108, 'x')}, answer), std::invalid_argument);
}

TEST_F(JsonLineServerTest, StopFromTheHandlerStillSendsTheResponse) {
  JsonLineServer* self = nullptr;
  JsonLineServer server({path_}, [&](const json& request) -> json {
    self->stop();
    return {{"id", request["id"]}, {"result", std::string(1 << 20, 'z')}};
  });
  self = &server;
  std::thread thread([&] { server.run(); });
  Client client(path_);
  EXPECT_EQ(client.call({{"id", 9}})["id"], 9);
  thread.join();
}

TEST_F(JsonLineServerTest, StopBeforeRunHolds) {
  JsonLineServer server({path_}, answer);
  server.stop();
  server.run();
}

}  // namespace
}  // namespace orrery
