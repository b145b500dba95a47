// SPDX-License-Identifier: Apache-2.0
#include "support/state/resp_parser.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace orrery::state {
namespace {

constexpr size_t kMaxLengthDigits = 10;

// All of the text; no sign but a minus.
std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view without_plus(std::string_view text) {
  return text.size() > 1 && text[0] == '+' && text[1] != '-' ? text.substr(1) : text;
}

bool is_big_number(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_double(std::string_view text) {
  if (text == "inf" || text == "-inf" || text == "nan" || text == "-nan") return true;
  text = without_plus(text);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Too large or too small for a double is a number all the same.
  return !text.empty() && error != std::errc::invalid_argument && stop == text.data() + text.size();
}

std::optional<RespType> aggregate_type(char type) {
  switch (type) {
    case '*':
      return RespType::kArray;
    case '~':
      return RespType::kSet;
    case '%':
    case '|':  // an attribute is a map
      return RespType::kMap;
    case '>':
      return RespType::kPush;
    default:
      return std::nullopt;
  }
}

}  // namespace

void RespParser::reset() {
  nodes_.clear();
  open_.clear();
  position_ = scanned_ = 0;
  complete_ = false;
  flaw_ = {};
}

RespParser::Step RespParser::flawed(std::string_view what) {
  flaw_ = what;
  return Step::kFlawed;
}

RespParser::State RespParser::parse(Bytes wire) {
  while (!complete_ && flaw_.empty()) {
    const Step made = step(wire);
    if (made == Step::kWaits) {
      if (wire.size() < kMaxAnswerBytes) return State::kIncomplete;
      flawed("an answer of more than 1 MiB");
    }
  }
  return complete_ ? State::kComplete : State::kFlawed;
}

// Without its type and line end; `position_` stays.
std::optional<std::string_view> RespParser::line(Bytes wire, Step& why_not) {
  scanned_ = std::max(scanned_, position_);
  const std::string_view text = as_text(wire);
  const size_t end = text.find('\r', scanned_);
  const size_t known = std::min(end, text.size());
  if (known - position_ > kMaxTextBytes) {
    why_not = flawed("a line of more than 64 KiB");
    return std::nullopt;
  }
  if (text.substr(scanned_, known - scanned_).find('\n') != std::string_view::npos) {
    why_not = flawed("a line feed within a line");
    return std::nullopt;
  }
  scanned_ = known;
  if (end == std::string_view::npos || end + 1 == text.size()) {
    why_not = Step::kWaits;
    return std::nullopt;
  }
  if (text[end + 1] != '\n') {
    why_not = flawed("a carriage return without a line feed");
    return std::nullopt;
  }
  return text.substr(position_ + 1, end - position_ - 1);
}

RespParser::Step RespParser::step(Bytes wire) {
  if (position_ >= wire.size()) return Step::kWaits;
  const char type = static_cast<char>(wire[position_]);
  if (std::string_view("+-:$*_,#(!=%~>|").find(type) == std::string_view::npos) return flawed("an unknown type");
  Step why_not = Step::kWaits;
  const auto text = line(wire, why_not);
  if (!text) return why_not;
  const auto behind = static_cast<uint32_t>(position_ + 1 + text->size() + 2);
  if (aggregate_type(type)) return read_aggregate(type, *text, behind);
  if (type == '$' || type == '!' || type == '=') return read_counted_text(type, *text, wire, behind);
  return read_line_value(type, *text, behind);
}

RespParser::Step RespParser::put(RespType type, uint32_t text_begin, size_t text_bytes, uint32_t behind,
                                 int64_t integer) {
  if (nodes_.size() >= kMaxNodes) return flawed("an answer of too many values");
  const auto index = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({.type = type,
                    .begin = static_cast<uint32_t>(position_),
                    .end = behind,
                    .text_begin = text_begin,
                    .text_bytes = static_cast<uint32_t>(text_bytes),
                    .elements = 0,
                    .behind = index + 1,
                    .integer = integer});
  position_ = behind;
  return Step::kRead;
}

RespParser::Step RespParser::read_line_value(char type, std::string_view text, uint32_t behind) {
  const auto begin = static_cast<uint32_t>(position_ + 1);
  const auto scalar = [&](RespType kind, int64_t integer = 0) {
    const Step made = put(kind, begin, text.size(), behind, integer);
    if (made == Step::kRead) close_full();
    return made;
  };
  switch (type) {
    case '+':
      return scalar(RespType::kText);
    case '-':
      return scalar(RespType::kError);
    case ':':
      if (const auto number = whole_number(without_plus(text))) return scalar(RespType::kInteger, *number);
      return flawed("a number that is none");
    case '#':
      if (text == "t" || text == "f") return scalar(RespType::kBoolean, text == "t" ? 1 : 0);
      return flawed("a boolean that is none");
    case '_':
      return text.empty() ? scalar(RespType::kNull) : flawed("a null that is none");
    case ',':
      return is_double(text) ? scalar(RespType::kDouble) : flawed("a double that is none");
    default:
      return is_big_number(text) ? scalar(RespType::kBigNumber) : flawed("a big number that is none");
  }
}

RespParser::Step RespParser::read_counted_text(char type, std::string_view length, Bytes wire, uint32_t behind) {
  const auto number = length.size() <= kMaxLengthDigits ? whole_number(length) : std::nullopt;
  if (type == '$' && number == -1) {
    const Step made = put(RespType::kNull, behind, 0, behind);
    if (made == Step::kRead) close_full();
    return made;
  }
  if (!number || *number < 0) return flawed("a length that is none");
  if (*number > static_cast<int64_t>(kMaxTextBytes)) return flawed("a text of more than 64 KiB");
  const auto bytes = static_cast<uint32_t>(*number);
  if (wire.size() < size_t{behind} + bytes + 2) return Step::kWaits;
  if (wire[behind + bytes] != '\r' || wire[behind + bytes + 1] != '\n') return flawed("a text longer than it says");
  uint32_t format = 0;
  if (type == '=') {
    format = 4;
    if (bytes < format || wire[behind + 3] != ':') return flawed("a verbatim text without its format");
  }
  const RespType kind = type == '$' ? RespType::kBytes : type == '!' ? RespType::kError : RespType::kVerbatim;
  const Step made = put(kind, behind + format, bytes - format, behind + bytes + 2);
  if (made == Step::kRead) close_full();
  return made;
}

RespParser::Step RespParser::read_aggregate(char type, std::string_view length, uint32_t behind) {
  const auto number = length.size() <= kMaxLengthDigits ? whole_number(length) : std::nullopt;
  if (type == '*' && number == -1) {
    const Step made = put(RespType::kNull, behind, 0, behind);
    if (made == Step::kRead) close_full();
    return made;
  }
  if (!number || *number < 0) return flawed("a length that is none");
  if (*number > static_cast<int64_t>(kMaxElements)) return flawed("more than 4096 elements");
  if (open_.size() >= kMaxDepth) return flawed("aggregates deeper than 8");
  if (type == '>' && !open_.empty()) return flawed("a push within an answer");
  const auto index = static_cast<uint32_t>(nodes_.size());
  const Step made = put(*aggregate_type(type), behind, 0, behind);
  if (made != Step::kRead) return made;
  const bool pairs = type == '%' || type == '|';
  nodes_[index].elements = static_cast<uint32_t>(*number) * (pairs ? 2 : 1);
  // One more, which is taken off at once: an aggregate without elements is full when it begins.
  open_.push_back({.node = index, .left = nodes_[index].elements + 1, .attribute = type == '|'});
  close_full();
  return Step::kRead;
}

// Counts what was read in the aggregate that it is in, and closes those that are full with it.
void RespParser::close_full() {
  while (!open_.empty()) {
    if (--open_.back().left > 0) return;
    const Open full = open_.back();
    open_.pop_back();
    if (full.attribute) {
      // It is no element: what it belongs to follows.
      nodes_.resize(full.node);
      return;
    }
    nodes_[full.node].behind = static_cast<uint32_t>(nodes_.size());
    nodes_[full.node].end = static_cast<uint32_t>(position_);
  }
  complete_ = true;
}

}  // namespace orrery::state
