// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "board/image/header.h"
#include "board/image/signature.h"

namespace orrery::board {

// An image file opened for loading. The file may change behind its descriptor: only the bytes actually read count.
class ImageReader {
 public:
  // Reads the header and verifies its signature. Throws ImageError, and std::system_error if the file cannot be read.
  ImageReader(const std::string& path, const PublicKey& key);
  ~ImageReader();
  ImageReader(const ImageReader&) = delete;
  ImageReader& operator=(const ImageReader&) = delete;

  const ImageHeader& header() const { return header_; }
  uint64_t bytes_read() const { return bytes_read_; }  // of the payload

  // Reads the payload up to `offset`, at most `limit` bytes. Throws ImageError if the file ends early and, after the
  // last byte, if the digest is wrong or more bytes follow.
  void read_to(uint64_t offset, uint64_t limit);

 private:
  void finish();

  int fd_;
  ImageHeader header_;
  Sha256 hash_;
  uint64_t bytes_read_ = 0;
};

}  // namespace orrery::board
