// SPDX-License-Identifier: Apache-2.0
// The header of a bitstream container: what its payload configures, and who signed it.
//
// All numbers are little-endian.
//
//   offset  bytes  field
//        0      8  magic "ORRYBIT1"
//        8      4  kind: 1 full, 2 partial
//       12      4  modules: the number of slots of the board (full) or 1 (partial)
//       16     32  name of the board profile, padded with NUL
//       48     32  region, padded with NUL; empty in a full image
//       80     16  UUID of the shell that the image was made for
//       96    128  UUIDs of the modules by slot, up to eight; zero: the slot stays empty
//      224      8  payload length in bytes
//      232     32  SHA-256 of the payload
//      264     64  Ed25519 signature (RFC 8032) of bytes 0 to 263
//      328         payload
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "board/image/uuid.h"

namespace orrery::board {

inline constexpr size_t kSignedBytes = 264;
inline constexpr size_t kSignatureBytes = 64;
inline constexpr size_t kHeaderBytes = kSignedBytes + kSignatureBytes;
inline constexpr size_t kMaxSlots = 8;
inline constexpr uint64_t kMaxPayloadBytes = uint64_t{1} << 30;

using Signature = std::array<uint8_t, kSignatureBytes>;

enum class ImageKind : uint32_t { kFull = 1, kPartial = 2 };

constexpr const char* to_string(ImageKind kind) {
  return kind == ImageKind::kFull ? "full" : "partial";
}

// The `status` words of fpga_manager (Linux, Documentation/ABI/testing/sysfs-class-fpga-manager). An invalid signature
// is an operation error: the image may be complete and compatible, but nobody entitled to load it has signed it.
inline constexpr const char* kOperationError = "reconfig operation error";
inline constexpr const char* kCrcError = "reconfig CRC error";
inline constexpr const char* kIncompatible = "reconfig incompatible image";
inline constexpr const char* kProtocolError = "reconfig IP protocol error";

// A refused image: fpga_manager's words, then the details.
class ImageError : public std::runtime_error {
 public:
  ImageError(const char* words, const std::string& detail)
      : std::runtime_error(std::string(words) + ": " + detail), words(words) {}

  const char* words;
};

struct ImageHeader {
  ImageKind kind = ImageKind::kPartial;
  std::string profile;  // 1 to 31 characters
  std::string region;   // up to 31 characters
  Uuid shell{};
  std::vector<Uuid> modules;  // by slot; one in a partial image
  uint64_t payload_bytes = 0;
  Digest payload_sha256{};
};

struct SignedHeader {
  ImageHeader header;
  std::array<uint8_t, kSignedBytes> signed_bytes{};
  Signature signature{};
};

// Throws std::invalid_argument for values that do not fit into a header.
std::array<uint8_t, kSignedBytes> encode(const ImageHeader& header);

// Decodes the first bytes of a file, possibly fewer than a header. Does not check the signature.
SignedHeader decode(std::span<const uint8_t> bytes);

}  // namespace orrery::board
