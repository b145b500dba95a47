// SPDX-License-Identifier: Apache-2.0
// The far end of a tunnel, written anew on OpenSSL's EVP for tests: key derivation, ESP in tunnel mode, UDP.
#pragma once

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace orrery::crypto_tunnel::oracle {

using Bytes = std::vector<uint8_t>;

inline Bytes from_hex(const std::string& digits) {
  Bytes out;
  for (size_t i = 0; i < digits.size(); i += 2)
    out.push_back(static_cast<uint8_t>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return out;
}

inline void require(bool good) {
  if (!good) throw std::runtime_error("OpenSSL refuses");
}

class EspOracle {
 public:
  // Addresses as bytes of the packet.
  EspOracle(const std::string& key, bool is_256, const Bytes& sender, const Bytes& receiver)
      : key_(from_hex(key)), cipher_bytes_(is_256 ? 32 : 16), sender_(sender), receiver_(receiver) {}

  // The IP packet within an outer IPv4 packet with UDP or without; nothing when it is not authentic.
  std::optional<Bytes> open(const Bytes& outer) const {
    const size_t header = outer[9] == 17 ? 28 : 20;
    const Bytes esp(outer.begin() + static_cast<ptrdiff_t>(header), outer.end());
    const Keys keys = derived(Bytes(esp.begin(), esp.begin() + 4));
    const Bytes icv = hmac(keys.hash, Bytes(esp.begin(), esp.end() - 16));
    if (!std::equal(icv.begin(), icv.begin() + 16, esp.end() - 16)) return std::nullopt;
    const Bytes iv(esp.begin() + 8, esp.begin() + 16);
    Bytes text = crypt(keys, iv, Bytes(esp.begin() + 16, esp.end() - 16));
    text.resize(text.size() - 2 - text[text.size() - 2]);
    return text;
  }

  // The outer IPv4 packet, ESP alone; the IV is one that the other end would not choose.
  Bytes seal(const Bytes& packet, uint32_t spi, uint32_t sequence, size_t padding = 0) const {
    const auto word = [](uint32_t value) {
      return Bytes{static_cast<uint8_t>(value >> 24), static_cast<uint8_t>(value >> 16),
                   static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value)};
    };
    const Keys keys = derived(word(spi));
    Bytes text = packet;
    while ((text.size() + padding + 2) % 4 != 0) ++padding;
    for (size_t i = 1; i <= padding; ++i) text.push_back(static_cast<uint8_t>(i));
    text.push_back(static_cast<uint8_t>(padding));
    text.push_back(packet[0] >> 4 == 4 ? 4 : 41);
    const Bytes iv = {0xfe,
                      0xed,
                      1,
                      2,
                      3,
                      static_cast<uint8_t>(sequence >> 16),
                      static_cast<uint8_t>(sequence >> 8),
                      static_cast<uint8_t>(sequence)};
    Bytes esp = word(spi);
    append(esp, word(sequence));
    append(esp, iv);
    append(esp, crypt(keys, iv, text));
    Bytes icv = hmac(keys.hash, esp);
    icv.resize(16);
    append(esp, icv);
    const size_t length = 20 + esp.size();
    Bytes outer = {0x45, 0, static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length), 0, 0, 0, 0, 64, 50, 0, 0};
    append(outer, sender_);
    append(outer, receiver_);
    append(outer, esp);
    return outer;
  }

 private:
  struct Keys {
    Bytes cipher, nonce, hash;
  };

  static void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

  Keys derived(const Bytes& spi) const {
    EVP_KDF* kdf = EVP_KDF_fetch(nullptr, "KBKDF", nullptr);
    EVP_KDF_CTX* context = EVP_KDF_CTX_new(kdf);
    std::string mode = "counter", mac = "HMAC", digest = "SHA256";
    std::string label = cipher_bytes_ == 32 ? "ESP AES-256-CTR HMAC-SHA-256" : "ESP AES-128-CTR HMAC-SHA-256";
    Bytes key = key_, info = sender_, out(96);
    append(info, receiver_);
    append(info, spi);
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_MODE, mode.data(), 0),
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_MAC, mac.data(), 0),
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, label.data(), label.size()),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
        OSSL_PARAM_construct_end(),
    };
    require(EVP_KDF_derive(context, out.data(), out.size(), params) == 1);
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
    const auto at = out.begin() + static_cast<ptrdiff_t>(cipher_bytes_);
    return {Bytes(out.begin(), at), Bytes(at, at + 4), Bytes(at + 4, at + 36)};
  }

  Bytes crypt(const Keys& keys, const Bytes& iv, const Bytes& text) const {
    Bytes counter = keys.nonce;
    append(counter, iv);
    append(counter, {0, 0, 0, 1});
    Bytes out(text.size());
    int length = 0;
    EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
    const EVP_CIPHER* cipher = cipher_bytes_ == 32 ? EVP_aes_256_ctr() : EVP_aes_128_ctr();
    require(EVP_EncryptInit_ex(context, cipher, nullptr, keys.cipher.data(), counter.data()) == 1);
    require(EVP_EncryptUpdate(context, out.data(), &length, text.data(), static_cast<int>(text.size())) == 1);
    EVP_CIPHER_CTX_free(context);
    return out;
  }

  static Bytes hmac(const Bytes& key, const Bytes& text) {
    Bytes out(32);
    unsigned length = 0;
    require(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), text.data(), text.size(), out.data(),
                 &length) != nullptr);
    return out;
  }

  Bytes key_;
  size_t cipher_bytes_;
  Bytes sender_, receiver_;
};

}  // namespace orrery::crypto_tunnel::oracle
