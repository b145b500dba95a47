// SPDX-License-Identifier: Apache-2.0
// What a client asks for, read from the bytes with which it begins: an HTTP/1.x request (RFC 9112) or a TLS ClientHello
// (RFC 8446 4.1.2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace orrery::url_filter {

enum class RequestKind : uint8_t {
  kNone,        // the bytes begin neither
  kHttp,        // with the host, where the request names one
  kTls,         // with the server name (RFC 6066 3), where the client names one; there is no path
  kUnreadable,  // one of the two whose host is not in these bytes, or contradicts itself
};

// Host and path in the form in which rules name them: the host in lower case, without port and final dot; the path with
// its escapes decoded (RFC 3986 2.1) and without dot segments (5.2.4), and the query as it stands. What is longer than
// the room for it is cut.
class Request {
 public:
  // `bytes`: those of the stream from the request on, as far as they are at hand.
  RequestKind read(std::span<const uint8_t> bytes);

  std::string_view host() const { return {url_.data(), host_length_}; }
  std::string_view path() const { return {url_.data() + host_length_, length_ - host_length_}; }
  // Both together.
  std::string_view url() const { return {url_.data(), length_}; }

  static constexpr size_t kMaxHost = 255;
  static constexpr size_t kMaxPath = 2048;

 private:
  RequestKind read_http(std::string_view text);
  RequestKind read_tls(std::span<const uint8_t> bytes);
  bool set_host(std::string_view authority);
  void append_path(std::string_view target);
  size_t segment_before(size_t begin, size_t end) const;

  std::array<char, kMaxHost + kMaxPath> url_;
  size_t host_length_ = 0;
  size_t length_ = 0;
};

}  // namespace orrery::url_filter
