// SPDX-License-Identifier: Apache-2.0
#include "nfs/crypto-tunnel/inbound_sessions.h"

#include <algorithm>
#include <span>

namespace orrery::crypto_tunnel {

Inbound* InboundSessions::find(uint32_t spi, Crypto& crypto, const HashKey& shared, const Tunnel& tunnel) {
  if (spi == 0) return nullptr;
  for (Inbound& session : known_)
    if (session.spi == spi) return &session;
  for (Inbound& session : std::span(candidates_).first(named_))
    if (session.spi == spi) return &session;
  if (spi < known_[0].spi || named_ == kCandidates) return nullptr;
  Inbound& candidate = candidates_[named_++];
  candidate.spi = spi;
  candidate.window = {};
  derive(crypto, shared, tunnel.cipher, tunnel.inbound(), spi, candidate.keys);
  return &candidate;
}

void InboundSessions::settle() {
  if (named_ == 0) return;
  const auto candidates = std::span(candidates_).first(named_);
  std::ranges::sort(candidates, {}, &Inbound::spi);
  for (const Inbound& candidate : candidates) {
    if (candidate.window.highest() == 0) continue;
    learn(candidate);
    ++begun_;
  }
  named_ = 0;
}

void InboundSessions::import(uint32_t spi, const ReplayWindow& window, Crypto& crypto, const HashKey& shared,
                             const Tunnel& tunnel) {
  for (Inbound& session : known_) {
    if (session.spi != spi) continue;
    session.window.merge(window);
    return;
  }
  if (spi < known_.back().spi) return;
  Inbound session{.spi = spi, .window = window, .keys = {}};
  derive(crypto, shared, tunnel.cipher, tunnel.inbound(), spi, session.keys);
  learn(session);
}

void InboundSessions::learn(const Inbound& session) {
  known_.back() = session;
  std::ranges::sort(known_, std::greater{}, &Inbound::spi);
}

}  // namespace orrery::crypto_tunnel
