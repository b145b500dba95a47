// SPDX-License-Identifier: Apache-2.0
#include "nfs/patterns/payload_search.h"

#include <gtest/gtest.h>
#include <hs/hs.h>

#include <cstdlib>
#include <map>
#include <set>

#include "nfs/bytestream/with_bytestream.h"
#include "nfs/testing/nf_driver.h"
#include "nfs/testing/tcp_frames.h"

namespace orrery {
namespace {

using namespace orrery::testing;
using nlohmann::json;

constexpr uint64_t kSecond = 1'000'000'000;
const MetadataField kVerdict = {"verdict", 0, 2, {{"safe", 1}, {"clean", 1}, {"unsafe", 2}, {"attack", 2}}};

std::unique_ptr<NfCore> make_ids(json rules, const json& more = json::object()) {
  json config = {{"sticky", false}, {"inspect", "streams"}, {"rules", std::move(rules)}};
  config.update(more);
  return with_bytestream(make_nf("ids", config, {&kVerdict, 1}));
}

std::unique_ptr<NfCore> make_sqli(bool drop) {
  return with_bytestream(make_nf("sqli-detector", {{"inspect", "streams"}, {"drop", drop}}, {&kVerdict, 1}));
}

json rule(const char* id, const std::string& pattern, const char* kind = "literal") {
  return {{"id", id}, {"pattern", pattern}, {"kind", kind}};
}

Frame segment(uint32_t sequence, const std::string& payload, FrameSpec spec = {}, uint8_t flags = kTcpAck) {
  spec.payload = payload;
  return tcp_segment(spec, flags, sequence);
}

bool is_hit(NfCore& nf, const Frame& frame) {
  return (run_one(nf, frame, Direction::kForward, kSecond).metadata & 3) == 2;
}

class EveryVersion : public ::testing::TestWithParam<uint8_t> {};

TEST_P(EveryVersion, FindsAPatternOverEveryBorderInThePacketThatCompletesIt) {
  const std::string text = "xx etc-PASSWD yy", pattern = "etc-passwd";
  const size_t at = text.find("etc"), end = at + pattern.size();
  uint32_t client = 1;
  const auto ids = make_ids({rule("a", pattern)});
  for (size_t first = 1; first < text.size(); ++first)
    for (size_t second = first; second < text.size(); ++second) {
      const FrameSpec spec{.ip_version = GetParam(), .src = client++};
      const size_t cuts[] = {0, first, second, text.size()};
      for (size_t i = 0; i + 1 < std::size(cuts); ++i) {
        const std::string part = text.substr(cuts[i], cuts[i + 1] - cuts[i]);
        if (part.empty()) continue;
        EXPECT_EQ(is_hit(*ids, segment(static_cast<uint32_t>(1000 + cuts[i]), part, spec)),
                  cuts[i] < end && end <= cuts[i + 1])
            << first << " " << second << " " << i;
      }
    }
}

TEST_P(EveryVersion, FindsWhatSinglePacketsHoldAndWhatTheStreamHoldsWhateverTheOrder) {
  Rng rng(5);
  const json rules = {rule("a", "needle"), rule("b", R"(do+m)", "regex")};
  const auto streams = make_ids(rules);
  const auto packets = make_nf("ids", {{"sticky", false}, {"rules", rules}}, {&kVerdict, 1});
  for (int round = 0; round < 300; ++round) {
    std::string text;
    while (text.size() < 300)
      text += rng() % 6 == 0 ? "needle" : rng() % 6 == 0 ? "doooom" : std::string(1 + rng() % 20, 'o');
    const FrameSpec spec{.ip_version = GetParam(), .src = static_cast<uint32_t>(1 + round)};
    const auto isn = static_cast<uint32_t>(rng());
    run_one(*streams, segment(isn - 1, "", spec, kTcpSyn), Direction::kForward, kSecond);
    std::vector<std::pair<size_t, std::string>> parts;
    for (size_t at = 0; at < text.size();) {
      const size_t n = 1 + rng() % 30;
      parts.emplace_back(at, text.substr(at, n));
      at += n;
    }
    for (size_t i = 0; i + 1 < parts.size(); ++i)
      if (rng() % 3 == 0) std::swap(parts[i], parts[i + 1]);
    std::map<size_t, char> known;
    size_t contiguous = 0;
    for (const auto& [at, part] : parts) {
      for (size_t i = 0; i < part.size(); ++i) known.emplace(at + i, part[i]);
      const size_t before = contiguous;
      while (known.contains(contiguous)) ++contiguous;
      // The stream up to here holds an occurrence that it did not hold before: by hand, for these two patterns.
      bool completed = false;
      for (size_t i = before; i < contiguous; ++i) {
        const std::string so_far = text.substr(0, i + 1);
        completed |= so_far.ends_with("needle");
        const size_t o = so_far.find_last_not_of('o', so_far.size() - 2);
        completed |= so_far.ends_with("om") && o != std::string::npos && so_far[o] == 'd';
      }
      const Frame frame = segment(isn + static_cast<uint32_t>(at), part, spec);
      const bool alone = is_hit(*packets, frame);
      ASSERT_EQ(is_hit(*streams, frame), completed || alone) << round << " at " << at;
    }
  }
  EXPECT_EQ(streams->state(1)["stream_gaps"], 0);
  EXPECT_EQ(streams->state(1)["not_reassembled"], 0);
  EXPECT_GT(streams->state(1)["bytestream"]["packets_reassembled"], 500);
}

INSTANTIATE_TEST_SUITE_P(Versions, EveryVersion, ::testing::Values(4, 6));

TEST(PayloadSearch, FindsEveryOccurrenceInAStream) {
  const auto ids = make_ids({rule("a", "bad")});
  EXPECT_TRUE(is_hit(*ids, segment(0, "bad bad")));
  EXPECT_FALSE(is_hit(*ids, segment(7, " good ba")));
  EXPECT_TRUE(is_hit(*ids, segment(15, "d")));
  EXPECT_EQ(ids->state(1)["rules"][0]["hits"], 2) << "packets, not places";
}

TEST(PayloadSearch, StreamsDoNotRunIntoOneAnother) {
  const auto ids = make_ids({rule("a", "bad")});
  EXPECT_FALSE(is_hit(*ids, segment(0, "b", {.src = 1})));
  EXPECT_FALSE(is_hit(*ids, segment(1, "ad", {.src = 2})));
  EXPECT_TRUE(is_hit(*ids, segment(1, "ad", {.src = 1})));
}

TEST(PayloadSearch, AGapSeparates) {
  const auto ids = make_ids({rule("a", "bad")});
  run_one(*ids, segment(0, "b"), Direction::kForward, kSecond);
  run_one(*ids, segment(5, "ad"), Direction::kForward, kSecond);
  run_one(*ids, segment(7, "."), Direction::kForward, 60 * kSecond);
  EXPECT_EQ(ids->state(1)["rules"][0]["hits"], 0);
  EXPECT_EQ(ids->state(1)["stream_gaps"], 1);
}

TEST(PayloadSearch, KnowsABoundedNumberOfStreams) {
  const auto ids = make_ids({rule("a", "bad")}, {{"max_streams", 10}});
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_FALSE(is_hit(*ids, segment(0, "b", {.src = i})));
  EXPECT_EQ(ids->state(1)["streams"], 10);
  EXPECT_EQ(ids->state(1)["streams_evicted"], 990);
  EXPECT_TRUE(is_hit(*ids, segment(1, "ad", {.src = 999})));
  EXPECT_FALSE(is_hit(*ids, segment(1, "ad", {.src = 1})));
}

uint64_t states_taken = 0;

TEST(PayloadSearch, TakesTheMemoryOfItsStreamsWithTheConfiguration) {
  states_taken = 0;
  hs_set_stream_allocator(
      [](size_t size) {
        ++states_taken;
        return std::malloc(size);
      },
      std::free);
  const auto ids = make_ids({rule("a", "bad")}, {{"max_streams", 10}});
  EXPECT_EQ(states_taken, 10);
  for (uint32_t i = 0; i < 100; ++i) EXPECT_FALSE(is_hit(*ids, segment(0, "b", {.src = i})));
  EXPECT_TRUE(is_hit(*ids, segment(1, "ad", {.src = 99})));
  EXPECT_EQ(states_taken, 10) << "a worker takes none";
  hs_set_stream_allocator(nullptr, nullptr);
}

TEST(PayloadSearch, RefusesMoreMemoryForStreamsThanItMayTake) {
  json rules = json::array();
  for (int i = 0; i < 40; ++i)
    rules.push_back(rule(("r" + std::to_string(i)).c_str(), "a" + std::to_string(i) + "[^x]{200}(b|cd){30}e", "regex"));
  EXPECT_EQ(config_error("ids", {{"inspect", "streams"}, {"rules", rules}, {"max_streams", 65536}}), "/max_streams");
  EXPECT_EQ(config_error("ids", {{"inspect", "packets"}, {"rules", rules}, {"max_streams", 65536}}), "none");
}

TEST(PayloadSearch, ByDefaultPacketsAreSearchedOneByOne) {
  const auto ids = make_nf("ids", json::object());
  EXPECT_FALSE(ids->reads_streams());
  EXPECT_FALSE(ids->state(1).contains("stream_gaps"));
  ids->configure({{"inspect", "streams"}});
  EXPECT_TRUE(ids->reads_streams());
}

TEST(SqliDetector, DropsWhatCompletesAnAttackAndAllThatIsSentAgain) {
  const auto nf = make_sqli(true);
  const FrameSpec victim{.src = 7}, other{.src = 8};
  EXPECT_FALSE(run_one(*nf, segment(0, "GET /?q=1 UNI", victim)).verdict.drop);
  EXPECT_EQ(run_one(*nf, segment(13, "ON SELECT x", victim)).reason, "attack");
  EXPECT_EQ(run_one(*nf, segment(13, "ON SELECT x", victim)).reason, "blocked") << "sent again";
  EXPECT_EQ(run_one(*nf, segment(13, "ON", victim)).reason, "blocked") << "in other pieces";
  EXPECT_EQ(run_one(*nf, segment(24, " and more", victim)).reason, "blocked");
  EXPECT_FALSE(run_one(*nf, segment(0, "ON SELECT x", other)).verdict.drop);
  EXPECT_EQ(nf->state(1)["blocked"], 3);
}

TEST(SqliDetector, FloodsDoNotUnblockAStream) {
  const auto nf = with_bytestream(
      make_nf("sqli-detector", {{"inspect", "streams"}, {"drop", true}, {"max_streams", 50}}, {&kVerdict, 1}));
  EXPECT_EQ(run_one(*nf, segment(0, "1 UNION SELECT x", {.src = 7})).reason, "attack");
  for (uint32_t i = 0; i < 500; ++i) run_one(*nf, segment(0, "harmless", {.src = 100 + i}));
  EXPECT_EQ(run_one(*nf, segment(0, "1 UNION SE", {.src = 7})).reason, "blocked");
}

TEST(SqliDetector, OnlyTagsWhereItDoesNotDrop) {
  const auto nf = make_sqli(false);
  EXPECT_FALSE(is_hit(*nf, segment(0, "GET /?q=1 UNI")));
  EXPECT_TRUE(is_hit(*nf, segment(13, "ON SELECT x")));
  EXPECT_FALSE(is_hit(*nf, segment(24, " and more")));
}

}  // namespace
}  // namespace orrery
