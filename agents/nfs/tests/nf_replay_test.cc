// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "nfs/testing/nf_driver.h"
#include "nfs/testing/tcp_frames.h"
#include "support/pcap_file.h"

namespace orrery {
namespace {

using namespace orrery::testing;
using nlohmann::json;

constexpr uint64_t kStart = 1'700'000'000'000'000'000;
constexpr uint64_t kMs = 1'000'000;

class NfReplay : public ::testing::Test {
 protected:
  struct Result {
    int status;
    std::vector<json> lines;
  };

  void SetUp() override {
    char name[] = "/tmp/nf-replay-XXXXXX";
    dir_ = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::string path(const char* name) const { return dir_ + "/" + name; }

  // NF_REPLAY is set by the build.
  static Result replay(const std::string& arguments) {
    FILE* pipe = popen((std::string(NF_REPLAY) + " " + arguments + " 2>/dev/null").c_str(), "r");
    std::string out;
    char chunk[4096];
    for (size_t n; (n = fread(chunk, 1, sizeof(chunk), pipe)) > 0;) out.append(chunk, n);
    Result result{WEXITSTATUS(pclose(pipe)), {}};
    std::istringstream stream(out);
    for (std::string line; std::getline(stream, line);) result.lines.push_back(json::parse(line));
    return result;
  }

  std::string dir_;
};

// Attributes as nf_replay numbers them.
std::vector<MetadataField> fields_of(std::string_view kind) {
  if (kind == "elephant-detector") return {{"size", 0, 8, {{"mouse", 1}, {"elephant", 2}}}};
  if (kind == "ddos-detector") return {{"verdict", 0, 8, {{"normal", 1}, {"attack", 2}}}};
  if (kind == "sqli-detector") return {{"verdict", 0, 8, {{"clean", 1}, {"attack", 2}}}};
  return {};
}

// Something for each NF to decide on: opened connections, a flood, attacks, a heavy flow, damaged frames.
Frame interesting_frame(Rng& rng) {
  static constexpr uint8_t kFlags[] = {kTcpSyn, kTcpSyn, kTcpAck, kTcpFin | kTcpAck, kTcpRst};
  FrameSpec spec;
  spec.src = 0x0a000000 | static_cast<uint32_t>(rng() % 3);
  spec.dst = 0xc0a80000 | static_cast<uint32_t>(rng() % 4 == 0 ? rng() % 9 : 0);
  spec.dst_port = static_cast<uint16_t>(79 + rng() % 2);
  if (rng() % 4 == 0) spec.payload = "id=1' or 1=1";
  spec.payload.resize(spec.payload.size() + rng() % 300, 'x');
  if (rng() % 20 == 0) return arp_frame();
  if (rng() % 10 == 0) spec.proto = kUdp;
  Frame frame = spec.proto == kUdp ? build_frame(spec) : tcp_frame(spec, kFlags[rng() % std::size(kFlags)]);
  if (rng() % 20 == 0) frame.resize(20 + rng() % 20);
  return frame;
}

TEST_F(NfReplay, SaysWhatTheNfDoesWithEachFrame) {
  Rng rng(1);
  struct Sent {
    Frame frame;
    Direction in;
    uint64_t time_ns;
  };
  std::vector<Sent> sent;
  {
    PcapWriter near(path("near.pcap"));
    PcapWriter far(path("far.pcap"));
    for (uint64_t i = 0; i < 600; ++i) {
      const auto in = Direction(rng() % 4 == 0);
      sent.push_back({interesting_frame(rng), in, kStart + i * 7 * kMs});
      (in == Direction::kForward ? near : far).write(sent.back().frame, sent.back().time_ns);
    }
    near.flush();
    far.flush();
  }
  const std::pair<const char*, json> cases[] = {
      {"stateful-firewall", {{"rules", {{{"action", "deny"}, {"src", "10.0.0.2"}}}}, {"idle_timeout_s", 1}}},
      {"sqli-detector", {{"drop", true}}},
      {"ddos-detector", {{"window_ms", 200}, {"minimum", 4}, {"deviations", 0.5}}},
      {"elephant-detector", {{"threshold_bytes", 2000}, {"window_ms", 500}}},
  };
  for (const auto& [kind, config] : cases) {
    const Result result =
        replay(std::string(kind) + " '" + config.dump() + "' " + path("near.pcap") + " " + path("far.pcap"));
    ASSERT_EQ(result.status, 0);
    ASSERT_EQ(result.lines.size(), sent.size());
    const auto fields = fields_of(kind);
    const auto nf = make_nf(kind, config, fields);
    std::map<std::string, int> shown;
    for (size_t i = 0; i < sent.size(); ++i) {
      const Outcome o = run_one(*nf, sent[i].frame, sent[i].in, sent[i].time_ns);
      ASSERT_EQ(result.lines[i], json({{"index", i},
                                       {"verdict", o.verdict.drop ? "drop" : "pass"},
                                       {"drop_reason", o.reason.empty() ? json(nullptr) : json(o.reason)},
                                       {"class", o.metadata}}))
          << kind << " " << i;
      ++shown[o.reason + std::to_string(o.metadata)];
    }
    EXPECT_GE(shown.size(), 3u) << kind << ": the capture must show what it can decide";
  }
}

TEST_F(NfReplay, TakesAConfigurationFromAFile) {
  {
    PcapWriter writer(path("x.pcap"));
    writer.write(build_frame({}), kStart);
    writer.flush();
  }
  std::ofstream(path("config.json")) << R"({"default_action": "deny"})";
  const Result result = replay("firewall " + path("config.json") + " " + path("x.pcap"));
  EXPECT_EQ(result.status, 0);
  ASSERT_EQ(result.lines.size(), 1u);
  EXPECT_EQ(result.lines[0]["drop_reason"], "denied");
}

TEST_F(NfReplay, FailsOnWhatItCannotUse) {
  {
    PcapWriter writer(path("x.pcap"));
    writer.flush();
  }
  EXPECT_EQ(replay("ids '{}' " + path("x.pcap")).status, 0);
  EXPECT_EQ(replay("ids '{}'").status, 2);
  EXPECT_EQ(replay("teapot '{}' " + path("x.pcap")).status, 1);
  EXPECT_EQ(replay("ids '{\"zz\": 1}' " + path("x.pcap")).status, 1);
  EXPECT_EQ(replay("ids '{' " + path("x.pcap")).status, 1);
  EXPECT_EQ(replay("ids " + path("absent.json") + " " + path("x.pcap")).status, 1);
  EXPECT_EQ(replay("ids '{}' " + path("absent.pcap")).status, 1);
}

}  // namespace
}  // namespace orrery
