// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "nfs/ddos-detector/crc32c.h"
#include "nfs/testing/nf_driver.h"
#include "nfs/testing/tcp_frames.h"

namespace orrery::ddos_detector {
namespace {

using namespace orrery::testing;
using nlohmann::json;

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSecond = 1000 * kMs;
const MetadataField kVerdict = {"verdict", 3, 2, {{"normal", 1}, {"attack", 2}}};

std::unique_ptr<NfCore> make_detector(const json& config) {
  return make_nf("ddos-detector", config, {&kVerdict, 1});
}

int class_of(const Outcome& o) {
  return o.metadata >> 3 & 3;
}

// The words of fpga/README.md, one window after the other however many there are.
class Model {
 public:
  explicit Model(const json& config)
      : window_ns_(config["window_ms"].get<uint64_t>() * kMs),
        k_(static_cast<int64_t>(config["deviations"].get<double>() * 4)),
        minimum_(config["minimum"]) {}

  int judge(const Frame& frame, uint64_t now_ns) {
    if (began_ns_ == 0) began_ns_ = now_ns;
    for (; now_ns - began_ns_ >= window_ns_; began_ns_ += window_ns_) close_window();
    const ParsedPacket p = parse_packet(frame);
    if (p.kind == PacketKind::kNonIp || frame.size() < 14) return 0;
    if (p.kind != PacketKind::kIpTransport || p.ip_proto != kTcp) return 1;
    const uint8_t flags = frame[p.l4_offset + 13u];
    Counter& counter = counters_[crc32c(p.ip_dst) % 1024];
    if ((flags & kTcpAck) && !(flags & kTcpSyn)) counter.count = std::max<int64_t>(counter.count - 1, 0);
    if (!(flags & kTcpSyn) || (flags & kTcpAck)) return 1;
    counter.count = std::min<int64_t>(counter.count + 1, 65535);
    counter.address = p.ip_dst;
    return counter.flagged == p.ip_dst ? 2 : 1;
  }

 private:
  struct Counter {
    int64_t count = 0;
    uint32_t address = 0;
    std::optional<uint32_t> flagged;
  };

  void close_window() {
    int64_t n = 0, s = 0, q = 0;
    for (const auto& [index, counter] : counters_) {
      n += counter.count > 0;
      s += counter.count;
      q += counter.count * counter.count;
    }
    for (auto& [index, counter] : counters_) {
      const int64_t c = counter.count, above = n * c - s;
      const bool attack =
          c > 0 && c >= minimum_ && (n == 1 || (above > 0 && above * above * 16 > k_ * k_ * (n * q - s * s)));
      counter.flagged = attack ? std::optional(counter.address) : std::nullopt;
      counter.count /= 2;
    }
  }

  uint64_t window_ns_;
  int64_t k_;
  int64_t minimum_;
  uint64_t began_ns_ = 0;
  std::map<uint32_t, Counter> counters_;
};

// To one of a few dozen destinations; `victim` is met more often.
Frame random_frame(Rng& rng, uint32_t victim) {
  static constexpr uint8_t kFlags[] = {kTcpSyn, kTcpSyn,           kTcpAck,           kTcpAck,
                                       0,       kTcpSyn | kTcpAck, kTcpRst | kTcpAck, kTcpSyn | kTcpPsh};
  if (rng() % 40 == 0) return arp_frame();
  FrameSpec spec;
  spec.dst = 0x0a000000 | static_cast<uint32_t>(rng() % 40);
  spec.proto = rng() % 20 == 0 ? kUdp : kTcp;
  if (rng() % 2 == 0) spec.dst = victim;
  if (spec.proto == kUdp) return build_frame(spec);
  Frame frame = tcp_frame(spec, spec.dst == victim ? kTcpSyn : kFlags[rng() % std::size(kFlags)]);
  if (rng() % 30 == 0) frame.resize(rng() % frame.size());
  return frame;
}

TEST(DdosDetector, EqualsTheModelOnRandomTraffic) {
  Rng rng(1);
  std::array<uint64_t, 3> classes{};
  for (int round = 0; round < 30; ++round) {
    const json config = {{"window_ms", 100},
                         {"deviations", static_cast<double>(1 + rng() % 16) / 4},
                         {"minimum", 1 + rng() % 30},
                         {"drop", round % 2 == 0}};
    const auto nf = make_detector(config);
    Model model(config);
    uint64_t now = kSecond;
    for (int i = 0; i < 300; ++i) {
      now += rng() % 50 == 0 ? rng() % 3000 * kMs : rng() % 20 * kMs;
      const auto in = Direction(rng() % 2);
      std::vector<Frame> frames;
      for (uint64_t n = 1 + rng() % 6; n > 0; --n)
        frames.push_back(random_frame(rng, 0x0a000000 | static_cast<uint32_t>(i / 60)));
      const auto outcomes = run(*nf, frames, in, now, 0xffff);
      for (size_t n = 0; n < frames.size(); ++n) {
        const int expected = model.judge(frames[n], now);
        ++classes[static_cast<size_t>(expected)];
        ASSERT_EQ(class_of(outcomes[n]), expected) << "round " << round << ", batch " << i << ", packet " << n;
        ASSERT_EQ(outcomes[n].metadata | 0x18, 0xffff);
        ASSERT_EQ(outcomes[n].reason, expected == 2 && config["drop"] == true ? "attack" : "");
        ASSERT_EQ(outcomes[n].verdict.out, in);
      }
    }
  }
  for (uint64_t count : classes) EXPECT_GT(count, 300u) << "the traffic must show every class";
}

TEST(DdosDetector, FlagsAFloodAtTheEndOfTheWindowAndClearsItLater) {
  const auto nf = make_detector({{"drop", true}});
  const auto send = [&](uint32_t dst, uint8_t flags, int count, uint64_t now) {
    FrameSpec spec;
    spec.dst = dst;
    return run(*nf, std::vector<Frame>(static_cast<size_t>(count), tcp_frame(spec, flags)), Direction::kForward, now)
        .back();
  };
  for (uint32_t dst = 100; dst < 120; ++dst) send(dst, kTcpSyn, 2, kSecond);
  EXPECT_EQ(send(1, kTcpSyn, 500, kSecond).reason, "");
  EXPECT_EQ(send(1, kTcpSyn, 1, 2 * kSecond - 1).reason, "") << "the window is not over";
  EXPECT_EQ(send(1, kTcpSyn, 1, 2 * kSecond).reason, "attack");
  EXPECT_EQ(send(1, kTcpAck, 1, 2 * kSecond).reason, "") << "not a SYN";
  EXPECT_EQ(send(100, kTcpSyn, 1, 2 * kSecond).reason, "");
  json state = nf->state(10);
  EXPECT_EQ(state["flagged"], 1);
  EXPECT_EQ(state["counters"][0]["dst"], "0.0.0.1");
  EXPECT_EQ(state["counters"][0]["flagged"], true);
  EXPECT_EQ(state["alerts"][0]["event"], "flagged");
  EXPECT_EQ(state["alerts"][0]["syns"], 501);
  EXPECT_EQ(state["alerts"][0]["mean"], (501 + 40) / 21);
  EXPECT_EQ(send(1, kTcpSyn, 1, 20 * kSecond).reason, "");
  state = nf->state(10);
  EXPECT_EQ(state["flagged"], 0);
  EXPECT_EQ(state["windows"], 19);
  EXPECT_EQ(state["alerts"][0]["event"], "cleared");
  EXPECT_EQ(send(1, kTcpSyn, 1, 1'000'000'000 * kSecond).reason, "") << "an age of windows takes no time";
}

TEST(DdosDetector, MovedCountersGoOnAsIfTheyHadStayed) {
  Rng rng(2);
  const json config = {{"window_ms", 2000}, {"deviations", 1.5}, {"minimum", 8}};
  const auto stays = make_detector(config);
  // Whole seconds before the move and half ones behind it: what the move takes does not matter.
  const uint64_t start = monotonic_ns() - 7 * kSecond;
  const auto send = [&](NfCore& nf, const std::vector<Frame>& frames, uint64_t now) {
    std::vector<int> classes;
    for (const Outcome& o : run(nf, frames, Direction::kForward, now)) classes.push_back(class_of(o));
    return classes;
  };
  const auto frames = [&](uint64_t second) {
    std::vector<Frame> out;
    for (int i = 0; i < 50; ++i) out.push_back(random_frame(rng, 0x0a000001 + static_cast<uint32_t>(second / 8)));
    return out;
  };
  for (uint64_t s = 0; s < 7; ++s) send(*stays, frames(s), start + s * kSecond);
  const auto moved = make_detector(config);
  moved->import_state(json::parse(stays->export_state().dump()));
  ASSERT_EQ(moved->export_state()["counters"], stays->export_state()["counters"]);
  ASSERT_GT(moved->state(0)["flagged"], 0);
  for (uint64_t s = 7; s < 30; ++s) {
    const auto batch = frames(s);
    const uint64_t now = start + s * kSecond + kSecond / 2;
    ASSERT_EQ(send(*moved, batch, now), send(*stays, batch, now)) << s;
  }
}

TEST(DdosDetector, ImportAddsCounters) {
  const auto nf = make_detector(json::object());
  const json state = {{"window_age_ms", 10}, {"counters", {{1, 40000, 1, 1}, {2, 5, 0, 0}}}};
  nf->import_state(state);
  nf->import_state(state);
  const json counters = nf->state(5)["counters"];
  EXPECT_EQ(counters[0]["syns"], 65535);
  EXPECT_EQ(counters[0]["flagged"], true);
  EXPECT_EQ(counters[1]["syns"], 10);
  const auto error = [&](const json& bad) { return error_pointer([&] { nf->import_state(bad); }); };
  EXPECT_EQ(error({{"counters", {{1, 65536, 0, 0}}}}), "/counters/0/1");
  EXPECT_EQ(error({{"counters", {{1, 1, 2, 0}}}}), "/counters/0/2");
  EXPECT_EQ(error({{"counters", json::array_t(1025, json::array({1, 1, 0, 0}))}}), "/counters");
  EXPECT_EQ(error({{"window_age_ms", -1}}), "/window_age_ms");
  EXPECT_EQ(nf->state(5)["counters"], counters);
}

TEST(DdosDetector, TakesDeviationsInQuarters) {
  for (const json& good : {json(0.25), json(3), json(3.75), json(16)})
    EXPECT_EQ(config_error("ddos-detector", {{"deviations", good}}), "none") << good;
  for (const json& bad : {json(0), json(0.3), json(16.25), json("3"), json(-1)})
    EXPECT_EQ(config_error("ddos-detector", {{"deviations", bad}}), "/deviations") << bad;
}

}  // namespace
}  // namespace orrery::ddos_detector
