// SPDX-License-Identifier: Apache-2.0
// AES in counter mode and HMAC-SHA-256 over many packets at a time, with or without the CPU's instructions for them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

struct IMB_MGR;

namespace orrery::crypto_tunnel {

enum class Cipher : uint8_t { kAes128, kAes256 };
// kNone: neither AES-NI nor SHA-NI touches a packet. Both give the same bytes.
enum class Acceleration : uint8_t { kInstructions, kNone };

inline constexpr size_t kJobs = 32;  // at most in one call
inline constexpr size_t kHashBytes = 32;
inline constexpr size_t kBlockBytes = 16;  // of AES

constexpr size_t key_bytes(Cipher cipher) {
  return cipher == Cipher::kAes128 ? 16 : 32;
}

// A key in the forms in which it is used, so that a change of the acceleration derives nothing.
struct CipherKey {
  Cipher cipher;
  alignas(16) std::array<uint8_t, 15 * kBlockBytes> of_instructions;
  std::array<uint32_t, 4 * 15 + 1> of_tables;
};

// States of SHA-256 after the two padded keys of HMAC (RFC 2104 4).
struct HashKey {
  alignas(16) std::array<uint8_t, kHashBytes> inner;
  alignas(16) std::array<uint8_t, kHashBytes> outer;
};

// `bytes` > 0 are encrypted or decrypted in place, beginning with this counter block.
struct CipherJob {
  const CipherKey* key;
  std::array<uint8_t, kBlockBytes> counter;
  uint8_t* text;
  uint32_t bytes;
};

struct HashJob {
  const HashKey* key;
  const uint8_t* text;
  uint32_t bytes;
  std::array<uint8_t, kHashBytes> hash;  // the result
};

// Of one thread at a time, but for the const members. Allocates in its constructor only.
class Crypto {
 public:
  // Throws std::runtime_error on a CPU without AES instructions: IPsec-MB is not built for one.
  Crypto();
  ~Crypto();
  Crypto(const Crypto&) = delete;
  Crypto& operator=(const Crypto&) = delete;

  Acceleration acceleration() const { return acceleration_; }
  void accelerate(Acceleration acceleration) { acceleration_ = acceleration; }

  // Precondition: key.size() == key_bytes(cipher).
  void expand(Cipher cipher, std::span<const uint8_t> key, CipherKey& out) const;
  HashKey hash_key(std::span<const uint8_t, kHashBytes> key) const;

  // Preconditions: at most kJobs; all keys are of one cipher.
  void crypt(std::span<CipherJob> jobs);
  void hash(std::span<HashJob> jobs);

 private:
  struct Free {
    void operator()(IMB_MGR* manager) const;
  };
  using Manager = std::unique_ptr<IMB_MGR, Free>;

  Manager instructions_;
  Manager none_;
  Acceleration acceleration_ = Acceleration::kInstructions;
};

}  // namespace orrery::crypto_tunnel
