// SPDX-License-Identifier: Apache-2.0
#include "board/image/writer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

namespace orrery::board {
namespace {

constexpr size_t kBlockBytes = 1 << 20;

// AES-128 in counter mode over zeros.
class Keystream {
 public:
  explicit Keystream(const Digest& seed) : context_(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free), zeros_(kBlockBytes) {
    EVP_EncryptInit_ex(context_.get(), EVP_aes_128_ctr(), nullptr, seed.data(), seed.data() + 16);
  }

  void next(std::span<uint8_t> out) {
    int length = 0;
    EVP_EncryptUpdate(context_.get(), out.data(), &length, zeros_.data(), static_cast<int>(out.size()));
  }

 private:
  std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context_;
  std::vector<uint8_t> zeros_;
};

void write_bytes(std::ofstream& file, std::span<const uint8_t> bytes) {
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

void write_image(const std::string& path, ImageHeader header, const PrivateKey& key) {
  header.payload_sha256 = {};
  Keystream payload(sha256(encode(header)));
  const std::string partial = path + ".part";
  std::ofstream file(partial, std::ios::binary | std::ios::trunc);
  file.seekp(kHeaderBytes);
  Sha256 hash;
  std::vector<uint8_t> block(kBlockBytes);
  const uint64_t used = std::min<uint64_t>(header.payload_bytes, kBlockBytes);
  std::span<uint8_t> bytes(block.data(), used);
  payload.next(bytes);
  hash.update(bytes);
  write_bytes(file, bytes);
  // Device frames that the module does not use are zero: a hole in the file.
  std::ranges::fill(block, 0);
  for (uint64_t left = header.payload_bytes - used; left > 0; left -= bytes.size()) {
    bytes = std::span(block.data(), std::min<uint64_t>(left, block.size()));
    hash.update(bytes);
  }
  header.payload_sha256 = hash.digest();
  const auto signed_bytes = encode(header);
  file.seekp(0);
  write_bytes(file, signed_bytes);
  write_bytes(file, key.sign(signed_bytes));
  file.close();
  if (file) std::filesystem::resize_file(partial, kHeaderBytes + header.payload_bytes);
  if (!file) throw std::runtime_error(partial + ": cannot write the image");
  std::filesystem::rename(partial, path);
}

}  // namespace orrery::board
