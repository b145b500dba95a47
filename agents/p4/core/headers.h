// SPDX-License-Identifier: Apache-2.0
// Headers, unions and stacks in a frame. A header or union below zero is none: it is invalid, and nothing becomes of
// writing to it.
#pragma once

#include <cstdint>

#include "p4/core/frame.h"
#include "p4/program/code.h"

namespace orrery::p4 {

inline bool is_valid(const Code& code, const Frame& frame, int64_t header) {
  return header >= 0 && frame.words[code.headers[static_cast<size_t>(header)].word] != 0;
}

// The header of a union that is valid, or below zero.
int64_t valid_member(const Code& code, const Frame& frame, int64_t index);

// Other headers of its union are no longer valid (P4-16 8.20).
void set_valid(const Code& code, Frame& frame, uint32_t header);
void set_invalid(const Code& code, Frame& frame, uint32_t header);
// All its fields are zero.
void clear_fields(const Code& code, Frame& frame, uint32_t header);
// Bytes of the header in a packet.
uint32_t byte_length(const Code& code, const Frame& frame, uint32_t header);

bool equal_headers(const Code& code, const Frame& frame, int64_t a, int64_t b);
bool equal_varbits(const Code& code, const Frame& frame, int64_t a, int64_t b);
bool equal_unions(const Code& code, const Frame& frame, int64_t a, int64_t b);

// Of the same type.
void copy_header(const Code& code, Frame& frame, int64_t to, int64_t from);
void copy_union(const Code& code, Frame& frame, int64_t to, int64_t from);
void copy_stack(const Code& code, Frame& frame, const Stack& to, const Stack& from, bool of_unions);
void copy_varbit(const Code& code, Frame& frame, uint32_t to, uint32_t from);

// By `count`: towards higher indexes, with invalid elements in front, or towards lower ones (P4-16 8.18).
void push_front(const Code& code, Frame& frame, const Stack& stack, uint64_t count, bool of_unions);
void pop_front(const Code& code, Frame& frame, const Stack& stack, uint64_t count, bool of_unions);

}  // namespace orrery::p4
