// SPDX-License-Identifier: Apache-2.0
// What branches changed at the same time must come out as if one had changed it after the other.
#include "modules/merge/merge_changes.h"

#include <gtest/gtest.h>

#include "support/checksum.h"
#include "support/packet.h"
#include "support/testing/frames.h"
#include "test_modules.h"

namespace orrery {
namespace {

using testing::Frame;
using testing::Rng;

constexpr const char* kFields[] = {"ttl", "tos", "dst", "dst_port", "payload"};

Frame written(Frame frame, const char* field) {
  testing::write_field(frame, field);
  return frame;
}

bool merge_frames(Frame& merged, const Frame& original, const std::vector<Frame>& others,
                  ResizedAt at = ResizedAt::kNone) {
  const std::vector<std::span<const uint8_t>> spans(others.begin(), others.end());
  return merge_changes(merged, original, spans, at);
}

// Whole and malformed frames, some with wrong checksums.
std::vector<Frame> frames_of_all_kinds(Rng& rng) {
  std::vector<Frame> out = testing::malformed_corpus(rng);
  for (int i = 0; i < 3000; ++i) {
    testing::FrameSpec spec = rng() % 3 == 0 ? testing::random_ipv6_spec(rng) : testing::random_spec(rng);
    if (rng() % 8 == 0) spec.more_fragments = true;
    if (rng() % 8 == 0) spec.fragment_offset = 3;
    Frame frame = testing::build_frame(spec);
    const ParsedPacket p = parse_packet(frame);
    // Checksums at the ends of their range, right or not.
    if (p.kind == PacketKind::kIpTransport && rng() % 4 == 0)
      store_be16(&frame[p.l4_offset + (p.ip_proto == testing::kTcp   ? 16u
                                       : p.ip_proto == testing::kUdp ? 6u
                                                                     : 2u)],
                 static_cast<uint16_t>(rng() % 3 - 1));
    if (p.ip_version == 4 && p.l4_offset != 0 && rng() % 8 == 0)
      store_be16(&frame[p.l3_offset + 10u], static_cast<uint16_t>(rng() % 3 - 1));
    out.push_back(std::move(frame));
  }
  return out;
}

TEST(MergeChangesTest, WritersOfDifferentFieldsGiveWhatOneAfterTheOtherGives) {
  Rng rng(1);
  for (const Frame& original : frames_of_all_kinds(rng)) {
    std::vector<const char*> fields(std::begin(kFields), std::end(kFields));
    std::shuffle(fields.begin(), fields.end(), rng);
    fields.resize(2 + rng() % 4);
    Frame expected = original;
    std::vector<Frame> copies;
    for (const char* field : fields) {
      testing::write_field(expected, field);
      copies.push_back(written(original, field));
    }
    Frame merged = copies.back();
    copies.pop_back();
    ASSERT_TRUE(merge_frames(merged, original, copies));
    ASSERT_EQ(merged, expected);
  }
}

TEST(MergeChangesTest, AddressesOfTheFrameAreThoseOfOneCopy) {
  const Frame original = testing::build_frame({});
  Frame merged = written(original, "ttl"), other = written(original, "dst");
  for (size_t i = 0; i < 12; ++i) other[i] = static_cast<uint8_t>(i);
  Frame expected = written(merged, "dst");
  ASSERT_TRUE(merge_frames(merged, original, {other}));
  EXPECT_EQ(merged, expected);
}

TEST(MergeChangesTest, AUdpChecksumThatOneTookAwayStaysAway) {
  const Frame original = testing::build_frame({.proto = testing::kUdp});
  Frame merged = original;
  store_be16(&merged[14 + 20 + 6], 0);
  const Frame other = written(original, "dst_port");
  ASSERT_TRUE(merge_frames(merged, original, {other}));
  EXPECT_EQ(load_be16(&merged[14 + 20 + 6]), 0);
  EXPECT_EQ(load_be16(&merged[14 + 20 + 2]), load_be16(&other[14 + 20 + 2]));
}

struct Resize {
  const char* name;
  ResizedAt at;
  int bytes;
};

class MergeResized : public ::testing::TestWithParam<Resize> {};

TEST_P(MergeResized, BytesThatOneInsertsOrRemovesAreAligned) {
  const Resize& resize = GetParam();
  Rng rng(2);
  size_t resized = 0;
  for (int i = 0; i < 2000; ++i) {
    testing::FrameSpec spec = testing::random_spec(rng);
    spec.service_vlan = false;
    spec.vlan = resize.at == ResizedAt::kL3 ? resize.bytes < 0 : rng() % 4 == 0;
    if (resize.at == ResizedAt::kL4) spec.ip_option_words = resize.bytes < 0 ? 3 : static_cast<uint8_t>(rng() % 3);
    spec.payload += "some more bytes";
    const Frame original = testing::build_frame(spec);
    Frame merged = original;
    testing::resize_frame(merged, resize.name, resize.bytes);
    resized += merged.size() != original.size();
    std::vector<Frame> others;
    Frame expected = merged;
    for (const char* field : kFields) {
      // What is behind the end is not the last byte of the payload.
      if (rng() % 2 == 0 || (resize.at == ResizedAt::kEnd && std::string_view(field) == "payload")) continue;
      others.push_back(written(original, field));
      testing::write_field(expected, field);
    }
    ASSERT_TRUE(merge_frames(merged, original, others, resize.at));
    ASSERT_EQ(merged, expected) << "packet " << i;
    ASSERT_TRUE(testing::checksums_hold(merged));
  }
  EXPECT_GT(resized, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Places, MergeResized,
                         ::testing::Values(Resize{"l3", ResizedAt::kL3, 4}, Resize{"l3", ResizedAt::kL3, -4},
                                           Resize{"l4", ResizedAt::kL4, 8}, Resize{"l4", ResizedAt::kL4, -4},
                                           Resize{"payload", ResizedAt::kPayload, 6},
                                           Resize{"payload", ResizedAt::kPayload, 7},
                                           Resize{"payload", ResizedAt::kPayload, -4},
                                           Resize{"payload", ResizedAt::kPayload, -3},
                                           Resize{"end", ResizedAt::kEnd, 8}, Resize{"end", ResizedAt::kEnd, 5},
                                           Resize{"end", ResizedAt::kEnd, -3}));

// As a branch with an unknown program may leave it: cut within the UDP checksum.
TEST(MergeChangesTest, ACutChecksumIsNotWrittenBehindTheEnd) {
  const Frame original = testing::build_frame({.proto = testing::kUdp});
  Frame room = original;
  const std::span<uint8_t> merged = std::span(room).first(14 + 20 + 7);
  merged.back() ^= 0xff;
  const uint8_t behind = room[merged.size()];
  const Frame other = written(original, "dst_port");
  const std::vector<std::span<const uint8_t>> others{other};
  ASSERT_TRUE(merge_changes(merged, original, others, ResizedAt::kEnd));
  EXPECT_EQ(room[merged.size()], behind);
}

TEST(MergeChangesTest, LengthsThatDoNotFitChangeNothing) {
  const Frame original = testing::build_frame({});
  Frame longer = original;
  longer.push_back(0);
  const auto refused = [&](Frame merged, const Frame& other, ResizedAt at) {
    const Frame before = merged;
    EXPECT_FALSE(merge_frames(merged, original, {other}, at));
    EXPECT_EQ(merged, before);
  };
  refused(longer, original, ResizedAt::kNone);
  refused(original, longer, ResizedAt::kEnd);
  // Nothing is known of the place in a frame that is not IPv4.
  const Frame arp = testing::arp_frame();
  Frame longer_arp = arp;
  longer_arp.push_back(0);
  EXPECT_FALSE(merge_frames(longer_arp, arp, {arp}, ResizedAt::kPayload));
  EXPECT_TRUE(merge_frames(longer_arp, arp, {arp}, ResizedAt::kEnd));
}

}  // namespace
}  // namespace orrery
