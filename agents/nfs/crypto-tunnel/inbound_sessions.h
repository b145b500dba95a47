// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "nfs/crypto-tunnel/session.h"

namespace orrery::crypto_tunnel {

// Sessions of one sender: the latest that it has begun, the one before, of which packets may still be on their way, and
// candidates that a batch names. A sender names a later session with a higher number, so an ended one cannot be played
// again.
class InboundSessions {
 public:
  // Of the packet's session; nullptr when there is none and there cannot be. Derives the keys of a session that is
  // later than all known; it is not known before a packet proved it.
  Inbound* find(uint32_t spi, Crypto& crypto, const HashKey& shared, const Tunnel& tunnel);

  // What candidates of the batch have been proved, i.e. have marked a packet, are known from here on. Pointers that
  // find() returned are void.
  void settle();

  // Takes in a session of another instance, or what came in it.
  void import(uint32_t spi, const ReplayWindow& window, Crypto& crypto, const HashKey& shared, const Tunnel& tunnel);

  static constexpr size_t kKnown = 2;
  // The latest first; spi 0: none.
  const std::array<Inbound, kKnown>& known() const { return known_; }
  uint64_t begun() const { return begun_; }

 private:
  void learn(const Inbound& session);

  // So that forged packets cost a batch only so many derivations.
  static constexpr size_t kCandidates = 4;

  std::array<Inbound, kKnown> known_;
  std::array<Inbound, kCandidates> candidates_;
  size_t named_ = 0;
  uint64_t begun_ = 0;
};

}  // namespace orrery::crypto_tunnel
