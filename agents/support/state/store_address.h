// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::state {

struct Endpoint {
  std::string host;  // an IPv4 or IPv6 address; empty: `path` is a unix socket
  uint16_t port = 0;
  std::string path{};

  auto operator<=>(const Endpoint&) const = default;
  std::string text() const;
};

// Where the store is: `unix:/path`, `redis://[user[:password]@]host:port` or
// `redis+cluster://[user[:password]@]host:port[,host:port...]`. Hosts are addresses (IPv6 in brackets) or `localhost`:
// no names are looked up, which could take any time. %XX stands for a byte of user or password. A user without a colon
// behind it is the password of the default user. No TLS.
struct StoreAddress {
  // Throws std::invalid_argument with the flaw, in which no password stands.
  static StoreAddress parse(std::string_view text);

  bool cluster = false;
  std::string user{};                 // empty: the default user
  std::string password{};             // empty: none
  std::vector<Endpoint> endpoints{};  // one, or of a cluster those to begin with

  // Without user and password.
  std::string text() const;
};

// host: an IPv4 or IPv6 address without brackets.
bool is_ip_address(const std::string& host);

struct SocketAddress {
  sockaddr_storage storage;
  socklen_t length;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// Throws std::invalid_argument for what StoreAddress::parse() would not give.
SocketAddress socket_address_of(const Endpoint& endpoint);

}  // namespace orrery::state
