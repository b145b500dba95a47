// SPDX-License-Identifier: Apache-2.0
#include "board/image/signature.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <system_error>

namespace orrery::board {
namespace {

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

File open_to_read(const std::string& path) {
  File file(std::fopen(path.c_str(), "re"), &std::fclose);
  if (!file) throw std::system_error(errno, std::generic_category(), path);
  return file;
}

std::shared_ptr<EVP_PKEY> checked(EVP_PKEY* key, const std::string& path, const char* what) {
  std::shared_ptr<EVP_PKEY> out(key, &EVP_PKEY_free);
  if (key == nullptr || EVP_PKEY_get_id(key) != EVP_PKEY_ED25519)
    throw std::runtime_error(path + " contains no Ed25519 " + what);
  return out;
}

void write_key(const std::string& path, mode_t mode, const std::function<int(FILE*)>& write) {
  unlink(path.c_str());
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), path);
  FILE* file = fdopen(fd, "w");
  const bool written = write(file) == 1;
  if (std::fclose(file) != 0 || !written) throw std::runtime_error(path + ": the key was not written");
}

using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

Context context() {
  return {EVP_MD_CTX_new(), &EVP_MD_CTX_free};
}

}  // namespace

PublicKey PublicKey::read(const std::string& path) {
  const File file = open_to_read(path);
  return PublicKey(checked(PEM_read_PUBKEY(file.get(), nullptr, nullptr, nullptr), path, "public key"));
}

bool PublicKey::verifies(std::span<const uint8_t> message, const Signature& signature) const {
  const Context c = context();
  return EVP_DigestVerifyInit(c.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
         EVP_DigestVerify(c.get(), signature.data(), signature.size(), message.data(), message.size()) == 1;
}

PrivateKey PrivateKey::generate() {
  return PrivateKey({EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), &EVP_PKEY_free});
}

PrivateKey PrivateKey::read(const std::string& path) {
  const File file = open_to_read(path);
  return PrivateKey(checked(PEM_read_PrivateKey(file.get(), nullptr, nullptr, nullptr), path, "private key"));
}

Signature PrivateKey::sign(std::span<const uint8_t> message) const {
  Signature out{};
  size_t length = out.size();
  const Context c = context();
  if (EVP_DigestSignInit(c.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
      EVP_DigestSign(c.get(), out.data(), &length, message.data(), message.size()) != 1)
    throw std::runtime_error("the header could not be signed");
  return out;
}

PublicKey PrivateKey::public_key() const {
  return PublicKey(key_);
}

void PrivateKey::write_private(const std::string& path) const {
  write_key(path, 0600, [this](FILE* file) {
    return PEM_write_PrivateKey(file, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
}

void PrivateKey::write_public(const std::string& path) const {
  write_key(path, 0644, [this](FILE* file) { return PEM_write_PUBKEY(file, key_.get()); });
}

}  // namespace orrery::board
