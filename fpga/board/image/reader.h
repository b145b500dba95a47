// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "board/image/header.h"
#include "board/image/signature.h"

namespace orrery::board {

// An image file that is open for its load. The file may change behind its open descriptor: what counts is the bytes
// that are read.
class ImageReader {
 public:
  // Reads the header and checks its signature. Throws ImageError; std::system_error when the file cannot be read.
  ImageReader(const std::string& path, const PublicKey& key);
  ~ImageReader();
  ImageReader(const ImageReader&) = delete;
  ImageReader& operator=(const ImageReader&) = delete;

  const ImageHeader& header() const { return header_; }
  uint64_t bytes_read() const { return bytes_read_; }  // of the payload

  // Takes the payload up to `offset`, at most `limit` bytes of it. Throws ImageError when the file ends before; behind
  // the last byte, when the digest is wrong or bytes follow.
  void read_to(uint64_t offset, uint64_t limit);

 private:
  void finish();

  int fd_;
  ImageHeader header_;
  Sha256 hash_;
  uint64_t bytes_read_ = 0;
};

}  // namespace orrery::board
