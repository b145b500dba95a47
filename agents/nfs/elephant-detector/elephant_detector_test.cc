// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "nfs/testing/nf_driver.h"
#include "nfs/testing/tcp_frames.h"
#include "support/checksum.h"

namespace orrery::elephant_detector {
namespace {

using namespace orrery::testing;
using nlohmann::json;

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSecond = 1000 * kMs;
const MetadataField kSize = {"size", 6, 2, {{"mouse", 1}, {"elephant", 2}}};
using Flow = std::tuple<uint32_t, uint32_t, uint8_t, uint16_t, uint16_t>;

std::unique_ptr<NfCore> make_detector(const json& config) {
  return make_nf("elephant-detector", config, {&kSize, 1});
}

int class_of(const Outcome& o) {
  return o.metadata >> 6 & 3;
}

// The words of fpga/README.md: every flow with its window, the one idle longest forgotten when there are too many.
class Model {
 public:
  Model(uint64_t threshold, uint64_t window_ns, uint64_t idle_ns, size_t max_flows)
      : threshold_(threshold), window_ns_(window_ns), idle_ns_(idle_ns), max_flows_(max_flows) {}

  int judge(const Frame& frame, Direction in, uint64_t now_ns) {
    const ParsedPacket p = parse_packet(frame);
    if (p.kind == PacketKind::kNonIp || p.kind == PacketKind::kMalformed) return 0;
    const Flow key = in == Direction::kForward ? Flow{p.ip_src, p.ip_dst, p.ip_proto, p.src_port, p.dst_port}
                                               : Flow{p.ip_dst, p.ip_src, p.ip_proto, p.dst_port, p.src_port};
    std::erase_if(flows_, [&](const auto& item) { return now_ns - item.second.seen_ns >= idle_ns_; });
    if (!flows_.contains(key)) {
      if (flows_.size() == max_flows_) {
        const auto by_use = [](const auto& a, const auto& b) { return a.second.used < b.second.used; };
        flows_.erase(std::min_element(flows_.begin(), flows_.end(), by_use));
      }
      flows_[key] = {now_ns, 0, false, 0, 0};
    }
    State& flow = flows_[key];
    flow.seen_ns = now_ns;
    flow.used = ++uses_;
    if (now_ns - flow.began_ns >= window_ns_) {
      flow.began_ns = now_ns;
      flow.bytes = 0;
    }
    flow.bytes += load_be16(&frame[p.l3_offset + 2u]);
    flow.elephant |= flow.bytes >= threshold_;
    return flow.elephant ? 2 : 1;
  }

 private:
  struct State {
    uint64_t began_ns;
    uint64_t bytes;
    bool elephant;
    uint64_t seen_ns;
    uint64_t used;
  };

  uint64_t threshold_;
  uint64_t window_ns_;
  uint64_t idle_ns_;
  size_t max_flows_;
  uint64_t uses_ = 0;
  std::map<Flow, State> flows_;
};

Frame random_frame(Rng& rng, Direction in) {
  if (rng() % 40 == 0) return arp_frame();
  FrameSpec spec;
  spec.src = 0x0a000000 | static_cast<uint32_t>(rng() % 3);
  spec.dst = 0xc0a80000 | static_cast<uint32_t>(rng() % 2);
  spec.src_port = static_cast<uint16_t>(1000 + rng() % 3);
  spec.proto = std::array<uint8_t, 4>{kTcp, kTcp, kUdp, kGre}[rng() % 4];
  spec.payload.assign(rng() % 1000, 'x');
  spec.padding = static_cast<uint16_t>(rng() % 4 == 0 ? 500 : 0);
  if (in == Direction::kReturn) spec = reply_of(spec);
  Frame frame = build_frame(spec);
  if (rng() % 30 == 0) frame.resize(rng() % frame.size());
  return frame;
}

TEST(ElephantDetector, EqualsTheModelOnRandomTraffic) {
  Rng rng(1);
  std::array<uint64_t, 3> classes{};
  for (int round = 0; round < 40; ++round) {
    const uint64_t threshold = 1 + rng() % 6000;
    const uint64_t max_flows = 1 + rng() % 40;
    const auto nf = make_detector(
        {{"threshold_bytes", threshold}, {"window_ms", 500}, {"idle_timeout_s", 2}, {"max_flows", max_flows}});
    Model model(threshold, 500 * kMs, 2 * kSecond, max_flows);
    uint64_t now = kSecond;
    for (int i = 0; i < 300; ++i) {
      now += rng() % 10 == 0 ? rng() % 3 * kSecond : rng() % 5 * 25 * kMs;
      const auto in = Direction(rng() % 2);
      std::vector<Frame> frames;
      for (uint64_t n = 1 + rng() % 6; n > 0; --n) frames.push_back(random_frame(rng, in));
      const auto outcomes = run(*nf, frames, in, now, 0xffff);
      for (size_t n = 0; n < frames.size(); ++n) {
        const int expected = model.judge(frames[n], in, now);
        ++classes[static_cast<size_t>(expected)];
        ASSERT_EQ(class_of(outcomes[n]), expected) << "round " << round << ", batch " << i << ", packet " << n;
        ASSERT_EQ(outcomes[n].metadata | 0xc0, 0xffff);
        ASSERT_FALSE(outcomes[n].verdict.drop);
        ASSERT_EQ(outcomes[n].verdict.out, in);
      }
    }
  }
  for (uint64_t count : classes) EXPECT_GT(count, 300u) << "the traffic must show every class";
}

TEST(ElephantDetector, CountsIpBytesWithinAWindowThatTheFlowBegins) {
  const auto nf =
      make_detector({{"threshold_bytes", 200}, {"window_ms", 1000}, {"idle_timeout_s", 60}, {"max_flows", 10}});
  FrameSpec spec;
  spec.payload.assign(60, 'x');  // 100 bytes of IP
  spec.padding = 400;
  const auto send = [&](uint64_t now) { return class_of(run_one(*nf, build_frame(spec), Direction::kForward, now)); };
  EXPECT_EQ(send(10 * kSecond), 1);
  EXPECT_EQ(send(11 * kSecond), 1) << "the next window";
  EXPECT_EQ(send(12 * kSecond - 1), 2) << "the packet that reaches the threshold";
  EXPECT_EQ(send(70 * kSecond), 2) << "stays one";
  EXPECT_EQ(send(130 * kSecond), 1) << "until it was idle";
  EXPECT_EQ(nf->state(1)["elephants_found"], 1);
  EXPECT_EQ(nf->state(1)["elephants"], 0);
}

TEST(ElephantDetector, ShowsElephantsFirst) {
  const auto nf = make_detector({{"threshold_bytes", 1000}});
  for (uint16_t port : {1, 2, 3}) {
    FrameSpec spec;
    spec.src_port = port;
    spec.payload.assign(port == 2 ? 1000u : port * 100u, 'x');
    run_one(*nf, build_frame(spec));
  }
  const json state = nf->state(2);
  EXPECT_EQ(state["flow_count"], 3);
  EXPECT_EQ(state["elephant_packets"], 1);
  ASSERT_EQ(state["flows"].size(), 2u);
  EXPECT_EQ(state["flows"][0]["src_port"], 2);
  EXPECT_EQ(state["flows"][0]["size"], "elephant");
  EXPECT_EQ(state["flows"][0]["window_bytes"], 1040);
  EXPECT_EQ(state["flows"][1]["src_port"], 3);
  EXPECT_EQ(state["flows"][1]["size"], "mouse");
}

TEST(ElephantDetector, AMovedFlowGoesOnAsIfItHadStayed) {
  Rng rng(2);
  const json config = {{"threshold_bytes", 2500}, {"window_ms", 3000}, {"idle_timeout_s", 5}, {"max_flows", 40}};
  const auto stays = make_detector(config);
  // Whole seconds before the move and half ones behind it: what the move takes does not matter.
  const uint64_t start = monotonic_ns() - 8 * kSecond;
  const auto send = [&](NfCore& nf, const std::vector<Frame>& frames, uint64_t now) {
    std::vector<int> classes;
    for (const Outcome& o : run(nf, frames, Direction::kForward, now)) classes.push_back(class_of(o));
    return classes;
  };
  const auto frames = [&] {
    std::vector<Frame> out;
    for (int i = 0; i < 30; ++i) out.push_back(random_frame(rng, Direction::kForward));
    return out;
  };
  for (uint64_t s = 0; s < 8; ++s) send(*stays, frames(), start + s * kSecond);
  const auto moved = make_detector(config);
  moved->import_state(json::parse(stays->export_state().dump()));
  ASSERT_EQ(moved->state(0)["flow_count"], stays->state(0)["flow_count"]);
  ASSERT_EQ(moved->state(0)["elephants"], stays->state(0)["elephants"]);
  ASSERT_GT(moved->state(0)["elephants"], 0);
  for (uint64_t s = 8; s < 30; ++s) {
    const auto batch = frames();
    const uint64_t now = start + s * kSecond + kSecond / 2;
    ASSERT_EQ(send(*moved, batch, now), send(*stays, batch, now)) << s;
  }
}

TEST(ElephantDetector, ASmallerTableKeepsTheYoungest) {
  const auto nf = make_detector({{"threshold_bytes", 1}, {"max_flows", 10}});
  const uint64_t start = monotonic_ns();
  for (uint16_t port = 0; port < 10; ++port) {
    FrameSpec spec;
    spec.src_port = port;
    run_one(*nf, build_frame(spec), Direction::kForward, start + port);
  }
  nf->configure({{"threshold_bytes", 1000}, {"max_flows", 3}});
  const json state = nf->export_state();
  ASSERT_EQ(state["flows"].size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(state["flows"][i][2], 9 - i);
    EXPECT_EQ(state["flows"][i][6], 1) << "an elephant stays one";
  }
  EXPECT_EQ(nf->state(1)["flows_evicted"], 7);
}

}  // namespace
}  // namespace orrery::elephant_detector
