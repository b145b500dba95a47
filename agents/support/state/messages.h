// SPDX-License-Identifier: Apache-2.0
// What goes through the rings between a packet thread and the proxy's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "support/state/bytes.h"
#include "support/state/figures.h"
#include "support/state/key_space.h"

namespace orrery::state {

// The packet thread's name of a request; comes back with the reply. Need not be unique.
using Token = uint64_t;

enum class RequestKind : uint8_t { kFetch, kCall, kPost };

struct RequestHeader {
  Token token;
  uint64_t made_ns;
  RequestKind kind;
  uint8_t function_bytes;
  uint8_t keys;
  uint8_t arguments;
};

// A request as its maker has it. A fetch has one key and nothing else.
struct RequestParts {
  std::string_view function;
  std::span<const StoreKey> keys;
  std::span<const Bytes> arguments;

  // Whether it keeps the limits of bytes.h.
  bool within_limits() const;
  size_t record_bytes() const;
};

// `to` has room for record_bytes().
void write_request(uint8_t* to, RequestHeader header, const RequestParts& parts);

// A request in a ring. Points into the record.
struct RequestView {
  RequestHeader header;
  std::string_view function;
  std::array<Bytes, kMaxKeys> keys;
  std::array<Bytes, kMaxArguments> arguments;
};

// Precondition: write_request() wrote the record.
void read_request(Bytes record, RequestView& out);
RequestHeader request_header(Bytes record);

enum class NoticeKind : uint8_t {
  kReply,
  kInvalidation,    // of the key
  kConnectionLost,  // what this connection has read is no longer followed
  kAllInvalidated,
};

struct NoticeHeader {
  Token token;
  uint32_t losses;     // Channel::losses when it was written
  uint16_t key_bytes;  // of a fetch's reply and of an invalidation
  uint16_t value_bytes;
  NoticeKind kind;
  Outcome outcome;
  uint8_t connection;
  bool encoded;  // Reply::encoded
};

// A notice in a ring. Points into the record.
struct NoticeView {
  NoticeHeader header;
  Bytes key;
  Bytes value;
};

constexpr size_t notice_bytes(size_t key_bytes, size_t value_bytes) {
  return sizeof(NoticeHeader) + key_bytes + value_bytes;
}

// The lengths of the header are those of `key` and `value`; `to` has room for notice_bytes() of them.
void write_notice(uint8_t* to, NoticeHeader header, Bytes key, Bytes value);
NoticeView read_notice(Bytes record);

}  // namespace orrery::state
