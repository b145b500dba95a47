// SPDX-License-Identifier: Apache-2.0
// The clock of these tests is a number.
#include "flows/flow_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "flows/mark.h"
#include "flows/tests/units.h"

namespace orrery::flows {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kStart = 77 * kSecond;

// Takes what is due until the time, looking when something is due or, if that is not 0, in steps.
std::vector<DuePacket> until(FlowSource& source, uint64_t end_ns, uint64_t& now_ns, uint64_t step_ns = 0) {
  std::vector<DuePacket> all;
  while (true) {
    while (const auto packet = source.take(now_ns)) all.push_back(*packet);
    const uint64_t next_ns = step_ns > 0 ? now_ns + step_ns : source.next_ns();
    if (next_ns > end_ns) break;
    EXPECT_GT(next_ns, now_ns) << "nothing was taken though it was due";
    now_ns = std::max(next_ns, now_ns + 1);
  }
  now_ns = end_ns;
  return all;
}

std::vector<DuePacket> seconds(const SourceSettings& settings, uint64_t count, uint64_t step_ns = 0) {
  FlowSource source(settings, kStart);
  uint64_t now_ns = kStart;
  return until(source, kStart + count * kSecond, now_ns, step_ns);
}

uint64_t payload(const DuePacket& packet) {
  return packet.frame_bytes - (packet.tcp ? 54U : 42U);
}

bool same(const DuePacket& a, const DuePacket& b) {
  return a.due_ns == b.due_ns && a.flow == b.flow && a.number == b.number && a.last == b.last &&
         a.frame_bytes == b.frame_bytes && a.source_port == b.source_port && a.tcp_sequence == b.tcp_sequence;
}

TEST(FlowSources, SendTheSameForASeedHoweverOftenTheClockIsRead) {
  const SourceSettings settings{.flows_per_s = 200, .mean_lifetime_s = 0.5, .tcp_share = 0.5, .seed = 5};
  const auto exact = seconds(settings, 5);
  const auto coarse = seconds(settings, 5, 3 * kMs);
  ASSERT_GT(exact.size(), 5'000U);
  ASSERT_LE(exact.size() - coarse.size(), 200U);
  for (size_t i = 0; i < coarse.size(); ++i) ASSERT_TRUE(same(exact[i], coarse[i])) << i;
  SourceSettings other = settings;
  other.seed = 6;
  EXPECT_FALSE(same(seconds(other, 5).at(0), exact.at(0)));
}

TEST(FlowSources, NumberThePacketsOfAFlowAndGiveItAPortOfItsOwn) {
  const SourceSettings settings{.flows_per_s = 500, .mean_lifetime_s = 0.2, .tcp_share = 0.3, .flows_max = 300};
  std::map<uint32_t, DuePacket> open;
  std::map<uint16_t, uint32_t> ports;
  uint64_t ended = 0, tcp = 0;
  for (const DuePacket& packet : seconds(settings, 20)) {
    const auto before = open.find(packet.flow);
    ASSERT_EQ(packet.number == 0, before == open.end());
    if (packet.number == 0) {
      ASSERT_TRUE(ports.emplace(packet.source_port, packet.flow).second);
      tcp += packet.tcp ? 1 : 0;
    } else {
      ASSERT_EQ(packet.number, before->second.number + 1);
      ASSERT_EQ(packet.source_port, before->second.source_port);
      ASSERT_GE(packet.due_ns, before->second.due_ns);
      const uint64_t of_syn = before->second.number == 0 ? 1 : 0;
      ASSERT_EQ(packet.tcp_sequence,
                static_cast<uint32_t>(before->second.tcp_sequence + payload(before->second) + of_syn));
    }
    ASSERT_GE(payload(packet), Mark::kBytes);
    ASSERT_LE(packet.frame_bytes, settings.packet_bytes);
    open[packet.flow] = packet;
    if (!packet.last) continue;
    ++ended;
    ports.erase(packet.source_port);
  }
  EXPECT_GT(ended, 8'000U);
  EXPECT_NEAR(static_cast<double>(tcp) / static_cast<double>(open.size()), 0.3, 0.02);
}

TEST(FlowSources, HaveTheSizesLifetimesAndNumberOfFlowsOfTheirDistribution) {
  for (const bool mix : {false, true}) {
    const SourceSettings settings{.flows_per_s = 2000, .mean_bytes = 5'000, .mean_lifetime_s = 1, .mix = mix};
    FlowSource source(settings, kStart);
    uint64_t now_ns = kStart;
    std::map<uint32_t, std::pair<uint64_t, uint64_t>> open;  // first due, bytes
    double bytes = 0, lifetimes_ns = 0, ended = 0;
    for (const DuePacket& packet : until(source, kStart + 20 * kSecond, now_ns)) {
      auto& [first_ns, sum] = open.try_emplace(packet.flow, packet.due_ns, 0).first->second;
      sum += payload(packet);
      // None lives longer than 5 s.
      if (!packet.last || first_ns > kStart + 15 * kSecond) continue;
      ++ended;
      bytes += static_cast<double>(sum);
      lifetimes_ns += static_cast<double>(packet.due_ns - first_ns);
    }
    EXPECT_NEAR(static_cast<double>(source.counts().started), 40'000, 4 * std::sqrt(40'000));
    EXPECT_NEAR(bytes / ended, 5'000, 250) << mix;
    EXPECT_NEAR(lifetimes_ns / ended / 1e9, 1, 0.03);
    EXPECT_NEAR(source.in_progress(), 2'000, 300);
  }
}

TEST(FlowSources, BeginNoMoreFlowsThanThereMayBe) {
  FlowSource source({.flows_per_s = 1000, .mean_lifetime_s = 5, .flows_max = 100}, kStart);
  uint64_t now_ns = kStart;
  until(source, kStart + 10 * kSecond, now_ns);
  EXPECT_LE(source.in_progress(), 100U);
  EXPECT_EQ(source.counts().started - source.counts().ended, source.in_progress());
  EXPECT_NEAR(static_cast<double>(source.counts().started + source.counts().refused), 10'000, 400);
  EXPECT_GT(source.counts().refused, 9'000U);
}

TEST(FlowSources, KeepATotalRateThroughItsWave) {
  const RateWave wave({{0, 8e6}, {4, 16e6}, {8, 0}, {10, 0}, {10.5, 8e6}}, false);
  const SourceSettings settings{.flows_per_s = 50, .mean_lifetime_s = 2, .tcp_share = 0.5, .rate = wave};
  std::map<uint64_t, double> bits;  // by 100 ms
  for (const DuePacket& packet : seconds(settings, 14))
    bits[(packet.due_ns - kStart) / (100 * kMs)] += 8.0 * packet.frame_bytes;
  for (uint64_t part = 10; part < 140; ++part) {  // from then on there are flows all the time
    const double wanted = (wave.at(part / 10.0) + wave.at((part + 1) / 10.0)) / 2 / 10;
    EXPECT_NEAR(bits[part], wanted, 3 * 8.0 * settings.packet_bytes) << part;
  }
}

TEST(FlowSources, KeepATotalRateHoweverOftenTheClockIsRead) {
  const SourceSettings settings{.flows_per_s = 2000, .mean_lifetime_s = 1, .packet_bytes = 106, .rate = RateWave(90e6)};
  for (const uint64_t step_ns : {kMs / 10, 5 * kMs, 40 * kMs}) {
    double bits = 0;
    for (const DuePacket& packet : seconds(settings, 3, step_ns)) bits += 8.0 * packet.frame_bytes;
    EXPECT_NEAR(bits / 3, 90e6, 2e6) << step_ns;
  }
}

// Bytes by flow of those that began before the tenth second, from the tenth to the twentieth.
std::map<uint32_t, double> later_bytes(const SourceSettings& settings) {
  std::map<uint32_t, double> bytes;
  for (const DuePacket& packet : seconds(settings, 20)) {
    const bool early = packet.due_ns < kStart + 10 * kSecond;
    if (early && packet.number == 0) bytes[packet.flow] = 0;
    if (packet.last) bytes.erase(packet.flow);
    if (!early && bytes.contains(packet.flow)) bytes[packet.flow] += static_cast<double>(payload(packet));
  }
  return bytes;
}

TEST(FlowSources, ShareATotalRateAsTheFlowsWould) {
  SourceSettings settings{.flows_per_s = 5, .mean_bytes = 500e6, .mean_lifetime_s = 500};
  const auto alone = later_bytes(settings);
  settings.rate = RateWave(20e6);
  const auto shared = later_bytes(settings);
  double sum_alone = 0, sum = 0;
  int compared = 0;
  for (const auto& [flow, bytes] : alone) {
    if (bytes < 1e6) continue;
    ++compared;
    sum_alone += bytes;
    sum += shared.at(flow);
  }
  ASSERT_GT(compared, 10);
  for (const auto& [flow, bytes] : alone) {
    if (bytes < 1e6) continue;
    EXPECT_NEAR(shared.at(flow) / sum, bytes / sum_alone, 0.05 * bytes / sum_alone + 3e3 / sum) << flow;
  }
}

TEST(FlowSources, LeaveOutWhatCouldNotBeSentInTime) {
  SourceSettings settings{.flows_per_s = 100, .mean_lifetime_s = 5, .rate = RateWave(8e6)};
  for (const bool paced : {true, false}) {
    if (!paced) settings.rate.reset();
    FlowSource source(settings, kStart);
    uint64_t now_ns = kStart;
    const auto before = until(source, kStart + 10 * kSecond, now_ns).size();
    uint64_t at_once = 0;
    now_ns += 10 * kSecond;  // it got no processor time
    while (source.take(now_ns)) ++at_once;
    EXPECT_GT(at_once, 10U);
    // 50 ms of what it sends in 10 s; where no rate binds, also the last packets and one turn of each flow.
    EXPECT_LT(at_once, paced ? before / 100 : 2'000 + before / 20);
    EXPECT_GT(source.counts().refused, 800U);
  }
}

TEST(FlowSources, EndTheirFlowsWhenTheyFinish) {
  FlowSource source({.flows_per_s = 1000, .mean_lifetime_s = 5, .rate = RateWave(20e6)}, kStart);
  uint64_t now_ns = kStart;
  until(source, kStart + 5 * kSecond, now_ns);
  const uint32_t open = source.in_progress();
  ASSERT_GT(open, 1'000U);
  source.finish(now_ns);
  EXPECT_FALSE(source.finished());
  const auto rest = until(source, now_ns + FlowSource::kFinishNs, now_ns);
  EXPECT_EQ(rest.size(), open);
  for (const DuePacket& packet : rest) EXPECT_TRUE(packet.last);
  EXPECT_GT(rest.back().due_ns - rest.front().due_ns, 500 * kMs);
  EXPECT_TRUE(source.finished());
  EXPECT_EQ(source.next_ns(), UINT64_MAX);
}

TEST(FlowSources, KeepTheirTotalRateToTheEndWhereThereIsTime) {
  const SourceSettings settings{
      .flows_per_s = 600, .mean_lifetime_s = 1000, .packet_bytes = 106, .rate = RateWave(1e6), .flows_max = 4000};
  FlowSource source(settings, kStart);
  uint64_t now_ns = kStart;
  until(source, kStart + 12 * kSecond, now_ns);
  const uint32_t open = source.in_progress();
  ASSERT_GT(open, 3'900U);
  const uint64_t finish_ns = now_ns;
  FlowSource stopped = source;
  FlowSource interrupted = source;

  source.finish(finish_ns, 10 * kSecond);
  std::map<uint64_t, double> bits;  // by 100 ms
  const auto rest = until(source, finish_ns + 10 * kSecond, now_ns);
  EXPECT_EQ(rest.size(), open);
  for (const DuePacket& packet : rest) bits[(packet.due_ns - finish_ns) / (100 * kMs)] += 8.0 * packet.frame_bytes;
  for (const auto& [part, sum] : bits) EXPECT_LE(sum, 1.1e6 / 10) << part;
  EXPECT_TRUE(source.finished());

  // Somebody waits for it from then on.
  now_ns = finish_ns;
  stopped.finish(finish_ns);
  EXPECT_EQ(until(stopped, finish_ns + FlowSource::kFinishNs, now_ns).size(), open);
  EXPECT_TRUE(stopped.finished());
  now_ns = finish_ns;
  interrupted.finish(finish_ns, 10 * kSecond);
  until(interrupted, finish_ns + 500 * kMs, now_ns);
  EXPECT_FALSE(interrupted.finished());
  interrupted.finish(now_ns);
  until(interrupted, finish_ns + 500 * kMs + FlowSource::kFinishNs, now_ns);
  EXPECT_TRUE(interrupted.finished());
}

TEST(FlowSources, MixSizesSevenFourOne) {
  const SourceSettings settings{.flows_per_s = 30, .shape = *flow_shape("web-search"), .mix = true};
  std::map<uint16_t, double> seen;
  double all = 0;
  for (const DuePacket& packet : seconds(settings, 10)) {
    if (packet.number == 0 || packet.last) continue;
    ++seen[packet.frame_bytes];
    ++all;
  }
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_NEAR(seen[74] / all, 7.0 / 12, 0.01);
  EXPECT_NEAR(seen[590] / all, 4.0 / 12, 0.01);
  EXPECT_NEAR(seen[1514] / all, 1.0 / 12, 0.01);
}

}  // namespace
}  // namespace orrery::flows
