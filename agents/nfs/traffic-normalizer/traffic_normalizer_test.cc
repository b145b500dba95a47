// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "nfs/testing/nf_driver.h"
#include "nfs/testing/tcp_frames.h"
#include "support/checksum.h"

namespace orrery::traffic_normalizer {
namespace {

using namespace orrery::testing;
using nlohmann::json;

constexpr uint64_t kSecond = 1'000'000'000;

FrameSpec tcp(uint8_t version) {
  FrameSpec spec;
  spec.ip_version = version;
  return spec;
}

std::unique_ptr<NfCore> normalizer(const json& config = json::object()) {
  return make_nf("traffic-normalizer", config);
}

uint8_t* ip_of(Frame& frame) {
  return &frame[parse_packet(frame).l3_offset];
}
uint8_t* l4_of(Frame& frame) {
  return &frame[parse_packet(frame).l4_offset];
}

// After a change to headers, by full computation.
void fix_checksums(Frame& frame) {
  const ParsedPacket p = parse_packet(frame);
  uint8_t* ip = &frame[p.l3_offset];
  if (p.ip_version == 4) {
    store_be16(ip + 10, 0);
    store_be16(ip + 10, checksum({ip, static_cast<size_t>(p.l4_offset - p.l3_offset)}));
  }
  if (p.kind != PacketKind::kIpTransport || p.fragment || p.ip_proto != kTcp) return;
  uint8_t* l4 = &frame[p.l4_offset];
  const auto length = static_cast<uint16_t>(p.payload_offset - p.l4_offset + p.payload_length);
  store_be16(l4 + 16, 0);
  uint64_t sum = checksum_sum({l4, length});
  sum += p.ip_version == 4 ? pseudo_header_sum(p.ip_src, p.ip_dst, kTcp, length)
                           : pseudo_header_sum(std::span<const uint8_t, 32>(ip + 8, 32), kTcp, length);
  store_be16(l4 + 16, static_cast<uint16_t>(~checksum_fold(sum)));
}

Frame changed(const FrameSpec& spec, const std::function<void(Frame&)>& change) {
  Frame frame = build_frame(spec);
  change(frame);
  fix_checksums(frame);
  return frame;
}

TEST(TrafficNormalizer, LeavesOrdinaryPacketsAlone) {
  Rng rng(1);
  const auto nf = normalizer({{"ip_options", "drop"}, {"reserved_bits", "drop"}, {"urgent_pointer", "drop"}});
  for (int i = 0; i < 5000; ++i) {
    FrameSpec spec = rng() % 2 == 0 ? random_spec(rng) : random_ipv6_spec(rng);
    if (spec.ip_version == 6) spec.udp_checksum = true;
    const Frame frame = build_frame(spec);
    const Outcome out = run_one(*nf, frame, rng() % 2 == 0 ? Direction::kForward : Direction::kReturn);
    ASSERT_EQ(out.reason, "") << "options of nothing but padding are none";
    ASSERT_EQ(out.frame, frame);
  }
}

// What is wrong with a frame, found by hand, and what it is when that is mended.
struct Defect {
  const char* field;   // of the configuration
  const char* reason;  // of the drop
  const char* mends;   // the action that mends; empty: none does
  std::function<bool(const FrameSpec&)> fits;
  std::function<void(Frame&)> apply;
  std::function<void(Frame&)> mended;
  bool breaks_checksum = false;
};

const auto kAny = [](const FrameSpec&) { return true; };
const auto kIsTcp = [](const FrameSpec& s) { return s.proto == kTcp; };
const auto kNothing = [](Frame&) {};

std::vector<Defect> defects() {
  return {
      {"header_checksum", "bad_checksum", "", [](const FrameSpec& s) { return s.ip_version == 4; },
       [](Frame& f) { ip_of(f)[10] ^= 0x40; }, kNothing, true},
      {"transport_checksum", "bad_checksum", "", [](const FrameSpec& s) { return s.proto != kUdp || s.udp_checksum; },
       [](Frame& f) {
         l4_of(f)[parse_packet(f).ip_proto == kTcp ? 16 : parse_packet(f).ip_proto == kUdp ? 6 : 2] ^= 1;
       },
       kNothing, true},
      {"tcp_flags", "bad_flags", "", kIsTcp, [](Frame& f) { l4_of(f)[13] = kTcpSyn | kTcpFin; }, kNothing},
      {"tcp_flags", "bad_flags", "", kIsTcp, [](Frame& f) { l4_of(f)[13] = 0; }, kNothing},
      {"tcp_flags", "bad_flags", "", kIsTcp, [](Frame& f) { l4_of(f)[13] = kTcpFin | kTcpPsh; }, kNothing},
      {"tcp_flags", "bad_flags", "", kIsTcp, [](Frame& f) { l4_of(f)[13] = kTcpRst | kTcpFin | kTcpAck; }, kNothing},
      {"reserved_bits", "forbidden_bits", "clear", [](const FrameSpec& s) { return s.ip_version == 4; },
       [](Frame& f) { ip_of(f)[6] |= 0x80; }, [](Frame& f) { ip_of(f)[6] &= 0x7f; }},
      {"reserved_bits", "forbidden_bits", "clear", kIsTcp, [](Frame& f) { l4_of(f)[12] |= 0x0f; },
       [](Frame& f) { l4_of(f)[12] &= 0xf1; }},
      {"urgent_pointer", "forbidden_bits", "clear", kIsTcp,
       [](Frame& f) {
         l4_of(f)[13] |= kTcpUrg;
         store_be16(l4_of(f) + 18, 0x1234);
       },
       [](Frame& f) {
         l4_of(f)[13] &= static_cast<uint8_t>(~kTcpUrg);
         store_be16(l4_of(f) + 18, 0);
       }},
      {"urgent_pointer", "forbidden_bits", "clear", kIsTcp, [](Frame& f) { store_be16(l4_of(f) + 18, 1); },
       [](Frame& f) { store_be16(l4_of(f) + 18, 0); }},
      {"low_ttl", "low_ttl", "raise", kAny, [](Frame& f) { ip_of(f)[ip_of(f)[0] >> 4 == 4 ? 8 : 7] = 3; },
       [](Frame& f) { ip_of(f)[ip_of(f)[0] >> 4 == 4 ? 8 : 7] = 9; }},
      {"ip_options", "ip_options", "clear",
       [](const FrameSpec& s) { return s.ip_version == 4 && s.ip_option_words >= 2; },
       [](Frame& f) {
         ip_of(f)[20] = 131;  // loose source route
         ip_of(f)[21] = 7;
       },
       [](Frame& f) { ip_of(f)[20] = ip_of(f)[21] = 1; }},
      {"ip_options", "ip_options", "clear",
       [](const FrameSpec& s) { return !s.extensions.empty() && s.extensions[0].type == kHopByHop; },
       [](Frame& f) { ip_of(f)[42] = 5; }, [](Frame& f) { ip_of(f)[42] = 1; }},
  };
}

TEST(TrafficNormalizer, DoesWithEachDefectWhatItIsToldTo) {
  Rng rng(2);
  const std::vector<Defect> all = defects();
  std::map<std::string, int> tried;
  for (int i = 0; i < 30'000; ++i) {
    FrameSpec spec = rng() % 2 == 0 ? random_spec(rng) : random_ipv6_spec(rng);
    if (spec.ip_version == 6) spec.udp_checksum = true;
    const Defect& defect = all[rng() % all.size()];
    if (!defect.fits(spec)) continue;
    Frame frame = build_frame(spec);
    defect.apply(frame);
    if (!defect.breaks_checksum) fix_checksums(frame);
    std::vector<std::string> actions = {"count", "drop", "absent"};
    if (*defect.mends != '\0') actions.emplace_back(defect.mends);
    const std::string& action = actions[rng() % actions.size()];
    json config = {{"min_ttl", 9}};
    if (action != "absent") config[defect.field] = action;
    const auto nf = normalizer(config);
    const Outcome out = run_one(*nf, frame);
    const bool mends = action == defect.mends || (action == "absent" && *defect.mends != '\0');
    const bool drops = action == "drop" || (action == "absent" && !mends);
    const std::string what = std::string(defect.field) + " " + action;
    ++tried[what];
    ASSERT_EQ(out.reason, drops ? defect.reason : "") << what;
    Frame expected = frame;
    if (mends) {
      defect.mended(expected);
      fix_checksums(expected);
    }
    ASSERT_EQ(out.frame, expected) << what;
    const json state = nf->state(1);
    ASSERT_EQ(state["found"][defect.field], 1) << what;
    ASSERT_EQ(state["mended"][defect.field], mends ? 1 : 0) << what;
    uint64_t found = 0;
    for (const auto& [name, count] : state["found"].items()) found += count.get<uint64_t>();
    ASSERT_EQ(found, 1u) << what << ": " << state["found"];
  }
  for (const auto& [what, count] : tried) EXPECT_GT(count, 20) << what;
}

TEST(TrafficNormalizer, ADropOfOneFindingLeavesThePacketUnmended) {
  const auto nf = normalizer();
  const Frame frame = changed(tcp(4), [](Frame& f) {
    ip_of(f)[6] |= 0x80;
    l4_of(f)[13] = 0;
  });
  const Outcome out = run_one(*nf, frame);
  EXPECT_EQ(out.reason, "bad_flags");
  EXPECT_EQ(out.frame, frame);
  EXPECT_EQ(nf->state(1)["mended"]["reserved_bits"], 0);
}

TEST(TrafficNormalizer, FlagsThatTcpSendsPass) {
  const auto nf = normalizer({{"urgent_pointer", "count"}});
  for (unsigned flags = 0; flags < 256; ++flags) {
    const bool syn = (flags & 2) != 0, fin = (flags & 1) != 0, rst = (flags & 4) != 0, ack = (flags & 16) != 0;
    const bool good = (syn && !fin && !rst) || (rst && !syn && !fin) || (ack && !syn && !rst);
    const Frame frame =
        changed(tcp(flags % 2 == 0 ? 4 : 6), [&](Frame& f) { l4_of(f)[13] = static_cast<uint8_t>(flags); });
    EXPECT_EQ(run_one(*nf, frame).reason, good ? "" : "bad_flags") << flags;
  }
}

TEST(TrafficNormalizer, UdpWithoutAChecksumIsFineOverIpv4Only) {
  const auto nf = normalizer();
  FrameSpec spec = tcp(4);
  spec.proto = kUdp;
  spec.udp_checksum = false;
  EXPECT_EQ(run_one(*nf, build_frame(spec)).reason, "");
  spec.ip_version = 6;
  EXPECT_EQ(run_one(*nf, build_frame(spec)).reason, "bad_checksum") << "RFC 8200 8.1";
}

TEST(TrafficNormalizer, ARoutingHeaderOfType0IsDroppedOrCounted) {
  FrameSpec spec = tcp(6);
  spec.extensions = {{kRouting, 3}};
  const Frame frame = changed(spec, [](Frame& f) {
    ip_of(f)[42] = 0;
    ip_of(f)[43] = 1;
  });
  EXPECT_EQ(run_one(*normalizer(), frame).reason, "ip_options");
  EXPECT_EQ(run_one(*normalizer({{"ip_options", "count"}}), frame).reason, "");
  EXPECT_EQ(run_one(*normalizer(), build_frame(spec)).reason, "") << "type 4, and no segments left";
}

// Its checksum is over the last destination, to which the header leads (RFC 8200 8.1).
TEST(TrafficNormalizer, AChecksumOnItsWayThroughARoutingHeaderIsNotJudged) {
  FrameSpec spec = tcp(6);
  spec.extensions = {{kRouting, 3}};
  const auto with_segments_left = [&](uint8_t segments) {
    Frame frame = build_frame(spec);
    ip_of(frame)[43] = segments;
    frame[parse_packet(frame).l3_offset + 39u] ^= 0x55;
    return run_one(*normalizer(), frame).reason;
  };
  EXPECT_EQ(with_segments_left(1), "");
  EXPECT_EQ(with_segments_left(0), "bad_checksum");
}

FrameSpec fragment(uint8_t version, uint16_t offset, size_t bytes, bool more, uint8_t proto = kUdp) {
  FrameSpec spec = tcp(version);
  spec.proto = proto;
  spec.fragment_offset = offset;
  spec.more_fragments = more;
  const size_t header = offset != 0 ? 0 : proto == kTcp ? 20 : 8;
  spec.payload.assign(bytes - header, 'x');
  return spec;
}

TEST(TrafficNormalizer, TinyFragmentsAreDropped) {
  for (const uint8_t version : {4, 6}) {
    const auto nf = normalizer(), lenient = normalizer({{"tiny_fragments", "count"}});
    const Frame second = build_frame(fragment(version, 1, 32, true, kTcp));
    EXPECT_EQ(run_one(*nf, second).reason, "bad_fragment") << "RFC 1858";
    EXPECT_EQ(run_one(*lenient, second).reason, "");
    EXPECT_EQ(run_one(*nf, build_frame(fragment(version, 2, 32, true, kTcp))).reason, "");
    FrameSpec udp = fragment(version, 1, 32, true, kUdp);
    udp.src += 1;
    EXPECT_EQ(run_one(*nf, build_frame(udp)).reason, "");
    FrameSpec tiny = fragment(version, 0, 24, true, kTcp);
    Frame frame = build_frame(tiny);
    frame.resize(frame.size() - 8);
    uint8_t* ip = &frame[14];
    const size_t length = version == 4 ? 2 : 4;
    store_be16(ip + length, static_cast<uint16_t>(load_be16(ip + length) - 8));
    EXPECT_EQ(run_one(*nf, frame).reason, "bad_fragment");
    EXPECT_EQ(run_one(*lenient, frame).reason, "");
  }
  EXPECT_EQ(run_one(*normalizer(), Frame(5)).reason, "malformed");
}

TEST(TrafficNormalizer, DfIsClearedInFragments) {
  Frame frame = build_frame(fragment(4, 0, 64, true));
  frame[14 + 6] |= 0x40;
  fix_checksums(frame);
  Frame expected = frame;
  expected[14 + 6] &= 0xbf;
  fix_checksums(expected);
  EXPECT_EQ(run_one(*normalizer(), frame).frame, expected);
  EXPECT_EQ(run_one(*normalizer({{"df_fragments", "drop"}}), frame).reason, "forbidden_bits");
  EXPECT_EQ(run_one(*normalizer({{"df_fragments", "count"}}), frame).frame, frame);
  const Frame whole = changed(tcp(4), [](Frame& f) { f[14 + 6] |= 0x40; });
  EXPECT_EQ(run_one(*normalizer({{"df_fragments", "drop"}}), whole).reason, "");
}

TEST(TrafficNormalizer, OfOverlapsTheFirstStaysAndOverIpv6NothingBehindThem) {
  for (const uint8_t version : {4, 6}) {
    const auto nf = normalizer();
    const auto send = [&](uint16_t offset, size_t bytes, bool more) {
      return run_one(*nf, build_frame(fragment(version, offset, bytes, more))).reason;
    };
    EXPECT_EQ(send(0, 64, true), "");
    EXPECT_EQ(send(0, 64, true), "bad_fragment") << "a duplicate";
    EXPECT_EQ(send(16, 64, true), "") << "which spoils nothing";
    EXPECT_EQ(send(7, 24, true), "bad_fragment") << "teardrop";
    EXPECT_EQ(send(8, 64, true), version == 4 ? "" : "bad_fragment") << "RFC 5722";
    EXPECT_EQ(send(24, 5, false), version == 4 ? "" : "bad_fragment");
    EXPECT_EQ(nf->state(1)["complete_datagrams"], version == 4 ? 1 : 0);
    EXPECT_EQ(nf->state(1)["datagrams"], version == 4 ? 0 : 1);
    EXPECT_EQ(nf->state(1)["duplicate_fragments"], 1);
  }
}

// Whatever passes puts together to one datagram only, in whatever order a receiver puts it together.
TEST(TrafficNormalizer, WhatPassesOfRandomFragmentsHasOneReading) {
  Rng rng(3);
  size_t dropped = 0, passed = 0;
  for (const uint8_t version : {4, 6}) {
    const auto nf = normalizer();
    using Bytes = std::map<size_t, char>;
    std::map<uint32_t, Bytes> seen;  // by source
    std::map<uint32_t, std::set<size_t>> ends;
    for (int i = 0; i < 20'000; ++i) {
      const bool more = rng() % 8 != 0;
      FrameSpec spec =
          fragment(version, static_cast<uint16_t>((more ? 0 : 1) + rng() % 40), 8 + 8 * (rng() % 12), more);
      spec.src = static_cast<uint32_t>(0x0a000000 + i / 20 % 1000);
      for (char& c : spec.payload) c = static_cast<char>('a' + rng() % 26);
      if (!spec.more_fragments) spec.payload += std::string(rng() % 8, 'z');
      const Frame frame = build_frame(spec);
      const Outcome out = run_one(*nf, frame);
      ++(out.verdict.drop ? dropped : passed);
      if (out.verdict.drop) continue;
      const ParsedPacket p = parse_packet(frame);
      Bytes& bytes = seen[spec.src];
      size_t at = size_t{spec.fragment_offset} * 8;
      for (size_t n = p.l4_offset; n < frame.size(); ++n, ++at) {
        ASSERT_TRUE(bytes.emplace(at, static_cast<char>(frame[n])).second) << "byte " << at << " a second time";
      }
      if (!spec.more_fragments) ends[spec.src].insert(at);
      ASSERT_LE(ends[spec.src].size(), 1u) << "two ends";
      ASSERT_TRUE(ends[spec.src].empty() || bytes.rbegin()->first < *ends[spec.src].begin());
      if (!ends[spec.src].empty() && bytes.size() == *ends[spec.src].begin()) {
        bytes.clear();  // complete: the next one begins
        ends[spec.src].clear();
      }
    }
  }
  EXPECT_GT(dropped, 5000u);
  EXPECT_GT(passed, 5000u);
}

// Hosts of two VLANs may have the same addresses.
TEST(TrafficNormalizer, FragmentsOfDifferentVlansAreOfDifferentDatagrams) {
  for (const uint8_t version : {4, 6}) {
    const auto nf = normalizer();
    const auto send = [&](int tags, uint16_t outer, uint16_t inner = 0) {
      FrameSpec spec = fragment(version, 0, 64, true);
      spec.vlan = tags > 0;
      spec.service_vlan = tags > 1;
      Frame frame = build_frame(spec);
      if (tags > 0) store_be16(&frame[14], outer);
      if (tags > 1) store_be16(&frame[18], inner);
      return run_one(*nf, frame).reason;
    };
    EXPECT_EQ(send(0, 0), "");
    EXPECT_EQ(send(1, 5), "");
    EXPECT_EQ(send(1, 6), "");
    EXPECT_EQ(send(2, 5, 6), "");
    EXPECT_EQ(send(2, 5, 7), "");
    EXPECT_EQ(send(2, 6, 5), "");
    EXPECT_EQ(send(1, 5), "bad_fragment") << "a copy";
    EXPECT_EQ(send(1, 0xe005), "bad_fragment") << "the priority is not of the VLAN";
    EXPECT_EQ(send(2, 5, 7), "bad_fragment");
    EXPECT_EQ(send(0, 0), "bad_fragment");
    EXPECT_EQ(nf->state(1)["datagrams"], 6);
  }
}

TEST(TrafficNormalizer, DatagramsAreToldApartAndForgotten) {
  for (const uint8_t version : {4, 6}) {
    const auto nf = normalizer({{"max_datagrams", 2}, {"fragment_timeout_s", 10}});
    const uint64_t now = monotonic_ns();
    const auto send = [&](const FrameSpec& spec, uint64_t at, uint8_t id = 0) {
      Frame frame = build_frame(spec);
      const ParsedPacket p = parse_packet(frame);
      (version == 4 ? frame[p.l3_offset + 5u] : frame[p.fragment_header_offset + 7u]) ^= id;
      fix_checksums(frame);
      return run_one(*nf, frame, Direction::kForward, at).reason;
    };
    const FrameSpec first = fragment(version, 0, 64, true);
    FrameSpec other = first;
    other.src += 1;
    EXPECT_EQ(send(first, now), "");
    EXPECT_EQ(send(first, now, 1), "") << "another identification";
    EXPECT_EQ(send(other, now), "fragments_full");
    EXPECT_EQ(nf->state(1)["dropped"]["fragments_full"], 1);
    EXPECT_EQ(send(first, now + 9 * kSecond), "bad_fragment");
    EXPECT_EQ(send(first, now + 11 * kSecond, 1), "") << "forgotten";
    EXPECT_EQ(send(other, now + 20 * kSecond), "");
    FrameSpec icmp = fragment(version, 1, 64, true, version == 4 ? kIcmp : kIcmpv6);
    const auto fresh = normalizer();
    run_one(*fresh, build_frame(fragment(version, 0, 64, true)));
    EXPECT_EQ(run_one(*fresh, build_frame(icmp)).reason, version == 4 ? "" : "bad_fragment")
        << "the protocol tells datagrams of IPv4 apart only";
  }
}

TEST(TrafficNormalizer, FragmentsAreNotFollowedWhereTheyAreIgnored) {
  const auto nf = normalizer({{"overlapping_fragments", "ignore"}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run_one(*nf, build_frame(fragment(4, 0, 64, true))).reason, "");
  EXPECT_EQ(nf->state(1)["datagrams"], 0);
  const auto counting = normalizer({{"overlapping_fragments", "count"}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run_one(*counting, build_frame(fragment(6, 0, 64, true))).reason, "");
  EXPECT_EQ(counting->state(1)["found"]["overlapping_fragments"], 2);
}

TEST(TrafficNormalizer, SurvivesWhatIsWrongWithIpv6) {
  Rng rng(4);
  const std::vector<Frame> corpus = malformed_ipv6_corpus(rng);
  for (const json& config : {json::object(), json({{"min_ttl", 255},
                                                   {"header_checksum", "count"},
                                                   {"transport_checksum", "count"},
                                                   {"tcp_flags", "count"},
                                                   {"tiny_fragments", "count"},
                                                   {"overlapping_fragments", "count"}})}) {
    const auto nf = normalizer(config);
    const auto outcomes = run(*nf, corpus);
    for (size_t i = 0; i < corpus.size(); ++i) {
      ASSERT_NE(outcomes[i].reason, "?");
      const ParsedPacket p = parse_packet(corpus[i]);
      if (outcomes[i].verdict.drop || p.kind == PacketKind::kMalformed) {
        ASSERT_EQ(outcomes[i].frame, corpus[i]);
      } else {
        ASSERT_EQ(parse_packet(outcomes[i].frame).kind, p.kind);
      }
    }
  }
}

TEST(TrafficNormalizer, NewSettingsActOnFragmentsUnderWay) {
  const auto nf = normalizer();
  const Frame frame = build_frame(fragment(4, 0, 64, true));
  EXPECT_EQ(run_one(*nf, frame).reason, "");
  nf->configure({{"max_datagrams", 5}});
  EXPECT_EQ(run_one(*nf, frame).reason, "bad_fragment");
  nf->configure({{"overlapping_fragments", "count"}});
  EXPECT_EQ(run_one(*nf, frame).reason, "");
}

}  // namespace
}  // namespace orrery::traffic_normalizer
