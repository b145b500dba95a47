// SPDX-License-Identifier: Apache-2.0
#include "board/image/header.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace orrery::board {
namespace {

constexpr std::string_view kMagic = "ORRYBIT1";
constexpr size_t kKindAt = 8, kModulesAt = 12, kProfileAt = 16, kRegionAt = 48, kShellAt = 80, kModuleAt = 96;
constexpr size_t kLengthAt = 224, kDigestAt = 232;
constexpr size_t kNameBytes = 32;

using Bytes = std::span<const uint8_t>;

uint64_t load_le(Bytes bytes, size_t at, size_t width) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) value |= uint64_t{bytes[at + i]} << (8 * i);
  return value;
}

void store_le(std::span<uint8_t> bytes, size_t at, size_t width, uint64_t value) {
  for (size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

void store_name(std::span<uint8_t> bytes, size_t at, const std::string& name, const char* field) {
  const bool printable = std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 127; });
  if (name.size() >= kNameBytes || !printable)
    throw std::invalid_argument(std::string(field) + " must have up to 31 printable characters");
  std::memcpy(bytes.data() + at, name.data(), name.size());
}

// A name ends at its first NUL; only NULs follow.
std::string load_name(Bytes bytes, size_t at, const char* field) {
  const auto field_bytes = bytes.subspan(at, kNameBytes);
  const auto end = std::find(field_bytes.begin(), field_bytes.end(), 0);
  const bool padded = end != field_bytes.end() && std::all_of(end, field_bytes.end(), [](uint8_t b) { return b == 0; });
  const bool printable = std::all_of(field_bytes.begin(), end, [](uint8_t b) { return b > ' ' && b < 127; });
  if (!padded || !printable) throw ImageError(kIncompatible, std::string(field) + " is not a valid name");
  return {field_bytes.begin(), end};
}

}  // namespace

std::array<uint8_t, kSignedBytes> encode(const ImageHeader& header) {
  if (header.profile.empty()) throw std::invalid_argument("profile must not be empty");
  if (header.modules.empty() || header.modules.size() > kMaxSlots)
    throw std::invalid_argument("modules must be 1 to " + std::to_string(kMaxSlots));
  if (header.payload_bytes == 0 || header.payload_bytes > kMaxPayloadBytes)
    throw std::invalid_argument("payload must have 1 to " + std::to_string(kMaxPayloadBytes) + " bytes");
  std::array<uint8_t, kSignedBytes> out{};
  std::memcpy(out.data(), kMagic.data(), kMagic.size());
  store_le(out, kKindAt, 4, static_cast<uint32_t>(header.kind));
  store_le(out, kModulesAt, 4, header.modules.size());
  store_name(out, kProfileAt, header.profile, "profile");
  store_name(out, kRegionAt, header.region, "region");
  std::copy(header.shell.begin(), header.shell.end(), out.begin() + kShellAt);
  for (size_t i = 0; i < header.modules.size(); ++i)
    std::copy(header.modules[i].begin(), header.modules[i].end(), out.begin() + kModuleAt + 16 * i);
  store_le(out, kLengthAt, 8, header.payload_bytes);
  std::copy(header.payload_sha256.begin(), header.payload_sha256.end(), out.begin() + kDigestAt);
  return out;
}

SignedHeader decode(Bytes bytes) {
  const size_t magic_bytes = std::min(bytes.size(), kMagic.size());
  if (magic_bytes == 0 || std::memcmp(bytes.data(), kMagic.data(), magic_bytes) != 0)
    throw ImageError(kIncompatible, "not a bitstream container (wrong magic)");
  if (bytes.size() < kHeaderBytes) throw ImageError(kProtocolError, "the header is truncated");
  SignedHeader out;
  ImageHeader& header = out.header;
  const uint64_t kind = load_le(bytes, kKindAt, 4);
  if (kind != 1 && kind != 2) throw ImageError(kIncompatible, "kind is neither full nor partial");
  header.kind = static_cast<ImageKind>(kind);
  const uint64_t modules = load_le(bytes, kModulesAt, 4);
  if (modules == 0 || modules > kMaxSlots || (header.kind == ImageKind::kPartial && modules != 1))
    throw ImageError(kIncompatible, "the number of modules is " + std::to_string(modules));
  header.profile = load_name(bytes, kProfileAt, "profile");
  header.region = load_name(bytes, kRegionAt, "region");
  std::copy_n(bytes.begin() + kShellAt, header.shell.size(), header.shell.begin());
  header.modules.resize(modules);
  for (size_t i = 0; i < modules; ++i) std::copy_n(bytes.begin() + kModuleAt + 16 * i, 16, header.modules[i].begin());
  header.payload_bytes = load_le(bytes, kLengthAt, 8);
  if (header.payload_bytes == 0 || header.payload_bytes > kMaxPayloadBytes)
    throw ImageError(kIncompatible, "the payload length is " + std::to_string(header.payload_bytes));
  std::copy_n(bytes.begin() + kDigestAt, header.payload_sha256.size(), header.payload_sha256.begin());
  std::copy_n(bytes.begin(), kSignedBytes, out.signed_bytes.begin());
  std::copy_n(bytes.begin() + kSignedBytes, kSignatureBytes, out.signature.begin());
  return out;
}

}  // namespace orrery::board
