// SPDX-License-Identifier: Apache-2.0
// Ed25519 signatures (RFC 8032) over image headers; keys are PEM files.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <span>
#include <string>

#include "board/image/header.h"

namespace orrery::board {

class PublicKey {
 public:
  // Throws std::runtime_error if the file contains no Ed25519 public key.
  static PublicKey read(const std::string& path);

  bool verifies(std::span<const uint8_t> message, const Signature& signature) const;

 private:
  friend class PrivateKey;
  explicit PublicKey(std::shared_ptr<EVP_PKEY> key) : key_(std::move(key)) {}
  std::shared_ptr<EVP_PKEY> key_;
};

class PrivateKey {
 public:
  static PrivateKey generate();
  static PrivateKey read(const std::string& path);

  Signature sign(std::span<const uint8_t> message) const;
  PublicKey public_key() const;

  // Modes 0600 and 0644. Throw if a file cannot be written; existing files are replaced.
  void write_private(const std::string& path) const;
  void write_public(const std::string& path) const;

 private:
  explicit PrivateKey(std::shared_ptr<EVP_PKEY> key) : key_(std::move(key)) {}
  std::shared_ptr<EVP_PKEY> key_;
};

}  // namespace orrery::board
