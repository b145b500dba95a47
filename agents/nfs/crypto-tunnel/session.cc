// SPDX-License-Identifier: Apache-2.0
#include "nfs/crypto-tunnel/session.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "support/checksum.h"

namespace orrery::crypto_tunnel {
namespace {

constexpr size_t kDerivedBytes = 3 * kHashBytes;
constexpr std::string_view kLabels[] = {"ESP AES-128-CTR HMAC-SHA-256", "ESP AES-256-CTR HMAC-SHA-256"};
constexpr size_t kLabelBytes = kLabels[0].size();
constexpr size_t kInputBytes = 4 + kLabelBytes + 1 + 12 + 4;

}  // namespace

void derive(Crypto& crypto, const HashKey& shared, Cipher cipher, Ends ends, uint32_t spi, SessionKeys& out) {
  std::array<std::array<uint8_t, kInputBytes>, kDerivedBytes / kHashBytes> inputs;
  std::array<HashJob, kDerivedBytes / kHashBytes> jobs;
  for (size_t i = 0; i < jobs.size(); ++i) {
    uint8_t* to = inputs[i].data();
    store_be32(to, static_cast<uint32_t>(i + 1));
    std::memcpy(to + 4, kLabels[static_cast<size_t>(cipher)].data(), kLabelBytes);
    to += 4 + kLabelBytes;
    *to++ = 0;
    store_be32(to, ends.sender);
    store_be32(to + 4, ends.receiver);
    store_be32(to + 8, spi);
    store_be32(to + 12, 8 * kDerivedBytes);
    jobs[i] = {&shared, inputs[i].data(), kInputBytes, {}};
  }
  crypto.hash(jobs);
  std::array<uint8_t, kDerivedBytes> derived;
  for (size_t i = 0; i < jobs.size(); ++i) std::ranges::copy(jobs[i].hash, derived.begin() + i * kHashBytes);
  const std::span<const uint8_t> all(derived);
  const size_t cipher_bytes = key_bytes(cipher);
  crypto.expand(cipher, all.first(cipher_bytes), out.cipher);
  std::ranges::copy(all.subspan(cipher_bytes, out.nonce.size()), out.nonce.begin());
  out.hash = crypto.hash_key(all.subspan(cipher_bytes + out.nonce.size()).first<kHashBytes>());
}

std::array<uint8_t, kBlockBytes> counter_block(const SessionKeys& keys, const uint8_t* iv) {
  std::array<uint8_t, kBlockBytes> block{};
  std::ranges::copy(keys.nonce, block.begin());
  std::memcpy(block.data() + keys.nonce.size(), iv, 8);
  block.back() = 1;
  return block;
}

bool Outbound::begin(uint32_t now_s, uint32_t packets) {
  if (spi_ == std::numeric_limits<uint32_t>::max()) return false;
  spi_ = std::max(now_s, spi_ + 1);
  sent_ = 0;
  packets_ = packets;
  open_ = true;
  return true;
}

void Outbound::end_after(uint32_t spi) {
  if (open_ && spi_ > spi) return;
  open_ = false;
  spi_ = std::max(spi_, spi);
}

std::optional<uint32_t> Outbound::next() {
  if (sent_ == packets_) return std::nullopt;
  return ++sent_;
}

}  // namespace orrery::crypto_tunnel
