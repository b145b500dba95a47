// SPDX-License-Identifier: Apache-2.0
// The control protocol over a real socket.
#include "control/control.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>

#include "engine_fixture.h"
#include "support/json_line_server.h"

namespace orrery {
namespace {

using nlohmann::json;

class Connection {
 public:
  explicit Connection(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
      throw std::runtime_error(std::strerror(errno));
  }
  ~Connection() { close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void write(const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t n = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n < 0) return;
      sent += static_cast<size_t>(n);
    }
  }

  // The next answer; null when the server closed the connection.
  json read() {
    size_t end = 0;
    while ((end = input_.find('\n')) == std::string::npos) {
      char buffer[65536];
      const ssize_t n = recv(fd_, buffer, sizeof(buffer), 0);
      if (n <= 0) return nullptr;
      input_.append(buffer, static_cast<size_t>(n));
    }
    json out = json::parse(input_.substr(0, end));
    input_.erase(0, end + 1);
    return out;
  }

  json call(const std::string& line) {
    write(line + "\n");
    return read();
  }

  json call(const std::string& method, const json& params) {
    return call(json{{"id", ++id_}, {"method", method}, {"params", params}}.dump());
  }

 private:
  int fd_;
  int id_ = 0;
  std::string input_;
};

class ControlTest : public ::testing::Test {
 protected:
  ControlTest()
      : engine_({}, testing::eal()),
        server_({.path = dir_.file("engine.sock")},
                [this](const json& request) { return answer(engine_, request, [this] { server_.stop(); }); }),
        thread_([this] { server_.run(); }) {}
  ~ControlTest() override {
    server_.stop();
    thread_.join();
  }

  std::string path() const { return dir_.file("engine.sock"); }

  testing::TemporaryDirectory dir_;
  Engine engine_;
  JsonLineServer server_;
  std::thread thread_;
};

std::string code_and_pointer(const json& response) {
  if (!response.contains("error")) return "none";
  const json& error = response["error"];
  EXPECT_FALSE(error["detail"].get<std::string>().empty());
  return error["code"].get<std::string>() + " " +
         (error["pointer"].is_null() ? "-" : error["pointer"].get<std::string>());
}

TEST_F(ControlTest, AnswersEveryMethod) {
  Connection c(path());
  EXPECT_EQ(c.call("describe", json::object())["result"]["version"], kEngineVersion);
  testing::GraphBuilder g;
  g.module("src", "source", {{"flows", 3}}).task("src").nf("mon", "monitor").module("sink", "sink");
  g.chain({"src", "mon", "sink"});
  const json applied = c.call("apply", g.json);
  EXPECT_EQ(applied["id"], 2);
  EXPECT_EQ(applied["result"].size(), 1u);
  EXPECT_EQ(applied["result"]["graph_digest"].get<std::string>().size(), 16u);
  json stats;
  do {
    stats = c.call("stats", json::object())["result"];
  } while (testing::module_stats(stats, "sink")["packets_in"] < 100);
  EXPECT_EQ(stats["generation"], 1);
  EXPECT_EQ(c.call("get_state", {{"module", "mon"}, {"limit", 2}})["result"]["flows"].size(), 2u);
  const json state = c.call("export_state", {{"module", "mon"}})["result"];
  EXPECT_EQ(c.call("import_state", {{"module", "mon"}, {"state", state}})["result"]["left_out"], 0);
  const json portion = c.call("export_flows", {{"module", "mon"}, {"flows", json::object()}})["result"];
  EXPECT_EQ(portion["rows"], c.call("get_state", {{"module", "mon"}})["result"]["flow_count"]);
  EXPECT_EQ(portion["last"], true);
  const json release{{"module", "mon"}, {"flows", json::object()}, {"portion", portion["portion"]}};
  const json released = c.call("release_flows", release)["result"];
  EXPECT_EQ(released["released"].get<int>() + released["kept"].get<int>(), portion["rows"]);
  EXPECT_EQ(c.call("shutdown", json::object())["result"], json::object());
  EXPECT_EQ(c.read(), nullptr);
}

TEST_F(ControlTest, SetsAndTellsTheRangesOfASplit) {
  Connection c(path());
  testing::GraphBuilder g;
  g.module("src", "source", {{"flows", 3}}).task("src").module("a", "sink").module("b", "sink");
  g.module("s", "hash_split", json::parse(R"({"key":["ip.src"],"exceptions":{},
      "ranges":[{"range":{"lo":0,"hi":65536},"gate":0}]})"));
  g.link("src", 0, "s").link("s", 0, "a").link("s", 1, "b");
  const json applied = c.call("apply", g.json)["result"];
  const json other = json::parse(R"([{"range":{"lo":0,"hi":65536},"gate":1}])");
  testing::await_packets_in(engine_, "a", 100);
  const json set = c.call("set_split", {{"module", "s"}, {"ranges", other}, {"keep_flows", true}})["result"];
  EXPECT_EQ(set["graph_digest"].get<std::string>().size(), 16u);
  EXPECT_NE(set, applied);
  const json told = c.call("get_split", {{"module", "s"}, {"limit", 2}})["result"];
  EXPECT_EQ(told["ranges"], other);
  EXPECT_EQ(told["exceptions"].size(), 2u);
  EXPECT_EQ(told["split"]["exceptions"], 3);
  EXPECT_EQ(c.call("set_split", {{"module", "s"}, {"ranges", other}})["result"], set);
  EXPECT_EQ(c.call("get_split", {{"module", "s"}})["result"]["split"]["exceptions"], 0);
}

TEST_F(ControlTest, ConfiguresOneNfBetweenTwoBatches) {
  Connection c(path());
  const json plain{{"key", std::string(64, 'a')}, {"acceleration", "none"}};
  json fast = plain;
  fast["acceleration"] = "instructions";
  testing::GraphBuilder g;
  g.module("src", "source", {{"flows", 1}, {"packet_bytes", 200}}).task("src").module("end", "sink");
  g.nf("t", "crypto-tunnel", plain).chain({"src", "t", "end"});
  const json applied = c.call("apply", g.json)["result"];
  testing::await_packets_in(engine_, "end", 100);
  const json before = c.call("get_state", {{"module", "t"}})["result"];
  EXPECT_EQ(before["acceleration"], "none");
  const json answer = c.call("configure", {{"module", "t"}, {"config", fast}})["result"];
  EXPECT_NE(answer, applied);
  const uint64_t until = engine_.stats()["modules"][1]["packets_in"].get<uint64_t>();
  testing::await_packets_in(engine_, "end", until + 100);
  const json after = c.call("get_state", {{"module", "t"}})["result"];
  EXPECT_EQ(after["acceleration"], "instructions");
  EXPECT_EQ(after["outbound"]["spi"], before["outbound"]["spi"]) << "the session stays";
  // The digest is that of the graph with this configuration, and another graph is compared with what runs.
  g.json["modules"][2]["config"] = fast;
  EXPECT_EQ(c.call("apply", g.json)["result"], answer);
  g.json["modules"][2]["config"] = plain;
  EXPECT_EQ(c.call("configure", {{"module", "t"}, {"config", plain}})["result"], applied);
  c.call("configure", {{"module", "t"}, {"config", fast}});
  EXPECT_EQ(c.call("apply", g.json)["result"], applied);
  EXPECT_EQ(c.call("get_state", {{"module", "t"}})["result"]["acceleration"], "none");
  const json bad = c.call("configure", {{"module", "t"}, {"config", {{"key", 3}}}})["error"];
  EXPECT_EQ(bad["pointer"], "/config/key");
  EXPECT_EQ(c.call("configure", {{"module", "end"}, {"config", json::object()}})["error"]["pointer"], "/module");
  EXPECT_EQ(c.call("apply", g.json)["result"], applied);
}

TEST_F(ControlTest, ABadLineGetsAnErrorAndNothingElseHappens) {
  Connection c(path());
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"rubbish", "bad-request -"},
      {"[1,2]", "bad-request -"},
      {"{}", "bad-request -"},
      {R"({"id":"one","method":"stats","params":{}})", "bad-request -"},
      {R"({"id":1,"params":{}})", "bad-request -"},
      {R"({"id":1,"method":7,"params":{}})", "bad-request -"},
      {R"({"id":1,"method":"stats"})", "bad-request -"},
      {R"({"id":1,"method":"stats","params":[]})", "bad-request -"},
      {R"({"id":1,"method":"stats","params":{},"more":1})", "bad-request -"},
      {R"({"id":1,"method":"reboot","params":{}})", "bad-request -"},
      {R"({"id":1,"method":"stats","params":{"x":1}})", "bad-request /x"},
      {R"({"id":1,"method":"get_state","params":{}})", "bad-request /module"},
      {R"({"id":1,"method":"get_state","params":{"module":"m","limit":0}})", "bad-request /limit"},
      {R"({"id":1,"method":"get_state","params":{"module":"m","limit":1000000}})", "bad-request /limit"},
      {R"({"id":1,"method":"get_state","params":{"module":"m"}})", "no-such-module /module"},
      {R"({"id":1,"method":"import_state","params":{"module":"m","state":3}})", "no-such-module /module"},
      {R"({"id":1,"method":"export_flows","params":{"module":"m","flows":3}})", "no-such-module /module"},
      {R"({"id":1,"method":"release_flows","params":{"module":"m"}})", "no-such-module /module"},
      {R"({"id":1,"method":"set_split","params":{"module":"m"}})", "bad-request /ranges"},
      {R"({"id":1,"method":"set_split","params":{"module":"m","ranges":[],"keep_flows":1}})",
       "bad-request /keep_flows"},
      {R"({"id":1,"method":"set_split","params":{"module":"m","ranges":[]}})", "no-such-module /module"},
      {R"({"id":1,"method":"get_split","params":{"module":"m","limit":-1}})", "bad-request /limit"},
      {R"({"id":1,"method":"get_split","params":{"module":"m"}})", "no-such-module /module"},
      {R"({"id":1,"method":"apply","params":{}})", "bad-request /generation"},
      {R"({"id":1,"method":"apply","params":{"generation":1,"ports":[],"modules":[{"name":"m","kind":"zz","config":{}}],
       "links":[],"tasks":[]}})",
       "invalid-graph /modules/0/kind"},
  };
  for (const auto& [line, expected] : cases) {
    std::string one_line(line);
    std::erase(one_line, '\n');
    EXPECT_EQ(code_and_pointer(c.call(one_line)), expected) << line;
  }
  EXPECT_EQ(c.call("describe", json::object())["result"]["generation"], 0);
}

TEST_F(ControlTest, SurvivesGarbageFromManyClients) {
  std::mt19937 rng(4);
  // Fewer than the server takes at once.
  for (int client = 0; client < 12; ++client) {
    Connection c(path());
    std::string garbage;
    for (int i = 0; i < 2000; ++i) garbage += static_cast<char>(rng());
    c.write(garbage);
  }
  // Bits flipped in a valid request: refused or accepted, but always answered.
  const std::string good =
      R"({"id":1,"method":"apply","params":{"generation":1,"ports":[],"modules":[{"name":"q","kind":"queue","config":{"capacity":64}}],"links":[],"tasks":[{"module":"q","worker":0}]}})";
  Connection c(path());
  for (int i = 0; i < 3000; ++i) {
    std::string line = good;
    for (uint32_t flips = 1 + rng() % 3; flips > 0; --flips) {
      char& byte = line[rng() % line.size()];
      byte = static_cast<char>(32 + rng() % 95);
    }
    const json response = c.call(line);
    ASSERT_TRUE(response.contains("result") || response.contains("error")) << line;
  }
  EXPECT_TRUE(c.call("stats", json::object()).contains("result"));
}

TEST_F(ControlTest, ALineBeyondTheLimitEndsOnlyItsConnection) {
  Connection other(path());
  {
    Connection c(path());
    c.write(std::string(size_t{5} * 1024 * 1024, 'x'));
    EXPECT_EQ(code_and_pointer(c.read()), "bad-request -");
  }
  EXPECT_TRUE(other.call("describe", json::object()).contains("result"));
}

// The largest graph that the contract allows fits into a line and its statistics into another.
TEST_F(ControlTest, TakesAThousandModules) {
  testing::GraphBuilder g;
  g.module("src", "source", {{"rate_pps", 1000}}).task("src");
  std::string last = "src";
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "instance-" + std::to_string(i);
    g.nf(name, "l2-forwarder").link(last, 0, name);
    last = name;
  }
  Connection c(path());
  ASSERT_EQ(code_and_pointer(c.call("apply", g.json)), "none");
  EXPECT_EQ(c.call("stats", json::object())["result"]["modules"].size(), 1001u);
}

}  // namespace
}  // namespace orrery
