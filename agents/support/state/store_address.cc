// SPDX-License-Identifier: Apache-2.0
#include "support/state/store_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

namespace orrery::state {
namespace {

constexpr std::string_view kUnix = "unix:", kSingle = "redis://", kCluster = "redis+cluster://";
constexpr size_t kMaxSeeds = 64;

[[noreturn]] void flaw(const std::string& what) {
  throw std::invalid_argument("the address of the store " + what);
}

std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    const char* const end = text.data() + std::min(i + 3, text.size());
    const auto [stop, error] = std::from_chars(text.data() + i + 1, end, value, 16);
    if (error != std::errc{} || stop != text.data() + i + 3) flaw("has a % without two hexadecimal digits behind it");
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

void read_credentials(std::string_view text, StoreAddress& out) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    out.password = decoded(text);
  } else {
    out.user = decoded(text.substr(0, colon));
    out.password = decoded(text.substr(colon + 1));
  }
  if (out.password.empty()) flaw("has a user without a password");
}

uint16_t port_of(std::string_view text) {
  unsigned port = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc{} || stop != text.data() + text.size() || port == 0 || port > 65535)
    flaw("needs a port from 1 to 65535 behind the host's colon");
  return static_cast<uint16_t>(port);
}

Endpoint endpoint_of(std::string_view text) {
  std::string_view host;
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) flaw("has an IPv6 address without its closing bracket");
    host = text.substr(1, bracket - 1);
    rest = text.substr(bracket + 1);
  } else {
    host = text.substr(0, text.find(':'));
    rest = text.substr(host.size());
  }
  if (!rest.starts_with(':')) flaw("needs a port behind each host");
  Endpoint out{.host = host == "localhost" ? "127.0.0.1" : std::string(host), .port = port_of(rest.substr(1))};
  if (!is_ip_address(out.host)) flaw("has a host that is no IPv4 or IPv6 address; names are not looked up");
  return out;
}

std::optional<SocketAddress> ip_address(const std::string& host, uint16_t port) {
  SocketAddress out{};
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr = v4;
    std::memcpy(&out.storage, &address, sizeof(address));
    out.length = sizeof(address);
    return out;
  }
  if (inet_pton(AF_INET6, host.c_str(), &v6) != 1) return std::nullopt;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  address.sin6_addr = v6;
  std::memcpy(&out.storage, &address, sizeof(address));
  out.length = sizeof(address);
  return out;
}

StoreAddress parse_unix(std::string_view path) {
  if (!path.starts_with('/')) flaw("needs an absolute path behind unix:");
  if (path.size() >= sizeof(sockaddr_un::sun_path)) flaw("has a path of more than 107 bytes");
  if (path.find('\0') != std::string_view::npos) flaw("has a NUL in its path");
  return {.endpoints = {{.host = {}, .port = 0, .path = std::string(path)}}};
}

}  // namespace

bool is_ip_address(const std::string& host) {
  return ip_address(host, 0).has_value();
}

std::string Endpoint::text() const {
  std::string out;
  if (host.empty()) return out.append(kUnix).append(path);
  const bool v6 = host.find(':') != std::string::npos;
  out.append(v6 ? "[" : "").append(host).append(v6 ? "]:" : ":");
  return out.append(std::to_string(port));
}

StoreAddress StoreAddress::parse(std::string_view text) {
  if (text.starts_with(kUnix)) return parse_unix(text.substr(kUnix.size()));
  StoreAddress out{.cluster = text.starts_with(kCluster)};
  if (!out.cluster && !text.starts_with(kSingle)) flaw("begins with none of unix:, redis:// and redis+cluster://");
  std::string_view rest = text.substr(out.cluster ? kCluster.size() : kSingle.size());
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    read_credentials(rest.substr(0, at), out);
    rest = rest.substr(at + 1);
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  for (size_t comma = 0; comma != std::string_view::npos; rest = rest.substr(std::min(comma + 1, rest.size()))) {
    comma = rest.find(',');
    out.endpoints.push_back(endpoint_of(rest.substr(0, comma)));
    if (comma == std::string_view::npos) break;
  }
  if (!out.cluster && out.endpoints.size() != 1) flaw("has several hosts, which only redis+cluster:// has");
  if (out.endpoints.size() > kMaxSeeds) flaw("has more than 64 hosts");
  return out;
}

std::string StoreAddress::text() const {
  if (endpoints.empty()) return {};
  if (endpoints[0].host.empty()) return endpoints[0].text();
  std::string out(cluster ? kCluster : kSingle);
  for (const Endpoint& endpoint : endpoints)
    out.append(&endpoint == endpoints.data() ? "" : ",").append(endpoint.text());
  return out;
}

SocketAddress socket_address_of(const Endpoint& endpoint) {
  if (!endpoint.host.empty()) {
    const auto address = ip_address(endpoint.host, endpoint.port);
    if (!address) throw std::invalid_argument("not an address: " + endpoint.host);
    return *address;
  }
  SocketAddress out{};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (endpoint.path.size() >= sizeof(address.sun_path)) throw std::invalid_argument("too long: " + endpoint.path);
  endpoint.path.copy(address.sun_path, endpoint.path.size());
  std::memcpy(&out.storage, &address, sizeof(address));
  out.length = sizeof(address);
  return out;
}

}  // namespace orrery::state
