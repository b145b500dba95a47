// SPDX-License-Identifier: Apache-2.0
#include "p4/core/headers.h"

#include <algorithm>

namespace orrery::p4 {

namespace {

const HeaderType& type_of(const Code& code, uint32_t header) {
  return code.header_types[code.headers[header].type];
}

uint64_t varbit_bits(const Code& code, const Frame& frame, uint32_t header) {
  const HeaderType& type = type_of(code, header);
  if (type.varbit == kNone) return 0;
  return frame.words[code.headers[header].word + type.fields[static_cast<size_t>(type.varbit)].word];
}

void copy_element(const Code& code, Frame& frame, int64_t to, int64_t from, bool of_unions) {
  if (of_unions) {
    copy_union(code, frame, to, from);
  } else {
    copy_header(code, frame, to, from);
  }
}

void invalidate_element(const Code& code, Frame& frame, uint32_t element, bool of_unions) {
  if (!of_unions) return set_invalid(code, frame, element);
  for (const uint32_t header : code.unions[element].headers) set_invalid(code, frame, header);
}

}  // namespace

int64_t valid_member(const Code& code, const Frame& frame, int64_t index) {
  if (index < 0) return -1;
  for (const uint32_t header : code.unions[static_cast<size_t>(index)].headers)
    if (is_valid(code, frame, header)) return header;
  return -1;
}

void set_valid(const Code& code, Frame& frame, uint32_t header) {
  const Header& in = code.headers[header];
  if (in.in_union != kNone)
    for (const uint32_t other : code.unions[static_cast<size_t>(in.in_union)].headers)
      frame.words[code.headers[other].word] = 0;
  frame.words[in.word] = 1;
}

void set_invalid(const Code& code, Frame& frame, uint32_t header) {
  frame.words[code.headers[header].word] = 0;
}

void clear_fields(const Code& code, Frame& frame, uint32_t header) {
  const auto first = frame.words.begin() + code.headers[header].word;
  std::fill(first + 1, first + type_of(code, header).words, 0);
}

uint32_t byte_length(const Code& code, const Frame& frame, uint32_t header) {
  return type_of(code, header).fixed_bytes() + static_cast<uint32_t>(varbit_bits(code, frame, header) / 8);
}

bool equal_headers(const Code& code, const Frame& frame, int64_t a, int64_t b) {
  const bool valid = is_valid(code, frame, a);
  if (valid != is_valid(code, frame, b)) return false;
  if (!valid) return true;
  const Header& left = code.headers[static_cast<size_t>(a)];
  const Header& right = code.headers[static_cast<size_t>(b)];
  if (left.type != right.type) return false;
  const auto left_words = frame.words.begin() + left.word;
  if (!std::equal(left_words, left_words + code.header_types[left.type].words, frame.words.begin() + right.word))
    return false;
  return equal_varbits(code, frame, a, b);
}

// Lengths and bytes.
bool equal_varbits(const Code& code, const Frame& frame, int64_t a, int64_t b) {
  if (a < 0 || b < 0) return a < 0 && b < 0;
  const auto left = static_cast<uint32_t>(a);
  const auto right = static_cast<uint32_t>(b);
  const uint64_t bits = varbit_bits(code, frame, left);
  if (bits != varbit_bits(code, frame, right)) return false;
  const auto bytes = frame.varbits.begin() + code.headers[left].varbit;
  return std::equal(bytes, bytes + static_cast<std::ptrdiff_t>(bits / 8),
                    frame.varbits.begin() + code.headers[right].varbit);
}

bool equal_unions(const Code& code, const Frame& frame, int64_t a, int64_t b) {
  const int64_t left = valid_member(code, frame, a);
  const int64_t right = valid_member(code, frame, b);
  return left < 0 || right < 0 ? left < 0 && right < 0 : equal_headers(code, frame, left, right);
}

void copy_varbit(const Code& code, Frame& frame, uint32_t to, uint32_t from) {
  const HeaderType& type = type_of(code, to);
  const HeaderType& from_type = type_of(code, from);
  const FieldType& field = type.fields[static_cast<size_t>(type.varbit)];
  const uint64_t bits = std::min<uint64_t>(varbit_bits(code, frame, from), field.width);
  const uint32_t from_word = code.headers[from].word + from_type.fields[static_cast<size_t>(from_type.varbit)].word;
  frame.words[code.headers[to].word + field.word] = std::min(frame.words[from_word], bits);
  std::copy_n(frame.varbits.begin() + code.headers[from].varbit, bits / 8,
              frame.varbits.begin() + code.headers[to].varbit);
}

void copy_header(const Code& code, Frame& frame, int64_t to, int64_t from) {
  if (to < 0 || to == from) return;
  const auto target = static_cast<uint32_t>(to);
  if (!is_valid(code, frame, from)) return set_invalid(code, frame, target);
  const auto source = static_cast<uint32_t>(from);
  const HeaderType& type = type_of(code, target);
  set_valid(code, frame, target);
  const uint32_t first = code.headers[source].word;
  std::copy_n(frame.words.begin() + first + 1, type.words - 1, frame.words.begin() + code.headers[target].word + 1);
  if (type.varbit != kNone) copy_varbit(code, frame, target, source);
}

void copy_union(const Code& code, Frame& frame, int64_t to, int64_t from) {
  if (to < 0 || to == from) return;
  const Union& target = code.unions[static_cast<size_t>(to)];
  const int64_t member = valid_member(code, frame, from);
  for (size_t i = 0; i < target.headers.size(); ++i) {
    const int64_t source = from < 0 ? -1 : int64_t{code.unions[static_cast<size_t>(from)].headers[i]};
    if (source >= 0 && source == member) {
      copy_header(code, frame, target.headers[i], source);
    } else {
      set_invalid(code, frame, target.headers[i]);
    }
  }
}

void copy_stack(const Code& code, Frame& frame, const Stack& to, const Stack& from, bool of_unions) {
  frame.words[to.next_word] = frame.words[from.next_word];
  for (size_t i = 0; i < to.elements.size(); ++i)
    copy_element(code, frame, to.elements[i], from.elements[i], of_unions);
}

void push_front(const Code& code, Frame& frame, const Stack& stack, uint64_t count, bool of_unions) {
  const size_t size = stack.elements.size();
  const size_t by = std::min<uint64_t>(count, size);
  frame.words[stack.next_word] = std::min<uint64_t>(size, frame.words[stack.next_word] + by);
  for (size_t i = size; i > by; --i)
    copy_element(code, frame, stack.elements[i - 1], stack.elements[i - 1 - by], of_unions);
  for (size_t i = 0; i < by; ++i) invalidate_element(code, frame, stack.elements[i], of_unions);
}

void pop_front(const Code& code, Frame& frame, const Stack& stack, uint64_t count, bool of_unions) {
  const size_t size = stack.elements.size();
  const size_t by = std::min<uint64_t>(count, size);
  uint64_t& next = frame.words[stack.next_word];
  next -= std::min<uint64_t>(next, by);
  for (size_t i = 0; i + by < size; ++i)
    copy_element(code, frame, stack.elements[i], stack.elements[i + by], of_unions);
  for (size_t i = size - by; i < size; ++i) invalidate_element(code, frame, stack.elements[i], of_unions);
}

}  // namespace orrery::p4
