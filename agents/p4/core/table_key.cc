// SPDX-License-Identifier: Apache-2.0
// Keys of entries: from the control side's form to words and masks, and back.
#include <algorithm>
#include <bit>

#include "p4/core/table.h"

namespace orrery::p4 {

namespace {

void set_low_bits(std::vector<uint64_t>& words, uint32_t bits) {
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = bits >= (i + 1) * 64 ? ~uint64_t{0} : bits > i * 64 ? low_mask(bits - static_cast<uint32_t>(i) * 64) : 0;
}

// With ones in the highest `length` of `width` bits.
std::vector<uint64_t> prefix_mask(uint32_t width, uint32_t length) {
  std::vector<uint64_t> mask(words_of(width));
  std::vector<uint64_t> low(mask.size());
  set_low_bits(mask, width);
  set_low_bits(low, width - length);
  for (size_t i = 0; i < mask.size(); ++i) mask[i] &= ~low[i];
  return mask;
}

uint32_t count_ones(const std::vector<uint64_t>& words) {
  uint32_t ones = 0;
  for (const uint64_t word : words) ones += static_cast<uint32_t>(std::popcount(word));
  return ones;
}

bool greater(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  return std::ranges::lexicographical_compare(b.rbegin(), b.rend(), a.rbegin(), a.rend());
}

}  // namespace

void Table::refuse_field(size_t field, const std::string& detail) const {
  throw ControlError(Refusal::kInvalid, "key field " + info_.key[field].name + " of " + info_.name + ' ' + detail);
}

void Table::put_field(const KeyMatch& match, size_t field, MatchIndex::Item& item, int64_t& prefix) const {
  const KeyField& info = info_.key[field];
  const TableKeyPart& part = code_.key[field];
  const uint32_t words = words_of(info.width);
  const auto read = [&](const ByteString& bytes) {
    std::vector<uint64_t> out(words);
    if (!to_words(bytes, info.width, out.data()))
      refuse_field(field, "has more than " + std::to_string(info.width) + " bits");
    return out;
  };
  std::vector<uint64_t> value(words);
  std::vector<uint64_t> mask(words);
  if (match.any && (info.match == MatchKind::kExact || info.match == MatchKind::kValid))
    refuse_field(field, "must have a value");
  switch (info.match) {
    case MatchKind::kExact:
    case MatchKind::kValid:
      value = read(match.value);
      mask = prefix_mask(info.width, info.width);
      break;
    case MatchKind::kLpm:
      if (match.any) break;
      if (match.prefix_length > info.width)
        refuse_field(field, "has a prefix of more than " + std::to_string(info.width) + " bits");
      value = read(match.value);
      mask = prefix_mask(info.width, match.prefix_length);
      prefix = match.prefix_length;
      break;
    case MatchKind::kTernary:
      if (match.any) break;
      value = read(match.value);
      mask = read(match.mask);
      break;
    case MatchKind::kRange: {
      if (match.any) {
        mask = prefix_mask(info.width, info.width);
      } else {
        value = read(match.value);
        mask = read(match.mask);
      }
      if (greater(value, mask)) refuse_field(field, "ends below where it begins");
      item.lows.insert(item.lows.end(), value.begin(), value.end());
      item.highs.insert(item.highs.end(), mask.begin(), mask.end());
      return;
    }
  }
  for (uint32_t i = 0; i < words; ++i) {
    if ((value[i] & ~mask[i]) != 0) refuse_field(field, "has bits outside of its mask or prefix");
    item.key[part.to + i] |= value[i] << part.shift;
    item.mask[part.to + i] |= mask[i] << part.shift;
  }
}

MatchIndex::Item Table::item(const std::vector<KeyMatch>& key, int32_t priority) const {
  if (key.size() != info_.key.size())
    throw ControlError(Refusal::kInvalid, info_.name + " has " + std::to_string(info_.key.size()) +
                                              " key fields, not " + std::to_string(key.size()));
  if (info_.needs_priority ? priority < 1 : priority != 0)
    throw ControlError(Refusal::kInvalid, info_.needs_priority
                                              ? "an entry of " + info_.name + " must have a priority of at least 1"
                                              : "an entry of " + info_.name + " must have no priority");
  MatchIndex::Item item{.mask = std::vector<uint64_t>(code_.key_words),
                        .key = std::vector<uint64_t>(code_.key_words),
                        .lows = {},
                        .highs = {},
                        .rank = priority};
  int64_t prefix = 0;
  for (size_t i = 0; i < key.size(); ++i) put_field(key[i], i, item, prefix);
  if (code_.kind == TableKind::kLpm) item.rank = prefix;
  return item;
}

TableEntry Table::entry(EntryHandle handle) const {
  check_handle(handle);
  const Entry& each = entries_[handle];
  const MatchIndex::Item item = index_.item(handle);
  TableEntry out{.key = {},
                 .priority = each.priority,
                 .action = action_of(each.choice, args(handle)),
                 .idle_timeout_ns = each.idle_timeout_ns};
  size_t range = 0;
  for (size_t i = 0; i < info_.key.size(); ++i) {
    const KeyField& field = info_.key[i];
    const TableKeyPart& part = code_.key[i];
    const uint32_t words = words_of(field.width);
    std::vector<uint64_t> value(words);
    std::vector<uint64_t> mask(words);
    std::vector<uint64_t> all = prefix_mask(field.width, field.width);
    KeyMatch match;
    if (field.match == MatchKind::kRange) {
      std::copy_n(item.lows.begin() + static_cast<std::ptrdiff_t>(range), words, value.begin());
      std::copy_n(item.highs.begin() + static_cast<std::ptrdiff_t>(range), words, mask.begin());
      range += words;
      match.any = mask == all && count_ones(value) == 0;
    } else {
      for (uint32_t word = 0; word < words; ++word) {
        value[word] = item.key[part.to + word] >> part.shift & all[word];
        mask[word] = item.mask[part.to + word] >> part.shift & all[word];
      }
      const bool can_be_any = field.match == MatchKind::kTernary || field.match == MatchKind::kLpm;
      match.any = can_be_any && count_ones(mask) == 0;
    }
    if (!match.any) {
      match.value = to_bytes(value.data(), field.width);
      if (field.match == MatchKind::kTernary || field.match == MatchKind::kRange)
        match.mask = to_bytes(mask.data(), field.width);
      if (field.match == MatchKind::kLpm) match.prefix_length = count_ones(mask);
    }
    out.key.push_back(std::move(match));
  }
  return out;
}

void Table::insert_const_entries() {
  int32_t lowest = 0;
  for (const ConstEntry& each : code_.entries) lowest = std::max(lowest, each.json_priority);
  for (const ConstEntry& each : code_.entries) {
    TableEntry entry{.key = {}, .priority = 0, .action = {}};
    if (info_.needs_priority) entry.priority = lowest + 1 - each.json_priority;
    for (size_t i = 0; i < info_.key.size(); ++i) {
      const KeyField& field = info_.key[i];
      std::vector<uint64_t> value = each.key[i].first;
      const std::vector<uint64_t>& mask = each.key[i].second;
      KeyMatch match;
      if (field.match == MatchKind::kTernary || field.match == MatchKind::kLpm) {
        const std::vector<uint64_t> in =
            field.match == MatchKind::kLpm ? prefix_mask(field.width, each.prefix_lengths[i]) : mask;
        for (size_t word = 0; word < value.size(); ++word) value[word] &= in[word];
      }
      match.value = to_bytes(value.data(), field.width);
      match.mask = to_bytes(mask.data(), field.width);
      match.prefix_length = each.prefix_lengths[i];
      entry.key.push_back(std::move(match));
    }
    ActionCall call{.action = each.action, .args = {}};
    for (size_t i = 0; i < each.args.size(); ++i)
      call.args.push_back(to_bytes(each.args[i].data(), program_.actions[each.action].params[i].width));
    entry.action = std::move(call);
    const MatchIndex::Item put = item(entry.key, entry.priority);
    // The program may have the same entry twice: the first one counts.
    if (index_.find_same(put) == kNoEntry) insert_item(put, entry, 0);
  }
}

}  // namespace orrery::p4
