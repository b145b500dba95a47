// SPDX-License-Identifier: Apache-2.0
// TCP streams that are reassembled once for all NFs of a chain that read them.
#include <gtest/gtest.h>
#include <rte_mempool.h>

#include "core/engine.h"
#include "engine_fixture.h"
#include "nfs/testing/tcp_frames.h"

namespace orrery {
namespace {

using namespace orrery::testing;
using nlohmann::json;

const json kSafeOrNot = json::parse(R"({"verdict":{"offset":0,"width":2,"values":{"safe":1,"unsafe":2}}})");
const json kCleanOrNot = json::parse(R"({"verdict":{"offset":2,"width":2,"values":{"clean":1,"attack":2}}})");

json ids_config(const char* inspect = "streams") {
  return {{"sticky", false},
          {"inspect", inspect},
          {"rules", json::array({json{{"id", "union"}, {"pattern", "UNION SELECT"}}})}};
}
json sqli_config(bool drop = false) {
  return {{"inspect", "streams"}, {"drop", drop}};
}

// A connection that is sent out of order, with a pattern over the border of two segments.
constexpr uint32_t kIsn = 0xfffffff8;
const std::vector<std::string> kRequestParts = {"GET /?id=1 UN", "ION SEL", "ECT x", " HTTP/1.1\r\n"};

std::vector<Frame> connection(uint32_t client, const std::vector<size_t>& order) {
  const FrameSpec spec{.src = client, .payload = ""};
  std::vector<Frame> frames = {tcp_segment(spec, kTcpSyn, kIsn)};
  for (const size_t part : order) {
    uint32_t sequence = kIsn + 1;
    for (size_t i = 0; i < part; ++i) sequence += static_cast<uint32_t>(kRequestParts[i].size());
    frames.push_back(tcp_segment({.src = client, .payload = kRequestParts[part]}, kTcpAck, sequence));
  }
  return frames;
}

class BytestreamTest : public ::testing::Test {
 protected:
  BytestreamTest() : engine_({.workers = 2, .cpus = {}}, eal()) {}
  void TearDown() override {
    engine_.apply(json::parse(kEmptyGraph));
    EXPECT_EQ(rte_mempool_in_use_count(eal().pool()), 0u) << "packet buffers were lost";
  }

  GraphBuilder reading(const std::vector<Frame>& frames) {
    write_capture(dir_.file("in.pcap"), frames);
    GraphBuilder g;
    g.capture_in("in", dir_.file("in.pcap"));
    return g;
  }

  uint64_t hits(const std::string& ids) { return engine_.get_state(ids, 1)["rules"][0]["hits"]; }
  uint64_t attacks(const std::string& sqli) { return engine_.get_state(sqli, 1)["attacks"]; }

  TemporaryDirectory dir_;
  Engine engine_;
};

class BytestreamOverWorkers : public BytestreamTest, public ::testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(LaterNfOn, BytestreamOverWorkers, ::testing::Values(0, 1));

// Each NF behind a queue, as the agent compiles a chain, the second one on the same worker or another.
TEST_P(BytestreamOverWorkers, TwoDetectorsShareOneReassembly) {
  std::vector<Frame> frames;
  for (uint32_t client = 1; client <= 20; ++client)
    for (const Frame& frame : connection(client, {1, 0, 3, 2})) frames.push_back(frame);
  GraphBuilder g = reading(frames);
  g.module("ids:queue", "queue").module("ids:bytestream", "bytestream").nf("ids", "ids", ids_config(), kSafeOrNot);
  g.module("sqli:queue", "queue").nf("sqli", "sqli-detector", sqli_config(), kCleanOrNot).module("end", "sink");
  g.chain({"in", "ids:queue", "ids:bytestream", "ids", "sqli:queue", "sqli", "end"});
  g.task("ids:queue").task("sqli:queue", GetParam());
  engine_.apply(g.json);
  const json stats = await_packets_in(engine_, "end", frames.size());

  EXPECT_EQ(hits("ids"), 20u);
  EXPECT_EQ(attacks("sqli"), 20u);
  const json streams = engine_.get_state("ids:bytestream", 1);
  EXPECT_EQ(streams["streams_begun"], 20) << "once for both";
  EXPECT_EQ(streams["packets_held"], 40);
  EXPECT_EQ(streams["packets_reassembled"], 40);
  for (const char* nf : {"ids", "sqli"}) {
    EXPECT_EQ(engine_.get_state(nf, 1)["not_reassembled"], 0) << nf;
    EXPECT_EQ(engine_.get_state(nf, 1)["stream_gaps"], 0) << nf;
  }
  EXPECT_EQ(module_stats(stats, "ids:bytestream")["packets_in"], frames.size());
  EXPECT_EQ(module_stats(stats, "ids:bytestream")["packets_out"], frames.size()) << "nothing is held back";
}

TEST_F(BytestreamTest, ASecondBytestreamLeavesWhatTheFirstFound) {
  const std::vector<Frame> frames = connection(1, {0, 1, 2, 3});
  GraphBuilder g = reading(frames);
  g.module("first", "bytestream").module("second", "bytestream").nf("ids", "ids", ids_config()).module("end", "sink");
  g.chain({"in", "first", "second", "ids", "end"});
  engine_.apply(g.json);
  await_packets_in(engine_, "end", frames.size());
  EXPECT_EQ(engine_.get_state("first", 1)["streams_begun"], 1);
  EXPECT_EQ(engine_.get_state("second", 1)["streams_begun"], 0);
  EXPECT_EQ(hits("ids"), 1u);
}

TEST_F(BytestreamTest, BothBranchesOfAMirrorReadOneReassembly) {
  const std::vector<Frame> frames = connection(1, {2, 1, 0, 3});
  GraphBuilder g = reading(frames);
  const json copies = json::parse(R"({"nested":false,"copies":[{"writes":false},{"writes":false}]})");
  const json branches = json::parse(
      R"({"nested":false,"branches":[{"writes":false,"resizes_at":null},{"writes":false,"resizes_at":null}]})");
  g.module("mirror:bytestream", "bytestream").module("mirror", "mirror", copies).module("merge", "merge", branches);
  g.nf("ids", "ids", ids_config(), kSafeOrNot).nf("sqli", "sqli-detector", sqli_config(), kCleanOrNot);
  g.module("end", "sink").nf("behind", "ids", ids_config(), kSafeOrNot);
  g.chain({"in", "mirror:bytestream", "mirror", "ids", "merge", "behind", "end"});
  g.link("mirror", 1, "sqli").link("sqli", 0, "merge", 1);
  engine_.apply(g.json);
  await_packets_in(engine_, "end", frames.size());
  EXPECT_EQ(hits("ids"), 1u);
  EXPECT_EQ(attacks("sqli"), 1u);
  EXPECT_EQ(engine_.get_state("mirror:bytestream", 1)["streams_begun"], 1);
  EXPECT_EQ(engine_.get_state("behind", 1)["not_reassembled"], 4) << "a merge may have changed the bytes";
}

TEST_F(BytestreamTest, ADropTakesWhatCompletesTheAttackAndAllBehindIt) {
  const std::vector<Frame> frames = connection(1, {0, 1, 2, 2, 3});
  GraphBuilder g = reading(frames);
  g.module("streams", "bytestream").nf("sqli", "sqli-detector", sqli_config(true)).module("end", "sink");
  g.chain({"in", "streams", "sqli", "end"});
  engine_.apply(g.json);
  await_packets_in(engine_, "sqli", frames.size());
  const json sqli = module_stats(engine_.stats(), "sqli");
  EXPECT_EQ(sqli["packets_out"], 3);
  EXPECT_EQ(drops_of(sqli, "attack"), 1u);
  EXPECT_EQ(drops_of(sqli, "blocked"), 2u);
}

TEST_F(BytestreamTest, StreamsStayWhenTheGraphIsReplaced) {
  const std::vector<Frame> frames = connection(1, {0, 1, 2, 3});
  write_capture(dir_.file("1.pcap"), {frames.begin(), frames.begin() + 2});
  write_capture(dir_.file("2.pcap"), {frames.begin() + 2, frames.end()});
  const auto graph = [&](const std::string& capture, const json& config) {
    GraphBuilder g;
    g.capture_in("in-" + capture, dir_.file(capture + ".pcap"));
    g.module("streams", "bytestream", config).nf("ids", "ids", ids_config()).module("end", "sink");
    return g.chain({"in-" + capture, "streams", "ids", "end"}).json;
  };
  engine_.apply(graph("1", json::object()));
  await_packets_in(engine_, "end", 2);
  engine_.apply(graph("2", {{"max_streams", 100}}));
  await_packets_in(engine_, "end", frames.size());
  EXPECT_EQ(hits("ids"), 1u) << "the pattern lies across the change";
  EXPECT_EQ(engine_.get_state("streams", 1)["streams_begun"], 1);
  EXPECT_EQ(engine_.get_state("streams", 1)["max_streams"], 100);
  EXPECT_EQ(refusal([&] {
              engine_.apply(graph("2", {{"max_bytes", 0}}));
            }),
            "invalid-config /modules/1/config/max_bytes");
}

TEST_F(BytestreamTest, WithoutOneStreamsAreSearchedByPacketsAndThatIsCounted) {
  const std::vector<Frame> frames = connection(1, {0, 1, 2, 3});
  GraphBuilder g = reading(frames);
  g.nf("ids", "ids", ids_config()).module("end", "sink").chain({"in", "ids", "end"});
  engine_.apply(g.json);
  await_packets_in(engine_, "end", frames.size());
  EXPECT_EQ(hits("ids"), 0u);
  EXPECT_EQ(engine_.get_state("ids", 1)["not_reassembled"], 4);
}

}  // namespace
}  // namespace orrery
