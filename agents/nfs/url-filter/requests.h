// SPDX-License-Identifier: Apache-2.0
// What clients send first, for tests.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::url_filter::testing {

inline std::string be16(size_t n) {
  return {static_cast<char>(n >> 8), static_cast<char>(n)};
}

inline std::string tls_extension(uint16_t type, const std::string& body) {
  return be16(type) + be16(body.size()) + body;
}

inline std::string server_name_extension(const std::string& host) {
  const std::string name = '\0' + be16(host.size()) + host;
  return tls_extension(0, be16(name.size()) + name);
}

// A record with a ClientHello (RFC 8446 4.1.2).
inline std::string client_hello(const std::string& extensions, size_t session_bytes = 32, size_t ciphers = 17) {
  std::string hello = "\x03\x03" + std::string(32, 'r');
  hello += static_cast<char>(session_bytes) + std::string(session_bytes, 's');
  hello += be16(ciphers * 2) + std::string(ciphers * 2, 'c');
  hello += std::string("\x01\x00", 2);
  if (!extensions.empty()) hello += be16(extensions.size()) + extensions;
  const std::string message = std::string("\x01\x00", 2) + be16(hello.size()) + hello;
  return "\x16\x03\x01" + be16(message.size()) + message;
}

inline std::string http_request(const std::string& target, const std::string& host) {
  return "GET " + target + " HTTP/1.1\r\nUser-Agent: t\r\nHost: " + host + "\r\nAccept: */*\r\n\r\n";
}

inline std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace orrery::url_filter::testing
