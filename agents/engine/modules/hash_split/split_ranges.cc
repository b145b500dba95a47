// SPDX-License-Identifier: Apache-2.0
#include "modules/hash_split/split_ranges.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/json_fields.h"

namespace orrery {

namespace {

constexpr std::string_view kInvalidRanges = "invalid-config";
constexpr size_t kMaxRanges = 256;

std::string range_pointer(const std::string& pointer, size_t index) {
  return pointer + "/" + std::to_string(index) + "/range";
}

}  // namespace

SplitRanges::SplitRanges(const nlohmann::json& ranges, const std::string& pointer) {
  if (!ranges.is_array()) throw EngineError(kInvalidRanges, pointer, "must be an array");
  if (ranges.empty() || ranges.size() > kMaxRanges)
    throw EngineError(kInvalidRanges, pointer, "must have 1 to " + std::to_string(kMaxRanges) + " elements");
  for (size_t i = 0; i < ranges.size(); ++i) {
    JsonFields entry(ranges[i], pointer + "/" + std::to_string(i), kInvalidRanges);
    JsonFields bounds(entry.object("range"), entry.pointer_to("range"), kInvalidRanges);
    Range range{};
    range.lo = static_cast<uint32_t>(bounds.integer("lo", 0, kFlowSpace - 1));
    range.hi = static_cast<uint32_t>(bounds.integer("hi", range.lo + 1, kFlowSpace));
    bounds.done();
    range.gate = static_cast<uint16_t>(entry.integer("gate", 0, 255));
    range.index = static_cast<uint16_t>(i);
    entry.done();
    gates_ = std::max(gates_, range.gate + 1u);
    ranges_.push_back(range);
  }
  std::ranges::sort(ranges_, {}, &Range::lo);
  for (size_t i = 1; i < ranges_.size(); ++i)
    if (ranges_[i].lo < ranges_[i - 1].hi)
      throw EngineError(kInvalidRanges, range_pointer(pointer, ranges_[i].index), "overlaps another range");
  require_whole(pointer);
  for (uint32_t block = 0, range = 0; block < first_.size(); ++block) {
    while (ranges_[range].hi <= block * kBlock) ++range;
    first_[block] = static_cast<uint16_t>(range);
  }
}

void SplitRanges::require_whole(const std::string& pointer) const {
  uint32_t covered = 0;
  for (const Range& range : ranges_) {
    if (range.lo != covered)
      throw EngineError(kInvalidRanges, range_pointer(pointer, range.index) + "/lo",
                        "no range holds the flows from " + std::to_string(covered) + " on");
    covered = range.hi;
  }
  if (covered != kFlowSpace)
    throw EngineError(kInvalidRanges, range_pointer(pointer, ranges_.back().index) + "/hi",
                      "no range holds the flows from " + std::to_string(covered) + " on");
}

nlohmann::json SplitRanges::to_json() const {
  nlohmann::json out = nlohmann::json::array();
  for (const Range& range : ranges_)
    out.push_back({{"range", {{"lo", range.lo}, {"hi", range.hi}}}, {"gate", range.gate}});
  return out;
}

}  // namespace orrery
