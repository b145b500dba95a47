// SPDX-License-Identifier: Apache-2.0
#include "support/state/messages.h"

#include <algorithm>
#include <cstring>

namespace orrery::state {
namespace {

class RecordWriter {
 public:
  explicit RecordWriter(uint8_t* to) : to_(to) {}

  void raw(const void* from, size_t bytes) {
    if (bytes != 0) std::memcpy(to_, from, bytes);
    to_ += bytes;
  }
  void length(size_t bytes) {
    const auto value = static_cast<uint16_t>(bytes);
    raw(&value, sizeof(value));
  }

 private:
  uint8_t* to_;
};

class RecordReader {
 public:
  explicit RecordReader(Bytes record) : left_(record) {}

  template <class T>
  T value() {
    T out;
    std::memcpy(&out, left_.data(), sizeof(T));
    left_ = left_.subspan(sizeof(T));
    return out;
  }
  Bytes bytes(size_t count) {
    const Bytes out = left_.first(count);
    left_ = left_.subspan(count);
    return out;
  }
  Bytes counted() { return bytes(value<uint16_t>()); }

 private:
  Bytes left_;
};

}  // namespace

bool RequestParts::within_limits() const {
  if (function.size() > kMaxFunctionBytes || keys.size() > kMaxKeys || arguments.size() > kMaxArguments) return false;
  const auto fits = [](const StoreKey& key) {
    return key.prefix.size() <= kMaxPrefixBytes && key.rest.size() <= kMaxKeyBytes;
  };
  size_t bytes = 0;
  for (const Bytes argument : arguments) bytes += argument.size();
  return bytes <= kMaxArgumentBytes && std::ranges::all_of(keys, fits);
}

size_t RequestParts::record_bytes() const {
  size_t bytes = sizeof(RequestHeader) + function.size() + (keys.size() + arguments.size()) * sizeof(uint16_t);
  for (const StoreKey& key : keys) bytes += key.size();
  for (const Bytes argument : arguments) bytes += argument.size();
  return bytes;
}

void write_request(uint8_t* to, RequestHeader header, const RequestParts& parts) {
  header.function_bytes = static_cast<uint8_t>(parts.function.size());
  header.keys = static_cast<uint8_t>(parts.keys.size());
  header.arguments = static_cast<uint8_t>(parts.arguments.size());
  RecordWriter out(to);
  out.raw(&header, sizeof(header));
  out.raw(parts.function.data(), parts.function.size());
  for (const StoreKey& key : parts.keys) {
    out.length(key.size());
    out.raw(key.prefix.data(), key.prefix.size());
    out.raw(key.rest.data(), key.rest.size());
  }
  for (const Bytes argument : parts.arguments) {
    out.length(argument.size());
    out.raw(argument.data(), argument.size());
  }
}

RequestHeader request_header(Bytes record) {
  return RecordReader(record).value<RequestHeader>();
}

void read_request(Bytes record, RequestView& out) {
  RecordReader in(record);
  out.header = in.value<RequestHeader>();
  out.function = as_text(in.bytes(out.header.function_bytes));
  for (size_t i = 0; i < out.header.keys; ++i) out.keys[i] = in.counted();
  for (size_t i = 0; i < out.header.arguments; ++i) out.arguments[i] = in.counted();
}

void write_notice(uint8_t* to, NoticeHeader header, Bytes key, Bytes value) {
  header.key_bytes = static_cast<uint16_t>(key.size());
  header.value_bytes = static_cast<uint16_t>(value.size());
  RecordWriter out(to);
  out.raw(&header, sizeof(header));
  out.raw(key.data(), key.size());
  out.raw(value.data(), value.size());
}

NoticeView read_notice(Bytes record) {
  RecordReader in(record);
  NoticeView out{.header = in.value<NoticeHeader>(), .key = {}, .value = {}};
  out.key = in.bytes(out.header.key_bytes);
  out.value = in.bytes(out.header.value_bytes);
  return out;
}

}  // namespace orrery::state
