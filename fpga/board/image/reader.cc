// SPDX-License-Identifier: Apache-2.0
#include "board/image/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace orrery::board {
namespace {

// Returns fewer bytes than requested only at the end of the file.
size_t read_full(int fd, std::span<uint8_t> out) {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = read(fd, out.data() + done, out.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw std::system_error(errno, std::generic_category(), "reading the image");
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

// Regular files only: reads never block.
int open_regular(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), path);
  struct stat info {};
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) return fd;
  close(fd);
  throw ImageError(kIncompatible, path + " is not a file");
}

}  // namespace

ImageReader::ImageReader(const std::string& path, const PublicKey& key) : fd_(open_regular(path)) {
  try {
    std::array<uint8_t, kHeaderBytes> bytes{};
    const SignedHeader read = decode(std::span(bytes).first(read_full(fd_, bytes)));
    if (!key.verifies(read.signed_bytes, read.signature))
      throw ImageError(kOperationError, "the signature is not from the key that this board trusts");
    header_ = read.header;
  } catch (...) {
    close(fd_);
    throw;
  }
}

ImageReader::~ImageReader() {
  close(fd_);
}

void ImageReader::read_to(uint64_t offset, uint64_t limit) {
  std::array<uint8_t, 65536> buffer;
  const uint64_t end = std::min({offset, header_.payload_bytes, bytes_read_ + limit});
  if (bytes_read_ >= end) return;
  while (bytes_read_ < end) {
    const auto piece = std::span(buffer).first(std::min<uint64_t>(buffer.size(), end - bytes_read_));
    const size_t n = read_full(fd_, piece);
    hash_.update(piece.first(n));
    bytes_read_ += n;
    if (n < piece.size())
      throw ImageError(kProtocolError, "the payload ends at byte " + std::to_string(bytes_read_) + " of " +
                                           std::to_string(header_.payload_bytes));
  }
  if (bytes_read_ == header_.payload_bytes) finish();
}

void ImageReader::finish() {
  std::array<uint8_t, 1> more{};
  if (read_full(fd_, more) != 0) throw ImageError(kProtocolError, "bytes follow the payload");
  if (hash_.digest() != header_.payload_sha256) throw ImageError(kCrcError, "the payload does not match its SHA-256");
}

}  // namespace orrery::board
