// SPDX-License-Identifier: Apache-2.0
#include "modules/merge/merge_changes.h"

#include <algorithm>
#include <optional>

#include "support/checksum.h"
#include "support/packet.h"

namespace orrery {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr size_t kMacs = 12;
constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;

// How offsets of the original correspond to those of the merged frame: the same before `at`; behind it
// `removed` bytes of the original are gone, or `inserted` are new.
struct Shift {
  size_t at;
  size_t inserted = 0;
  size_t removed = 0;

  bool odd() const { return (inserted + removed) % 2 != 0; }
  // Of a 16-bit word. Nothing when a byte of it is gone, or its bytes stand apart.
  std::optional<size_t> of_word(size_t offset) const {
    if (offset + 2 <= at) return offset;
    if (offset < at + removed || offset < at) return std::nullopt;
    return offset - removed + inserted;
  }
};

// Nothing when the frame has no such place.
std::optional<size_t> place_in(Bytes frame, ResizedAt place) {
  const ParsedPacket p = parse_packet(frame);
  if (place == ResizedAt::kEnd)
    return p.kind == PacketKind::kMalformed ? frame.size() : p.payload_offset + size_t{p.payload_length};
  if (p.kind == PacketKind::kMalformed) return std::nullopt;
  if (place == ResizedAt::kL3) return p.l3_offset;
  if (p.kind == PacketKind::kNonIp) return std::nullopt;
  return place == ResizedAt::kL4 ? p.l4_offset : p.payload_offset;
}

std::optional<Shift> shift_of(Bytes merged, Bytes original, ResizedAt place) {
  if (merged.size() == original.size()) return Shift{.at = original.size()};
  if (place == ResizedAt::kNone) return std::nullopt;
  const bool grown = merged.size() > original.size();
  const std::optional<size_t> at = place_in(grown ? original : merged, place);
  if (!at || *at < kMacs) return std::nullopt;
  if (grown) return Shift{.at = *at, .inserted = merged.size() - original.size()};
  return Shift{.at = *at, .removed = original.size() - merged.size()};
}

void xor_change(std::span<uint8_t> merged, Bytes original, Bytes other) {
  uint8_t* __restrict to = merged.data();
  const uint8_t* __restrict before = original.data();
  const uint8_t* __restrict after = other.data();
  const size_t bytes = original.size();
  for (size_t i = 0; i < bytes; ++i) to[i] ^= before[i] ^ after[i];
}

// A checksum of the original and what it covers of the frame, pseudo header aside.
struct ChecksumField {
  size_t at;
  size_t start, end;
  bool may_be_absent;  // UDP: 0 stands for no checksum (RFC 768)
};

// Sum over the bytes behind `from`, as they count for a checksum of which they are a part that begins at an even or odd
// offset.
uint16_t sum_behind(Bytes frame, size_t from, size_t end, bool odd) {
  const uint16_t sum = checksum_fold(checksum_sum(frame.subspan(from, end - from)));
  return odd ? static_cast<uint16_t>(sum << 8 | sum >> 8) : sum;
}

// What `after` changed, of bytes that now stand at an odd distance from where they stood in the 16-bit words.
void turn(ChecksumDelta& delta, Bytes before, Bytes after, const ChecksumField& field, size_t from) {
  const bool odd = (from - field.start) % 2 != 0;
  delta.change16(sum_behind(after, from, field.end, odd), sum_behind(before, from, field.end, odd));
  delta.change16(sum_behind(before, from, field.end, !odd), sum_behind(after, from, field.end, !odd));
}

// Nothing when xor gives the right one, because at most one copy has changed it.
std::optional<uint16_t> merged_checksum(uint16_t merged, Bytes original, std::span<const Bytes> others,
                                        const ChecksumField& field, const Shift& shift) {
  const uint16_t before = load_be16(&original[field.at]);
  const size_t moved = shift.at + shift.removed;
  const bool turned = shift.odd() && shift.at > field.start && moved < field.end;
  size_t changed = merged != before;
  bool absent = merged == 0;
  ChecksumDelta delta;
  for (const Bytes& other : others) {
    const uint16_t after = load_be16(&other[field.at]);
    if (after == before) continue;
    ++changed;
    absent |= after == 0;
    delta.change16(after, before);  // the checksum is the complement of the sum
    if (turned) turn(delta, original, other, field, moved);
  }
  if (changed < 2) return std::nullopt;
  if (field.may_be_absent && before == 0) return std::nullopt;
  if (field.may_be_absent && absent) return 0;
  const uint16_t sum = delta.apply(merged);
  return field.may_be_absent && sum == 0 ? UINT16_MAX : sum;
}

// The checksums of the headers; returns how many there are.
size_t checksums_of(Bytes frame, ChecksumField (&fields)[2]) {
  const ParsedPacket p = parse_packet(frame);
  size_t count = 0;
  // The IPv4 header of a malformed packet may be well-formed.
  if (p.ip_version == 4 && p.l4_offset != 0)
    fields[count++] = {.at = p.l3_offset + 10u, .start = p.l3_offset, .end = p.l4_offset, .may_be_absent = false};
  if (p.kind != PacketKind::kIpTransport) return count;
  const size_t at = p.ip_proto == kTcp ? 16 : p.ip_proto == kUdp ? 6 : 2;
  fields[count++] = {.at = p.l4_offset + at,
                     .start = p.l4_offset,
                     .end = p.payload_offset + size_t{p.payload_length},
                     .may_be_absent = p.ip_proto == kUdp};
  return count;
}

}  // namespace

bool merge_changes(std::span<uint8_t> merged, Bytes original, std::span<const Bytes> others, ResizedAt resized_at) {
  for (const Bytes& other : others)
    if (other.size() != original.size()) return false;
  const std::optional<Shift> shift = shift_of(merged, original, resized_at);
  if (!shift) return false;

  ChecksumField fields[2];
  std::optional<uint16_t> checksums[2];
  std::optional<size_t> at[2];
  const size_t count = checksums_of(original, fields);
  for (size_t i = 0; i < count; ++i) {
    at[i] = shift->of_word(fields[i].at);
    if (at[i]) checksums[i] = merged_checksum(load_be16(&merged[*at[i]]), original, others, fields[i], *shift);
  }
  const size_t head = std::min(shift->at, original.size());
  const size_t tail = std::min(shift->at + shift->removed, original.size());
  for (const Bytes& other : others) {
    if (head > kMacs) xor_change(merged.subspan(kMacs), original.subspan(kMacs, head - kMacs), other.subspan(kMacs));
    if (tail < original.size())
      xor_change(merged.subspan(shift->at + shift->inserted), original.subspan(tail), other.subspan(tail));
  }
  for (size_t i = 0; i < count; ++i)
    if (checksums[i]) store_be16(&merged[*at[i]], *checksums[i]);
  return true;
}

}  // namespace orrery
