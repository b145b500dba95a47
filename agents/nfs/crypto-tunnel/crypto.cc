// SPDX-License-Identifier: Apache-2.0
// The low-level AES of OpenSSL is deprecated in favour of EVP, which always uses the CPU's instructions.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "nfs/crypto-tunnel/crypto.h"

#include <intel-ipsec-mb.h>
#include <openssl/aes.h>
#include <openssl/modes.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace orrery::crypto_tunnel {
namespace {

constexpr size_t kShaBlockBytes = 64;

static_assert(sizeof(AES_KEY) == sizeof(CipherKey::of_tables) && alignof(AES_KEY) <= alignof(uint32_t));

AES_KEY* tables_of(CipherKey& key) {
  return reinterpret_cast<AES_KEY*>(key.of_tables.data());
}

void crypt_with_tables(const CipherJob& job) {
  auto counter = job.counter;
  std::array<uint8_t, kBlockBytes> key_stream;
  unsigned used = 0;
  CRYPTO_ctr128_encrypt(job.text, job.text, job.bytes, job.key->of_tables.data(), counter.data(), key_stream.data(),
                        &used, reinterpret_cast<block128_f>(AES_encrypt));
}

}  // namespace

void Crypto::Free::operator()(IMB_MGR* manager) const {
  free_mb_mgr(manager);
}

Crypto::Crypto() : instructions_(alloc_mb_mgr(0)), none_(alloc_mb_mgr(IMB_FLAG_SHANI_OFF)) {
  if (instructions_ == nullptr || none_ == nullptr) throw std::bad_alloc();
  if ((instructions_->features & IMB_FEATURE_AESNI) == 0) throw std::runtime_error("this CPU has no AES instructions");
  init_mb_mgr_auto(instructions_.get(), nullptr);
  init_mb_mgr_sse(none_.get());
  for (IMB_MGR* manager : {instructions_.get(), none_.get()})
    if (const int error = imb_get_errno(manager); error != 0) throw std::runtime_error(imb_get_strerror(error));
}

Crypto::~Crypto() = default;

void Crypto::expand(Cipher cipher, std::span<const uint8_t> key, CipherKey& out) const {
  out.cipher = cipher;
  alignas(16) std::array<uint8_t, 15 * kBlockBytes> for_decryption;
  if (cipher == Cipher::kAes128) {
    IMB_AES_KEYEXP_128(instructions_.get(), key.data(), out.of_instructions.data(), for_decryption.data());
  } else {
    IMB_AES_KEYEXP_256(instructions_.get(), key.data(), out.of_instructions.data(), for_decryption.data());
  }
  AES_set_encrypt_key(key.data(), static_cast<int>(8 * key.size()), tables_of(out));
}

HashKey Crypto::hash_key(std::span<const uint8_t, kHashBytes> key) const {
  HashKey out;
  const auto padded = [&](uint8_t pad, std::array<uint8_t, kHashBytes>& state) {
    std::array<uint8_t, kShaBlockBytes> block;
    block.fill(pad);
    for (size_t i = 0; i < key.size(); ++i) block[i] ^= key[i];
    IMB_SHA256_ONE_BLOCK(none_.get(), block.data(), state.data());
  };
  padded(0x36, out.inner);
  padded(0x5c, out.outer);
  return out;
}

void Crypto::crypt(std::span<CipherJob> jobs) {
  if (jobs.empty()) return;
  if (acceleration_ == Acceleration::kNone) {
    std::ranges::for_each(jobs, crypt_with_tables);
    return;
  }
  IMB_JOB burst[kJobs];
  for (size_t i = 0; i < jobs.size(); ++i) {
    const CipherJob& job = jobs[i];
    IMB_JOB& to = burst[i];
    to.src = to.dst = job.text;
    to.cipher_start_src_offset_in_bytes = 0;
    to.msg_len_to_cipher_in_bytes = job.bytes;
    to.iv = job.counter.data();
    to.iv_len_in_bytes = kBlockBytes;
    to.enc_keys = to.dec_keys = job.key->of_instructions.data();
  }
  IMB_SUBMIT_CIPHER_BURST_NOCHECK(instructions_.get(), burst, static_cast<uint32_t>(jobs.size()), IMB_CIPHER_CNTR,
                                  IMB_DIR_ENCRYPT, static_cast<IMB_KEY_SIZE_BYTES>(key_bytes(jobs[0].key->cipher)));
}

void Crypto::hash(std::span<HashJob> jobs) {
  if (jobs.empty()) return;
  IMB_JOB burst[kJobs];
  for (size_t i = 0; i < jobs.size(); ++i) {
    HashJob& job = jobs[i];
    IMB_JOB& to = burst[i];
    to.src = job.text;
    to.hash_start_src_offset_in_bytes = 0;
    to.msg_len_to_hash_in_bytes = job.bytes;
    to.auth_tag_output = job.hash.data();
    to.auth_tag_output_len_in_bytes = kHashBytes;
    to.u.HMAC._hashed_auth_key_xor_ipad = job.key->inner.data();
    to.u.HMAC._hashed_auth_key_xor_opad = job.key->outer.data();
  }
  IMB_MGR* manager = acceleration_ == Acceleration::kNone ? none_.get() : instructions_.get();
  IMB_SUBMIT_HASH_BURST_NOCHECK(manager, burst, static_cast<uint32_t>(jobs.size()), IMB_AUTH_HMAC_SHA_256);
}

}  // namespace orrery::crypto_tunnel
