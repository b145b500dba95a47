// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "nfs/testing/nf_driver.h"

namespace orrery::monitor {
namespace {

using namespace orrery::testing;
using nlohmann::json;

constexpr uint64_t kSecond = 1'000'000'000;
using Flow = std::tuple<uint32_t, uint32_t, uint8_t, uint16_t, uint16_t>;
using Count = std::pair<uint64_t, uint64_t>;

std::map<Flow, Count> exported(const NfCore& nf) {
  std::map<Flow, Count> flows;
  const json state = nf.export_state();
  for (const json& r : state["flows"]) {
    const auto [it, fresh] = flows.emplace(Flow{r[0], r[1], r[4], r[2], r[3]}, Count{r[5], r[6]});
    EXPECT_TRUE(fresh);
  }
  return flows;
}

TEST(Monitor, CountsWhatWasSent) {
  Rng rng(1);
  const auto nf = make_nf("monitor", json::object());
  std::map<Flow, Count> sent;
  Count total{};
  for (int batch = 0; batch < 200; ++batch) {
    std::vector<Frame> frames;
    for (uint64_t i = rng() % 70; i > 0; --i) {
      FrameSpec spec = random_spec(rng);
      if (rng() % 10 == 0) spec.fragment_offset = 1;
      frames.push_back(build_frame(spec));
      const ParsedPacket p = parse_packet(frames.back());
      for (Count* count : {&sent[{p.ip_src, p.ip_dst, p.ip_proto, p.src_port, p.dst_port}], &total}) {
        ++count->first;
        count->second += frames.back().size();
      }
    }
    run(*nf, frames);
  }
  run(*nf, {arp_frame(), Frame(7), Frame(8)});
  EXPECT_EQ(exported(*nf), sent);
  const json state = nf->state(20);
  EXPECT_EQ(state["flow_count"], sent.size());
  EXPECT_EQ(state["ip"]["packets"], total.first);
  EXPECT_EQ(state["ip"]["bytes"], total.second);
  EXPECT_EQ(state["non_ip"]["packets"], 1);
  EXPECT_EQ(state["malformed"]["bytes"], 15);

  std::vector<uint64_t> bytes;
  for (const auto& [flow, count] : sent) bytes.push_back(count.second);
  std::ranges::sort(bytes, std::greater{});
  ASSERT_EQ(state["flows"].size(), 20u);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(state["flows"][i]["bytes"], bytes[i]) << "largest first";
}

TEST(Monitor, ShowsWhenAFlowWasSeen) {
  const auto nf = make_nf("monitor", json::object());
  const uint64_t now = monotonic_ns();
  run_one(*nf, build_frame({}), Direction::kForward, now - 5 * kSecond);
  run_one(*nf, build_frame({}), Direction::kForward, now - 2 * kSecond);
  const json flow = nf->state(1)["flows"][0];
  EXPECT_NEAR(flow["last_seen_ms"].get<double>() - flow["first_seen_ms"].get<double>(), 3000, 1);
  EXPECT_NEAR(flow["last_seen_ms"], wall_ms_at(now) - 2000, 100);
  EXPECT_EQ(flow["src"], "10.0.0.1");
  EXPECT_EQ(flow["dst_port"], 80);
}

TEST(Monitor, EvictsTheFlowIdleLongestWhenFull) {
  const auto nf = make_nf("monitor", {{"max_flows", 3}, {"idle_timeout_s", 64}});
  const uint64_t start = monotonic_ns();
  const auto send = [&](uint16_t port, uint64_t seconds) {
    FrameSpec spec;
    spec.src_port = port;
    run_one(*nf, build_frame(spec), Direction::kForward, start + seconds * kSecond);
  };
  const auto known = [&] {
    std::vector<uint16_t> ports;
    for (const auto& [flow, count] : exported(*nf)) ports.push_back(std::get<3>(flow));
    return ports;
  };
  send(1, 0);
  send(2, 2);
  send(3, 4);
  send(1, 6);
  send(4, 8);
  EXPECT_EQ(known(), (std::vector<uint16_t>{1, 3, 4}));
  EXPECT_EQ(nf->state(1)["flows_evicted"], 1);
  for (uint64_t s = 80; s < 84; ++s) send(5, s);
  EXPECT_EQ(known(), (std::vector<uint16_t>{5}));
  EXPECT_EQ(nf->state(1)["flows_expired"], 3);
}

TEST(Monitor, ReconfigurationAndImportKeepCounts) {
  Rng rng(2);
  std::vector<Frame> frames;
  for (int i = 0; i < 300; ++i) frames.push_back(build_frame(random_spec(rng)));
  const auto nf = make_nf("monitor", json::object());
  run(*nf, frames);
  const auto before = exported(*nf);
  nf->configure({{"max_flows", 5000}});
  EXPECT_EQ(exported(*nf), before);

  const auto other = make_nf("monitor", json::object());
  run(*other, frames);
  other->import_state(nf->export_state());
  for (const auto& [flow, count] : exported(*other)) {
    EXPECT_EQ(count.first, 2 * before.at(flow).first);
    EXPECT_EQ(count.second, 2 * before.at(flow).second);
  }
  nf->configure({{"max_flows", 10}});
  EXPECT_EQ(exported(*nf).size(), 10u);
  EXPECT_EQ(nf->state(1)["flows_evicted"], before.size() - 10);
}

// Whatever another instance said, this one's state can be imported again.
TEST(Monitor, CountsStayWithinWhatARowHolds) {
  constexpr uint64_t kMost = INT64_MAX;
  FrameSpec spec;
  const json row = {spec.src, spec.dst, spec.src_port, spec.dst_port, spec.proto, kMost, kMost, 5, 5};
  const json state = {{"flows", json::array({row})}};
  const auto nf = make_nf("monitor", json::object()), other = make_nf("monitor", json::object());
  for (int n = 0; n < 3; ++n) nf->import_state(state);
  run_one(*nf, build_frame(spec));
  other->import_state(nf->export_state());
  for (const auto& [flow, count] : exported(*other)) {
    EXPECT_EQ(count.first, kMost);
    EXPECT_EQ(count.second, kMost);
  }
  EXPECT_EQ(exported(*other).size(), 1u);
}

}  // namespace
}  // namespace orrery::monitor
