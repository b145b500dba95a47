// SPDX-License-Identifier: Apache-2.0
#include "flows/flow_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "flows/tests/units.h"

namespace orrery::flows {
namespace {

struct Stream {
  std::vector<Mark> sent;
  explicit Stream(std::mt19937_64& random, uint32_t session, uint32_t flows, size_t packets) {
    std::vector<uint32_t> next(flows);
    for (size_t i = 0; i < packets; ++i) {
      const uint32_t flow = random() % flows;
      sent.push_back({session, flow, next[flow]++, false, i, i * kMs});
    }
    std::set<uint32_t> ended;
    for (size_t i = packets; i-- > 0;) sent[i].last = ended.insert(sent[i].flow).second;
  }
};

TEST(FlowCounts, TellWhatANetworkLostOvertookAndDoubled) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const Stream stream(random, round, 1 + random() % 20, 1 + random() % 500);
    const unsigned loss = random() % 4, doubled = random() % 4, jitter = random() % 30;
    // What arrives when: in the order of the times.
    std::vector<std::pair<uint64_t, Mark>> arrivals;
    std::vector<size_t> arrived;
    for (size_t i = 0; i < stream.sent.size(); ++i) {
      // The first is there, so that the sink knows the session from its start.
      if (i > 0 && random() % 10 < loss) continue;
      arrived.push_back(i);
      const unsigned copies = 1 + (random() % 10 < doubled ? 1 : 0);
      for (unsigned copy = 0; copy < copies; ++copy)
        arrivals.emplace_back(2 * i + (i > 0 ? random() % (jitter + 1) : 0), stream.sent[i]);
    }
    std::stable_sort(arrivals.begin(), arrivals.end(), [](const auto& a, const auto& b) { return a.first < b.first; });

    FlowCounts flows(1000);
    std::set<uint64_t> seen;
    std::map<uint32_t, uint32_t> next;  // by flow
    uint64_t overtaken = 0, duplicates = 0;
    for (const auto& [at, mark] : arrivals) {
      flows.take(mark, 1'000 * kMs + at * kMs, 100);
      if (!seen.insert(mark.sequence).second) {
        ++duplicates;
      } else if (mark.number < next[mark.flow]) {
        ++overtaken;
      } else {
        next[mark.flow] = mark.number + 1;
      }
    }
    std::set<uint32_t> with_loss, known, ended;
    for (const size_t i : arrived) {
      known.insert(stream.sent[i].flow);
      if (stream.sent[i].last) ended.insert(stream.sent[i].flow);
    }
    for (const Mark& mark : stream.sent)
      if (!seen.contains(mark.sequence) && mark.number < next[mark.flow]) with_loss.insert(mark.flow);
    const SinkCounts& counts = flows.counts();
    ASSERT_EQ(counts.received, arrivals.size());
    ASSERT_EQ(counts.bytes, 100 * arrivals.size());
    ASSERT_EQ(counts.duplicates, duplicates);
    ASSERT_EQ(counts.reordered, overtaken);
    ASSERT_EQ(flows.lost(), arrived.back() + 1 - arrived.size());
    ASSERT_EQ(counts.with_loss, with_loss.size());
    ASSERT_EQ(counts.started, known.size());
    ASSERT_EQ(counts.ended, ended.size());
    ASSERT_EQ(flows.in_progress(), known.size() - ended.size());
    ASSERT_EQ(flows.latency().count(), seen.size());
  }
}

TEST(FlowCounts, TellTheLongestGapBeyondThatOfTheSender) {
  FlowCounts flows;
  flows.take({1, 1, 0, false, 0, 1'000 * kMs}, 1'001 * kMs, 100);
  flows.take({1, 1, 1, false, 1, 2'000 * kMs}, 2'001 * kMs, 100);
  EXPECT_EQ(flows.counts().max_gap_ns, 0U);
  flows.take({1, 1, 5, false, 5, 2'040 * kMs}, 2'341 * kMs, 100);
  EXPECT_EQ(flows.counts().max_gap_ns, 300 * kMs);
  EXPECT_EQ(flows.lost(), 3U);
  EXPECT_EQ(flows.worst(), "flow 1 lost 3 of its first 6 packets");
  flows.take({1, 2, 0, false, 6, 3'000 * kMs}, 9'000 * kMs, 100);
  EXPECT_EQ(flows.counts().max_gap_ns, 300 * kMs);
}

TEST(FlowCounts, DoNotMissWhatWasSentBeforeTheyCame) {
  FlowCounts flows;
  for (uint64_t i = 0; i < 10; ++i) flows.take({1, 7, static_cast<uint32_t>(500 + i), i == 9, 10'000 + i, 0}, i, 100);
  EXPECT_EQ(flows.lost(), 0U);
  EXPECT_EQ(flows.counts().with_loss, 0U);
  EXPECT_EQ(flows.counts().ended, 1U);
  EXPECT_EQ(flows.worst(), std::nullopt);
}

TEST(FlowCounts, ForgetTheOldestFlowsAndSessionsAndKeepTheirCounts) {
  FlowCounts flows(100);
  uint64_t at_ns = 0;
  for (uint32_t session = 0; session < 200; ++session)
    for (uint32_t flow = 0; flow < 10; ++flow) {
      at_ns += 2'000 * kMs;
      flows.take({session, flow, 0, false, uint64_t{2} * flow, at_ns}, at_ns, 100);
      flows.take({session, flow, 2, flow % 2 == 0, uint64_t{2} * flow + 1, at_ns}, at_ns, 100);
    }
  EXPECT_EQ(flows.counts().started, 2'000U);
  EXPECT_EQ(flows.counts().ended, 1'000U);
  EXPECT_EQ(flows.counts().with_loss, 2'000U);
  EXPECT_EQ(flows.in_progress(), 50U);
  EXPECT_EQ(flows.lost(), 0U);
}

TEST(FlowCounts, ForgetTheSessionThatWasNotHeardOfForLongest) {
  constexpr uint32_t kKnown = FlowCounts::kSessionsMax;
  FlowCounts flows;
  std::vector<uint32_t> next(size_t{2} * kKnown);
  const auto take = [&](uint32_t session) {
    const uint32_t number = next[session]++;
    flows.take({session, 1, number, false, number, kMs}, 2 * kMs, 100);
  };
  for (uint32_t session = 0; session < kKnown; ++session) take(session);
  // The first one goes on, then others come, of which each makes one of the rest be forgotten, up to the last but one.
  take(0);
  for (uint32_t session = kKnown; session < 2 * kKnown - 2; ++session) take(session);
  take(kKnown - 1);
  take(0);
  EXPECT_EQ(flows.lost(), 0U);
  // One that was forgotten and goes on lacks what came of it before.
  take(1);
  EXPECT_EQ(flows.lost(), 1U);
}

TEST(FlowCounts, DoNotCountAsLostWhatCameBeforeAFlowWasForgotten) {
  FlowCounts flows(10);
  uint64_t at_ns = 0, sequence = 0;
  for (uint32_t number = 0; number < 3; ++number)
    for (uint32_t flow = 0; flow < 20; ++flow) {
      at_ns += 2'000 * kMs;
      flows.take({1, flow, number, number == 2, sequence++, at_ns}, at_ns, 100);
    }
  EXPECT_EQ(flows.lost(), 0U);
  EXPECT_EQ(flows.counts().with_loss, 0U);
  EXPECT_TRUE(flows.forgot());
  EXPECT_EQ(flows.counts().started, 20U);
  EXPECT_EQ(flows.counts().ended, 20U);
}

TEST(FlowCounts, MissNothingWhereLateDuplicatesMakeUpForMoreThanWasLost) {
  FlowCounts flows;
  for (uint64_t i = 0; i < 100; ++i) flows.take({1, 7, static_cast<uint32_t>(i), false, i, i * kMs}, i * kMs, 100);
  // Not among the latest 64, so not known.
  for (uint32_t i = 0; i < 5; ++i) flows.take({1, 7, i, false, i, i * kMs}, 200 * kMs, 100);
  EXPECT_EQ(flows.lost(), 0U);
  EXPECT_FALSE(flows.forgot());
  FlowCounts many;
  for (uint32_t session = 0; session < 70; ++session)
    for (const uint32_t number : {0U, 70U, 0U, 1U, 2U, 70U})
      many.take({session, 7, number, false, number, kMs}, 300 * kMs, 100);
  EXPECT_EQ(many.lost(), 70 * 66U);
}

}  // namespace
}  // namespace orrery::flows
