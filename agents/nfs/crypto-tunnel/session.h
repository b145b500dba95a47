// SPDX-License-Identifier: Apache-2.0
// Sessions of a tunnel: security associations (RFC 4301 4.1) whose keys both ends derive from the key that they share
// and from what every packet says, so that no two sessions encrypt with one key and nothing has to be negotiated.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "nfs/crypto-tunnel/crypto.h"
#include "nfs/crypto-tunnel/replay_window.h"

namespace orrery::crypto_tunnel {

using SharedKey = std::array<uint8_t, 32>;

// Addresses of the outer header, in host byte order.
struct Ends {
  uint32_t sender;
  uint32_t receiver;
};

// What all sessions of a tunnel have in common.
struct Tunnel {
  SharedKey key;
  Cipher cipher;
  uint32_t local;
  uint32_t peer;

  bool operator==(const Tunnel&) const = default;
  Ends outbound() const { return {local, peer}; }
  Ends inbound() const { return {peer, local}; }
};

struct SessionKeys {
  CipherKey cipher;
  HashKey hash;
  std::array<uint8_t, 4> nonce;
};

// Of the session that the sender calls `spi`: KDF in counter mode with HMAC-SHA-256 (NIST SP 800-108r1 4.1); 32 bits of
// counter and length, label "ESP AES-128-CTR HMAC-SHA-256" or with 256, context sender || receiver || spi. The output
// is cipher key || nonce (RFC 3686 5.1) || HMAC key.
void derive(Crypto& crypto, const HashKey& shared, Cipher cipher, Ends ends, uint32_t spi, SessionKeys& out);

// The counter block of RFC 3686 4.
std::array<uint8_t, kBlockBytes> counter_block(const SessionKeys& keys, const uint8_t* iv);

// Numbers of the packets that are sent. A session is named for the time at which it begins, and later than all before
// it.
class Outbound {
 public:
  bool open() const { return open_; }
  // Of the session, or of the last one.
  uint32_t spi() const { return spi_; }
  uint32_t sent() const { return sent_; }

  // Begins a session of at most `packets`; `now_s` since 1970. False: the names are used up.
  bool begin(uint32_t now_s, uint32_t packets);

  // Ends the session, unless it is later than `spi`, so that the next is.
  void end_after(uint32_t spi);

  // The next sequence number; nothing when the session has carried all that it may. Precondition: open().
  std::optional<uint32_t> next();

 private:
  bool open_ = false;
  uint32_t spi_ = 0;
  uint32_t sent_ = 0;
  uint32_t packets_ = 0;
};

// A session in which packets are received.
struct Inbound {
  uint32_t spi = 0;  // 0: none
  ReplayWindow window;
  SessionKeys keys;
};

}  // namespace orrery::crypto_tunnel
