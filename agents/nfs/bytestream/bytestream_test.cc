// SPDX-License-Identifier: Apache-2.0
#include "nfs/bytestream/bytestream_core.h"

#include <gtest/gtest.h>

#include <map>

#include "nfs/bytestream/held_bytes.h"
#include "nfs/bytestream/stream_view.h"
#include "nfs/testing/nf_driver.h"
#include "nfs/testing/tcp_frames.h"

namespace orrery::bytestream {
namespace {

using namespace orrery::testing;
using nlohmann::json;

constexpr uint64_t kSecond = 1'000'000'000;

// What one packet made contiguous.
struct Seen {
  StreamView view;
  std::string bytes;
};

class Reassembly {
 public:
  explicit Reassembly(const json& config = json::object()) : core_(make(config, log_)) {}

  Seen send(const Frame& frame, uint64_t now_ns = kSecond) { return send_all({frame}, now_ns)[0]; }

  std::vector<Seen> send_all(const std::vector<Frame>& frames, uint64_t now_ns = kSecond) {
    std::vector<std::vector<uint8_t>> buffers(frames);
    std::vector<StreamView> views(frames.size(), StreamView{.stream = 77});
    std::vector<NfPacket> packets;
    for (size_t i = 0; i < frames.size(); ++i)
      packets.push_back({.data = buffers[i].data(),
                         .length = static_cast<uint32_t>(buffers[i].size()),
                         .parsed = parse_packet(buffers[i]),
                         .metadata = 0,
                         .stream = &views[i]});
    std::vector<NfVerdict> verdicts(frames.size(), NfVerdict{.drop = true});
    core_->process(packets, Direction::kForward, verdicts, now_ns);
    std::vector<Seen> seen;
    for (size_t i = 0; i < frames.size(); ++i) {
      EXPECT_FALSE(verdicts[i].drop);
      EXPECT_EQ(buffers[i], frames[i]) << "packets are only looked at";
      const ParsedPacket& p = packets[i].parsed;
      std::vector<uint8_t> room;
      std::span<const uint8_t> bytes;
      EXPECT_TRUE(views[i].bytes({packets[i].data + p.payload_offset, p.payload_length}, room, bytes));
      seen.push_back({views[i], {bytes.begin(), bytes.end()}});
    }
    return seen;
  }

  json state() const { return core_->state(10); }
  NfCore& core() { return *core_; }

 private:
  StreamLog log_{kLeastLogBytes};
  std::unique_ptr<NfCore> core_;
};

Frame segment(uint32_t sequence, std::string payload, uint8_t flags = kTcpAck, FrameSpec spec = {}) {
  spec.payload = std::move(payload);
  return tcp_segment(spec, flags, sequence);
}
Frame syn(uint32_t sequence, const FrameSpec& spec = {}) {
  return segment(sequence, "", kTcpSyn, spec);
}

// An independent account of one stream: every byte at its place counted from the begin, the first one to come stays.
class Reference {
 public:
  // Returns what became contiguous.
  std::string take(uint64_t offset, std::string_view bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) bytes_.emplace(offset + i, bytes[i]);
    std::string out;
    for (auto at = bytes_.find(next_); at != bytes_.end(); at = bytes_.find(next_)) {
      out += at->second;
      ++next_;
    }
    return out;
  }

  uint64_t next() const { return next_; }

 private:
  std::map<uint64_t, char> bytes_;
  uint64_t next_ = 0;
};

struct Piece {
  uint64_t offset;
  std::string bytes;
};

// A stream cut at random, with copies of other bytes over it, and losses that are sent again later.
std::vector<Piece> random_pieces(Rng& rng) {
  const auto below = [&](uint64_t n) { return rng() % n; };
  const auto text = [&](size_t length) {
    std::string out(length, ' ');
    for (char& c : out) c = static_cast<char>('a' + below(26));
    return out;
  };
  std::vector<Piece> pieces;
  const uint64_t length = 1 + below(below(10) == 0 ? 15000 : 500);
  for (uint64_t at = 0; at < length;) {
    const uint64_t n = std::min(length - at, 1 + below(below(3) == 0 ? 1400 : 40));
    pieces.push_back({at, text(n)});
    at += n;
  }
  for (uint64_t i = below(pieces.size() + 4); i > 0; --i) {
    const uint64_t at = below(length);
    pieces.push_back({at, text(std::min(length - at, 1 + below(900)))});
  }
  // Near its place, so that most of it is in order.
  std::vector<std::pair<uint64_t, size_t>> order;
  for (size_t i = 0; i < pieces.size(); ++i) order.emplace_back(pieces[i].offset + below(1 + below(3000)), i);
  std::ranges::sort(order);
  std::vector<Piece> out;
  for (const auto& [at, i] : order) out.push_back(pieces[i]);
  return out;
}

class EveryStream : public ::testing::TestWithParam<uint8_t> {};

TEST_P(EveryStream, IsReassembledAsTheReferenceDoesIt) {
  Rng rng(1000 + GetParam());
  uint64_t reassembled = 0;
  Reassembly bytestream;
  for (int round = 0; round < 1000; ++round) {
    FrameSpec spec{.ip_version = GetParam(), .src = static_cast<uint32_t>(rng()), .vlan = rng() % 4 == 0};
    // Every other one wraps around.
    const uint32_t isn = round % 2 == 0 ? static_cast<uint32_t>(rng()) : static_cast<uint32_t>(0 - rng() % 2000);
    EXPECT_EQ(bytestream.send(syn(isn, spec)).bytes, "");
    Reference reference;
    uint64_t id = 0;
    for (const Piece& piece : random_pieces(rng)) {
      const uint64_t before = reference.next();
      const std::string expected = reference.take(piece.offset, piece.bytes);
      const Seen seen =
          bytestream.send(segment(isn + 1 + static_cast<uint32_t>(piece.offset), piece.bytes, kTcpAck, spec));
      ASSERT_EQ(seen.bytes, expected) << "round " << round << " at " << piece.offset;
      ASSERT_NE(seen.view.stream, 0u);
      ASSERT_TRUE(id == 0 || seen.view.stream == id);
      id = seen.view.stream;
      ASSERT_FALSE(seen.view.gap);
      ASSERT_EQ(seen.view.sequence, isn + 1 + static_cast<uint32_t>(before));
      reassembled += expected.size() > piece.bytes.size();
    }
  }
  const json state = bytestream.state();
  EXPECT_EQ(state["streams_begun"], 1000);
  EXPECT_EQ(state["picked_up"], 0);
  EXPECT_EQ(state["held_bytes"], 0);
  EXPECT_EQ(state["held_memory_bytes"], 0);
  EXPECT_EQ(state["gaps"], 0);
  EXPECT_GT(reassembled, 500u);
  EXPECT_GT(state["packets_held"], 1000);
  EXPECT_GT(state["packets_in_order"], 1000);
  EXPECT_GT(state["packets_repeated"], 200);
}

INSTANTIATE_TEST_SUITE_P(Versions, EveryStream, ::testing::Values(4, 6));

TEST(Bytestream, ShowsAPacketThatIsInOrderItsOwnPayload) {
  Reassembly bytestream;
  bytestream.send(syn(9));
  const Seen seen = bytestream.send(segment(10, "hello"));
  EXPECT_TRUE(seen.view.is_payload(5));
  EXPECT_EQ(seen.bytes, "hello");
}

TEST(Bytestream, PassesByWhatHasNoStream) {
  Reassembly bytestream;
  Rng rng(3);
  std::vector<Frame> frames = malformed_corpus(rng);
  for (const Frame& frame : malformed_ipv6_corpus(rng)) frames.push_back(frame);
  for (const FrameSpec& spec : {FrameSpec{.proto = kUdp}, FrameSpec{.proto = kIcmp}, FrameSpec{.payload = ""}})
    frames.push_back(build_frame(spec));
  frames.push_back(arp_frame());
  for (const Frame& frame : frames) {
    const ParsedPacket p = parse_packet(frame);
    const Seen seen = bytestream.send(frame);
    if (p.kind != PacketKind::kIpTransport || p.ip_proto != kTcp || p.payload_length == 0 || p.fragment) {
      EXPECT_EQ(seen.bytes, "");
    }
  }
  EXPECT_EQ(bytestream.send(build_frame({.proto = kUdp})).view.stream, 0u);
  EXPECT_EQ(bytestream.send(build_frame({.more_fragments = true})).view.stream, 0u);
  EXPECT_GT(bytestream.state()["fragments"], 0);
}

TEST(Bytestream, KeepsBothDirectionsApart) {
  Reassembly bytestream;
  const FrameSpec there{}, back = reply_of({});
  bytestream.send_all({syn(100, there), segment(500, "", kTcpSyn | kTcpAck, back)});
  const Seen a = bytestream.send(segment(101, "ping", kTcpAck, there));
  const Seen b = bytestream.send(segment(501, "pong", kTcpAck, back));
  EXPECT_EQ(a.bytes, "ping");
  EXPECT_EQ(b.bytes, "pong");
  EXPECT_NE(a.view.stream, b.view.stream);
}

TEST(Bytestream, PicksUpAStreamWhoseBeginItHasNotSeen) {
  Reassembly bytestream;
  EXPECT_EQ(bytestream.send(segment(5000, "middle")).bytes, "middle");
  EXPECT_EQ(bytestream.send(segment(5006, " end")).bytes, " end");
  EXPECT_EQ(bytestream.state()["picked_up"], 1);
}

TEST(Bytestream, EndsAtAFinAndTakesNothingBehindIt) {
  Reassembly bytestream;
  bytestream.send(syn(0));
  EXPECT_EQ(bytestream.send(segment(5, "-end", kTcpFin | kTcpAck)).bytes, "");
  EXPECT_EQ(bytestream.send(segment(7, "ndBEHIND")).bytes, "");
  const Seen last = bytestream.send(segment(1, "text"));
  EXPECT_EQ(last.bytes, "text-end");
  EXPECT_TRUE(last.view.ends);
  EXPECT_EQ(bytestream.state()["behind_end"], 1);
  EXPECT_EQ(bytestream.send(segment(5, "-end", kTcpFin | kTcpAck)).bytes, "") << "a copy";
  const Seen behind = bytestream.send(segment(9, "more"));
  EXPECT_EQ(behind.bytes, "more") << "what somebody takes all the same is not unseen";
  EXPECT_NE(behind.view.stream, last.view.stream);
}

TEST(Bytestream, TakesARstOnlyWhereTheReceiverDoes) {
  Reassembly bytestream;
  bytestream.send_all({syn(0), segment(1, "abc")});
  EXPECT_FALSE(bytestream.send(segment(90, "", kTcpRst)).view.ends);
  EXPECT_EQ(bytestream.send(segment(4, "def")).bytes, "def");
  EXPECT_TRUE(bytestream.send(segment(7, "", kTcpRst)).view.ends);
}

TEST(Bytestream, BeginsTheNextConnectionOfTheSamePorts) {
  Reassembly bytestream;
  bytestream.send_all({syn(0), segment(1, "abc", kTcpFin | kTcpAck)});
  bytestream.send(syn(70000));
  EXPECT_EQ(bytestream.send(segment(70001, "next")).bytes, "next");
  EXPECT_EQ(bytestream.state()["streams_begun"], 2);
  EXPECT_EQ(bytestream.state()["picked_up"], 0);
}

TEST(Bytestream, ASynIntoAnOpenConnectionChangesNothingUntilBytesFollowIt) {
  Reassembly bytestream;
  bytestream.send_all({syn(0), segment(1, "abc")});
  bytestream.send_all({syn(0), syn(3), syn(2'000'000'000)});
  EXPECT_EQ(bytestream.send(segment(4, "def")).bytes, "def") << "the connection goes on";
  EXPECT_EQ(bytestream.send(segment(2'000'000'001, "new")).bytes, "new") << "it has begun anew";
  EXPECT_EQ(bytestream.send(segment(2'000'000'004, "er")).bytes, "er");
}

TEST(Bytestream, ASynMayCarryBytes) {
  Reassembly bytestream;
  EXPECT_EQ(bytestream.send(segment(10, "fast", kTcpSyn)).bytes, "fast");
  EXPECT_EQ(bytestream.send(segment(15, " open")).bytes, " open");
}

TEST(Bytestream, GivesAHoleUpWhenItHasWaitedLongEnough) {
  Reassembly bytestream(json({{"hole_timeout_ms", 1000}}));
  bytestream.send_all({syn(0), segment(1, "abc"), segment(10, "xyz")});
  EXPECT_EQ(bytestream.send(segment(13, "uvw"), kSecond + kSecond / 2).bytes, "");
  const Seen seen = bytestream.send(segment(16, "!"), 3 * kSecond);
  EXPECT_EQ(seen.bytes, "xyzuvw!");
  EXPECT_TRUE(seen.view.gap);
  EXPECT_EQ(seen.view.sequence, 10u);
  EXPECT_EQ(bytestream.send(segment(4, "late")).bytes, "") << "what comes now is behind";
  EXPECT_EQ(bytestream.state()["gaps"], 1);
  EXPECT_EQ(bytestream.state()["gap_bytes"], 6);
}

TEST(Bytestream, FindsAgainAStreamThatIsFarAhead) {
  Reassembly bytestream(json({{"hole_timeout_ms", 1000}}));
  bytestream.send_all({syn(0), segment(1, "abc")});
  EXPECT_EQ(bytestream.send(segment(900'000'000, "far")).bytes, "");
  EXPECT_EQ(bytestream.send(segment(4, "near")).bytes, "near") << "somebody else sent that";
  bytestream.send(segment(900'000'000, "far"));
  const Seen seen = bytestream.send(segment(900'000'003, "ther"), 3 * kSecond);
  EXPECT_EQ(seen.bytes, "ther");
  EXPECT_TRUE(seen.view.gap);
  EXPECT_EQ(bytestream.state()["out_of_window"], 2);
  EXPECT_EQ(bytestream.state()["gap_bytes"], 0) << "how many there were is unknown";
}

TEST(Bytestream, CountsAFinThatIsOutOfTheWindow) {
  Reassembly bytestream;
  bytestream.send_all({syn(0), segment(1, "abc")});
  EXPECT_FALSE(bytestream.send(segment(900'000'000, "", kTcpFin | kTcpAck)).view.ends);
  EXPECT_EQ(bytestream.state()["out_of_window"], 1);
  bytestream.send(segment(900'000'000, "d", kTcpFin | kTcpAck));
  EXPECT_EQ(bytestream.state()["out_of_window"], 2) << "a packet counts once";
  EXPECT_TRUE(bytestream.send(segment(4, "d", kTcpFin | kTcpAck)).view.ends);
  EXPECT_EQ(bytestream.state()["out_of_window"], 2);
}

TEST(Bytestream, AStreamHoldsNoMoreThanItsShare) {
  Reassembly bytestream(json({{"max_stream_bytes", 4096}}));
  bytestream.send_all({syn(0), segment(1, "a")});
  // Every second byte alone takes the most room.
  Seen seen;
  uint32_t at = 3;
  for (; seen.bytes.empty(); at += 2) seen = bytestream.send(segment(at, "b"));
  EXPECT_EQ(at, 3u + 2 * 10) << "nine blocks";
  EXPECT_TRUE(seen.view.gap);
  EXPECT_EQ(bytestream.state()["gaps_by_room"], 1);
}

TEST(Bytestream, MemoryIsBoundedWhateverIsSent) {
  constexpr uint64_t kMaxBytes = 20'000;
  Reassembly bytestream(json({{"max_bytes", kMaxBytes}, {"max_streams", 500}, {"max_stream_bytes", 20'000}}));
  Rng rng(8);
  uint64_t seen_bytes = 0;
  for (int i = 0; i < 20'000; ++i) {
    FrameSpec spec{.ip_version = static_cast<uint8_t>(rng() % 2 == 0 ? 4 : 6),
                   .src = static_cast<uint32_t>(rng() % 1000)};
    const uint8_t flags = rng() % 20 == 0 ? kTcpSyn : rng() % 50 == 0 ? kTcpFin : rng() % 50 == 0 ? kTcpRst : kTcpAck;
    const auto sequence = static_cast<uint32_t>(rng() % 3 == 0 ? rng() : rng() % 30'000);
    seen_bytes += bytestream
                      .send(segment(sequence, std::string(rng() % 700, 'x'), flags, spec),
                            kSecond + static_cast<uint64_t>(i) * 1'000'000)
                      .bytes.size();
    if (i % 1000 != 0) continue;
    const json state = bytestream.state();
    ASSERT_LE(state["held_memory_bytes"].get<uint64_t>(), kMaxBytes * sizeof(HeldBytes::Block) / 500 + 512);
    ASSERT_LE(state["streams"], 500);
  }
  const json state = bytestream.state();
  EXPECT_GT(state["streams_evicted"], 0);
  EXPECT_GT(state["gaps_by_room"], 0);
  EXPECT_GT(state["dropped_held_bytes"], 0);
  EXPECT_GT(seen_bytes, 0u);
}

TEST(Bytestream, SynsDisplaceNoStreamThatHasBytes) {
  Reassembly bytestream(json({{"max_streams", 100}}));
  bytestream.send_all({syn(0), segment(1, "abc")});
  for (uint32_t i = 0; i < 1000; ++i) bytestream.send(syn(i, {.src = 0x0b000000 + i}));
  EXPECT_EQ(bytestream.send(segment(4, "def")).bytes, "def");
  EXPECT_EQ(bytestream.state()["picked_up"], 0);
}

TEST(Bytestream, AnotherConfigurationKeepsStreams) {
  Reassembly bytestream;
  bytestream.send_all({syn(0), segment(1, "abc"), segment(9, "held")});
  bytestream.core().configure({{"max_streams", 10}, {"max_bytes", 1'000'000}});
  EXPECT_EQ(bytestream.state()["held_bytes"], 0);
  EXPECT_EQ(bytestream.state()["dropped_held_bytes"], 4);
  EXPECT_EQ(bytestream.send(segment(4, "def")).bytes, "def");
  EXPECT_EQ(error_pointer([&] { bytestream.core().configure({{"max_bytes", 1}}); }), "/max_bytes");
}

TEST(StreamLog, TellsAReaderThatIsTooLate) {
  StreamLog log(64);
  const std::vector<uint8_t> first{1, 2, 3}, rest(58, 9);
  const uint64_t at = log.append(first);
  std::vector<uint8_t> out(3);
  EXPECT_TRUE(log.read(at, out));
  EXPECT_EQ(out, first);
  log.append(std::span(rest).first(56));
  EXPECT_TRUE(log.read(at, out));
  EXPECT_EQ(out, first);
  log.append(first);
  EXPECT_FALSE(log.read(at, out));
}

}  // namespace
}  // namespace orrery::bytestream
