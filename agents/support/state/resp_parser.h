// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "support/state/bytes.h"

namespace orrery::state {

enum class RespType : uint8_t {
  kText,   // one line
  kError,  // also of several lines
  kInteger,
  kBytes,
  kVerbatim,
  kDouble,
  kBoolean,
  kBigNumber,
  kNull,
  kArray,
  kSet,
  kMap,  // keys and values in turn
  kPush,
};

// A value within an answer, in the order in which they come.
struct RespNode {
  RespType type;
  uint32_t begin;  // of the value on the wire
  uint32_t end;
  uint32_t text_begin;  // of what it says, without type, length and line end
  uint32_t text_bytes;
  uint32_t elements;  // of an aggregate; a map has two for each pair
  uint32_t behind;    // the first node that is not within this one
  int64_t integer;    // of kInteger, and 0 or 1 of kBoolean
};

// A value of an answer that RespParser has read. Valid as long as the parser is not used and the bytes stay.
class RespValue {
 public:
  RespValue(const std::vector<RespNode>& nodes, uint32_t index, Bytes wire)
      : nodes_(&nodes), index_(index), wire_(wire) {}

  RespType type() const { return node().type; }
  int64_t integer() const { return node().integer; }
  // Empty for aggregates and null; digits and so on for numbers; of kVerbatim without its format.
  std::string_view text() const { return as_text(wire_.subspan(node().text_begin, node().text_bytes)); }
  Bytes bytes() const { return as_bytes(text()); }
  // As it came.
  Bytes encoded() const { return wire_.subspan(node().begin, node().end - node().begin); }

  bool aggregate() const { return type() >= RespType::kArray; }
  uint32_t size() const { return node().elements; }
  // Precondition: i < size(). Takes time with i.
  RespValue at(uint32_t i) const {
    uint32_t index = index_ + 1;
    for (; i > 0; --i) index = (*nodes_)[index].behind;
    return {*nodes_, index, wire_};
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (uint32_t i = 0, index = index_ + 1; i < size(); ++i, index = (*nodes_)[index].behind)
      visit(RespValue(*nodes_, index, wire_));
  }

 private:
  const RespNode& node() const { return (*nodes_)[index_]; }

  const std::vector<RespNode>* nodes_;
  uint32_t index_;
  Bytes wire_;
};

// Reads answers of the Redis serialization protocol, version 3 (RESP3) and 2, as their bytes come. Attributes are left
// out. Anything that is malformed, streamed (RESP3 allows lengths that are not known) or beyond the limits is a flaw.
class RespParser {
 public:
  static constexpr size_t kMaxDepth = 8;                      // aggregates within each other
  static constexpr size_t kMaxTextBytes = size_t{64} << 10;   // of a bulk string or a line
  static constexpr size_t kMaxElements = 4096;                // of an aggregate; of a map: pairs
  static constexpr size_t kMaxAnswerBytes = size_t{1} << 20;  // of an answer with all that is in it
  static constexpr size_t kMaxNodes = size_t{64} << 10;

  enum class State : uint8_t { kIncomplete, kComplete, kFlawed };

  // `wire`: from the first byte of an answer on as far as it has come. Bytes that were given once must not change; they
  // may be elsewhere. After kComplete, size() is the answer's length.
  State parse(Bytes wire);

  size_t size() const { return position_; }
  // Precondition: parse(wire) gave kComplete.
  RespValue value(Bytes wire) const { return {nodes_, 0, wire}; }
  // After kFlawed.
  std::string_view flaw() const { return flaw_; }

  // For the next answer.
  void reset();

 private:
  struct Open {
    uint32_t node;
    uint32_t left;  // elements to come
    bool attribute;
  };
  enum class Step : uint8_t { kRead, kWaits, kFlawed };

  Step step(Bytes wire);
  Step flawed(std::string_view what);
  std::optional<std::string_view> line(Bytes wire, Step& why_not);
  Step read_line_value(char type, std::string_view text, uint32_t behind);
  Step read_counted_text(char type, std::string_view length, Bytes wire, uint32_t behind);
  Step read_aggregate(char type, std::string_view length, uint32_t behind);
  Step put(RespType type, uint32_t text_begin, size_t text_bytes, uint32_t behind, int64_t integer = 0);
  void close_full();

  std::vector<RespNode> nodes_;
  std::vector<Open> open_;
  size_t position_ = 0;  // behind what was read
  size_t scanned_ = 0;   // no line ends in front of it, from position_ on
  bool complete_ = false;
  std::string_view flaw_;
};

}  // namespace orrery::state
