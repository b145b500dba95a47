// SPDX-License-Identifier: Apache-2.0
// The same frames through an NF's core and through the program: the same verdicts, bytes and metadata.
#include <gtest/gtest.h>

#include "network.h"
#include "nf_process.h"
#include "nfs/testing/nf_driver.h"
#include "nfs/testing/tcp_frames.h"
#include "support/hop_tag.h"

namespace orrery::container_nf::testing {
namespace {

using namespace orrery::testing;
using nlohmann::json;
using orrery::testing::Frame;

// The test's ends hold back what leaves, so no more than their rings.
constexpr size_t kBurst = 1500;

Frame with_metadata(Frame frame, uint16_t metadata = 0) {
  write_hop_tag(frame.data(), {0xffff, metadata}, 0x123456789a);
  return frame;
}

// Not: shorter than an Ethernet header, longer than the MTU, or with so little behind the type of an 802.1Q tag that
// the kernel, which takes tags off and looks at the two bytes behind them, drops it.
bool goes_through(const Frame& frame) {
  if (frame.size() < kEthernetHeader || frame.size() > kEthernetHeader + 1500) return false;
  const uint16_t type = load_be16(&frame[12]);
  return (type != 0x8100 && type != 0x88a8) || frame.size() >= kEthernetHeader + 6;
}

// Both ends exchanged, checksums left as they are.
Frame reply_to(Frame frame) {
  const ParsedPacket p = parse_packet(frame);
  if (p.kind != PacketKind::kIpTransport) return frame;
  std::swap_ranges(&frame[p.l3_offset + 12u], &frame[p.l3_offset + 16u], &frame[p.l3_offset + 16u]);
  if (p.ip_proto != kIcmp) std::swap_ranges(&frame[p.l4_offset], &frame[p.l4_offset + 2u], &frame[p.l4_offset + 2u]);
  return frame;
}

std::vector<Frame> interesting_frames() {
  Rng rng(1);
  std::vector<Frame> frames;
  for (int i = 0; i < 3000; ++i) {
    FrameSpec spec = random_spec(rng);
    spec.src_port = static_cast<uint16_t>(1000 + rng() % 50);
    if (rng() % 4 == 0) spec.dst_port = static_cast<uint16_t>(rng() % 2 == 0 ? 80 : 23);
    if (rng() % 8 == 0) spec.payload = "GET /?id=1' or 1=1&f=../../etc/passwd HTTP/1.1\r\n";
    Frame frame = build_frame(spec);
    const ParsedPacket p = parse_packet(frame);
    if (p.kind == PacketKind::kIpTransport && p.ip_proto == kTcp && rng() % 2 == 0) frame[p.l4_offset + 13u] = kTcpSyn;
    frames.push_back(std::move(frame));
  }
  frames.push_back(arp_frame());
  for (Frame& frame : malformed_corpus(rng)) frames.push_back(std::move(frame));
  std::erase_if(frames, [](const Frame& frame) { return !goes_through(frame); });
  for (Frame& frame : frames) frame = with_metadata(std::move(frame), static_cast<uint16_t>(rng()));
  return frames;
}

struct Case {
  const char* nf;
  json config;
  json metadata;
  bool drops;  // some of the frames
  bool changes;
};

// Long windows and slow clocks, so that no decision hangs on the time of a run.
const Case kCases[] = {
    {.nf = "ddos-detector",
     .config = {{"window_ms", 60000}},
     .metadata = {{"verdict", {{"offset", 3}, {"width", 2}, {"values", {{"normal", 2}, {"attack", 1}}}}}},
     .drops = false,
     .changes = true},
    {.nf = "elephant-detector",
     .config = {{"threshold_bytes", 2000}, {"window_ms", 60000}},
     .metadata = {{"size", {{"offset", 14}, {"width", 2}, {"values", {{"mouse", 1}, {"elephant", 3}}}}}},
     .drops = false,
     .changes = true},
    {.nf = "firewall",
     .config = {{"rules", {{{"action", "deny"}, {"proto", "tcp"}, {"dst_port", "23"}}}}},
     .metadata = json::object(),
     .drops = true,
     .changes = false},
    {.nf = "ids",
     .config = {{"rules", {{{"id", "x"}, {"pattern", "../../"}}}}},
     .metadata = {{"verdict", {{"offset", 7}, {"width", 2}, {"values", {{"safe", 1}, {"unsafe", 2}}}}}},
     .drops = false,
     .changes = true},
    {.nf = "l2-forwarder",
     .config = {{"swap_macs", true}},
     .metadata = json::object(),
     .drops = false,
     .changes = false},
    {.nf = "monitor", .config = json::object(), .metadata = json::object(), .drops = false, .changes = false},
    {.nf = "nat",
     .config = {{"external_addresses", {"198.18.0.1"}}},
     .metadata = json::object(),
     .drops = true,
     .changes = true},
    {.nf = "rate-limiter",
     .config = {{"rate_bps", 1}, {"burst_bytes", 300'000}},
     .metadata = json::object(),
     .drops = true,
     .changes = false},
    {.nf = "sqli-detector",
     .config = {{"drop", true}},
     .metadata = {{"verdict", {{"offset", 0}, {"width", 8}, {"values", {{"clean", 1}, {"attack", 2}}}}}},
     .drops = true,
     .changes = true},
    {.nf = "stateful-firewall",
     .config = {{"rules", {{{"action", "deny"}, {"src", "10.0.0.0/9"}, {"dst_port", "80"}}}}},
     .metadata = json::object(),
     .drops = true,
     .changes = false},
};

class SameAsTheCore : public ::testing::TestWithParam<Case> {
 protected:
  SameAsTheCore()
      : nf_(GetParam().nf, GetParam().config, GetParam().metadata),
        core_(orrery::testing::make_nf(GetParam().nf, GetParam().config, fields())) {}

  static std::vector<MetadataField> fields() {
    std::vector<MetadataField> out;
    for (const auto& [name, field] : GetParam().metadata.items()) {
      out.push_back({name, field["offset"], field["width"], {}});
      for (const auto& [value, code] : field["values"].items()) out.back().values.emplace_back(value, code);
    }
    return out;
  }

  // Sends frames through both, compares, and returns what came out.
  std::vector<Frame> exchange(const std::vector<Frame>& frames, Direction in) {
    std::vector<Frame> passed;
    for (size_t begin = 0; begin < frames.size(); begin += kBurst) {
      const std::vector<Frame> burst(frames.begin() + static_cast<ptrdiff_t>(begin),
                                     frames.begin() + static_cast<ptrdiff_t>(std::min(begin + kBurst, frames.size())));
      exchange_burst(burst, in, passed);
      if (HasFatalFailure()) return passed;
    }
    return passed;
  }

  void exchange_burst(const std::vector<Frame>& burst, Direction in, std::vector<Frame>& passed) {
    std::array<std::vector<Frame>, 2> expected;
    for (const Frame& frame : burst) expect(frame, in, expected);
    network_.send(burst, in);
    sent_ += burst.size();
    const json stats = nf_.await_frames(sent_);
    ASSERT_EQ(frames_in(stats), sent_);
    for (Direction out : {Direction::kForward, Direction::kReturn}) {
      const std::vector<Frame>& due = expected[static_cast<size_t>(out)];
      const std::vector<Frame> got = network_.receive(due.size(), out);
      ASSERT_EQ(got.size(), due.size()) << "direction " << static_cast<int>(out);
      for (size_t i = 0; i < due.size(); ++i) ASSERT_EQ(got[i], due[i]) << "frame " << i;
      passed.insert(passed.end(), got.begin(), got.end());
    }
    for (const auto& [reason, count] : drops_) ASSERT_EQ(drops(stats, reason), count) << reason;
    ASSERT_EQ(stats["drops"].size(), drops_.size()) << stats["drops"];
  }

  // What the core does with a frame; the addresses belong to the way through the network, not to the NF.
  void expect(const Frame& frame, Direction in, std::array<std::vector<Frame>, 2>& expected) {
    HopTag tag{};
    read_hop_tag(frame.data(), tag);
    const Outcome o = run(*core_, {frame}, in, monotonic_ns(), tag.metadata)[0];
    if (o.verdict.drop) {
      ++drops_[o.reason];
      return;
    }
    Frame out = o.frame;
    std::copy_n(frame.begin(), 12, out.begin());
    out[4] = static_cast<uint8_t>(o.metadata >> 8);
    out[5] = static_cast<uint8_t>(o.metadata);
    changed_ += out != frame;
    expected[static_cast<size_t>(o.verdict.out)].push_back(std::move(out));
  }

  Network network_;
  ContainerNf nf_;
  std::unique_ptr<NfCore> core_;
  uint64_t sent_ = 0;
  uint64_t changed_ = 0;
  std::map<std::string, uint64_t> drops_;
};

TEST_P(SameAsTheCore, OnRightAndWrongFramesInBothDirections) {
  const std::vector<Frame> frames = interesting_frames();
  std::vector<Frame> replies;
  for (const Frame& frame : exchange(frames, Direction::kForward)) replies.push_back(reply_to(frame));
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_GT(replies.size(), 100u);
  exchange(replies, Direction::kReturn);
  ASSERT_FALSE(HasFatalFailure());
  exchange(frames, Direction::kReturn);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(network_.left_over(), 0u);
  EXPECT_EQ(!drops_.empty(), GetParam().drops);
  EXPECT_EQ(changed_ > 0, GetParam().changes);
  EXPECT_EQ(nf_.call("export_state").size(), core_->export_state().size());
}

INSTANTIATE_TEST_SUITE_P(Nfs, SameAsTheCore, ::testing::ValuesIn(kCases), [](const auto& info) {
  std::string name(info.param.nf);
  std::ranges::replace(name, '-', '_');
  return name;
});

class Traffic : public ::testing::Test {
 protected:
  Network network_;
};

TEST_F(Traffic, ATagOf8021QGoesThrough) {
  ContainerNf nf("l2-forwarder", json::object());
  FrameSpec spec;
  spec.vlan = true;
  spec.payload.assign(1460, 'x');  // the whole MTU
  const Frame frame = with_metadata(build_frame(spec));
  ASSERT_EQ(frame.size(), 1518u);
  network_.send({frame}, Direction::kForward);
  EXPECT_EQ(network_.receive(1, Direction::kForward), std::vector<Frame>{frame});
}

// What is encrypted in the container is decrypted by the core beside it, and the other way round.
TEST_F(Traffic, AnNfMakesPacketsLongerAndShorter) {
  const auto config = [](const char* mode) -> json { return {{"mode", mode}, {"key", std::string(64, 'c')}}; };
  ContainerNf nf("crypto-tunnel", config("encrypt"));
  const auto far = make_nf("crypto-tunnel", config("decrypt"));
  std::vector<Frame> plain;
  for (const bool vlan : {false, true})
    for (size_t bytes = 1; bytes <= 1400; bytes += 7) {
      FrameSpec spec;
      spec.vlan = vlan;
      spec.payload.assign(bytes, static_cast<char>('a' + bytes % 26));
      plain.push_back(with_metadata(build_frame(spec), 77));
    }
  network_.send(plain, Direction::kForward);
  std::vector<Frame> opened, hidden;
  for (const Outcome& o : run(*far, network_.receive(plain.size(), Direction::kForward))) opened.push_back(o.frame);
  EXPECT_EQ(opened, plain);
  for (const Outcome& o : run(*far, plain, Direction::kReturn)) hidden.push_back(o.frame);
  network_.send(hidden, Direction::kReturn);
  EXPECT_EQ(network_.receive(plain.size(), Direction::kReturn), plain);
  EXPECT_EQ(nf.await_frames(2 * plain.size())["drops"], json::object());
}

TEST_F(Traffic, AFrameWithoutAHopTagIsDroppedAndCounted) {
  ContainerNf nf("l2-forwarder", json::object());
  const Frame right = with_metadata(build_frame({}));
  Frame stray = right;
  stray[1] = 0x0f;
  network_.send({stray, right, arp_frame()}, Direction::kReturn);
  EXPECT_EQ(network_.receive(1, Direction::kReturn), std::vector<Frame>{right});
  const json stats = nf.await_frames(3);
  EXPECT_EQ(stats["drops"], json({{"no_tag", 2}}));
  EXPECT_EQ(stats["return"]["packets_out"], 1);
  EXPECT_EQ(stats["return"]["bytes_in"], stray.size() + right.size() + arp_frame().size());
  EXPECT_EQ(stats["return"]["bytes_out"], right.size());
  EXPECT_EQ(stats["forward"]["packets_in"], 0);
}

// How often a thread of a program went to sleep; it counts when it is woken and sleeps again.
uint64_t sleeps(const Program& program) {
  uint64_t n = 0;
  for (const ThreadStatus& thread : program.threads()) n += std::stoull(thread.at("voluntary_ctxt_switches"));
  return n;
}

bool sleeping(const Program& program) {
  return std::ranges::all_of(program.threads(), [](const auto& thread) { return thread.at("State").starts_with("S"); });
}

TEST_F(Traffic, WaitingCostsNothing) {
  ContainerNf nf("ids", descriptor_of("ids")["default_config"]);
  network_.send({with_metadata(build_frame({}))}, Direction::kForward);
  network_.receive(1, Direction::kForward);
  await([&] { return sleeping(nf.program()); }, "it to wait");
  const uint64_t sleeps_before = sleeps(nf.program()), cpu_ns = nf.program().cpu_ns();
  timespec second{1, 0};
  nanosleep(&second, nullptr);
  // Far below what polling with any timeout or without sleep takes, however busy the machine.
  EXPECT_LE(sleeps(nf.program()) - sleeps_before, 5u);
  EXPECT_LT(nf.program().cpu_ns() - cpu_ns, 50'000'000u);
  EXPECT_TRUE(sleeping(nf.program()));
}

}  // namespace
}  // namespace orrery::container_nf::testing
