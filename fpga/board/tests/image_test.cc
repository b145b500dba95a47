// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "board/image/header.h"
#include "board/image/reader.h"
#include "board/image/writer.h"

namespace orrery::board {
namespace {

namespace fs = std::filesystem;

Uuid uuid(uint8_t fill) {
  Uuid out;
  out.fill(fill);
  return out;
}

ImageHeader partial(uint64_t bytes = 300'000) {
  return {ImageKind::kPartial, "de5", "pr0", uuid(1), {uuid(2)}, bytes, {}};
}

std::vector<uint8_t> bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ImageFile : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/orrery-image-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ / "image.bit";
  }
  void TearDown() override { fs::remove_all(directory_); }

  void write(const ImageHeader& header) { write_image(path_, header, key_); }
  void store(const std::vector<uint8_t>& bytes) const {
    std::ofstream(path_, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  // fpga_manager's status for a refused file; empty if it is accepted.
  std::string refusal() {
    try {
      ImageReader reader(path_, key_.public_key());
      while (reader.bytes_read() < reader.header().payload_bytes) reader.read_to(UINT64_MAX, 77'777);
      return {};
    } catch (const ImageError& error) {
      EXPECT_EQ(std::string(error.what()).find(error.words), 0u);
      return error.words;
    }
  }

  fs::path directory_;
  fs::path path_;
  PrivateKey key_ = PrivateKey::generate();
};

TEST(ImageHeader, IsReadAsItWasWritten) {
  ImageHeader full{ImageKind::kFull, "ecp5", "", uuid(9), {uuid(1), kNoUuid, uuid(3)}, 1'936'997, {}};
  full.payload_sha256.fill(0xab);
  for (const ImageHeader& header : {full, partial()}) {
    std::vector<uint8_t> bytes(kHeaderBytes);
    const auto signed_bytes = encode(header);
    std::copy(signed_bytes.begin(), signed_bytes.end(), bytes.begin());
    bytes.back() = 0x5a;
    const SignedHeader read = decode(bytes);
    EXPECT_EQ(read.header.kind, header.kind);
    EXPECT_EQ(read.header.profile, header.profile);
    EXPECT_EQ(read.header.region, header.region);
    EXPECT_EQ(read.header.shell, header.shell);
    EXPECT_EQ(read.header.modules, header.modules);
    EXPECT_EQ(read.header.payload_bytes, header.payload_bytes);
    EXPECT_EQ(read.header.payload_sha256, header.payload_sha256);
    EXPECT_EQ(read.signed_bytes, signed_bytes);
    EXPECT_EQ(read.signature.back(), 0x5a);
  }
}

TEST(ImageHeader, SaysNothingThatCannotBeRead) {
  ImageHeader header = partial();
  header.profile = std::string(32, 'p');
  EXPECT_THROW(encode(header), std::invalid_argument);
  header = partial();
  header.region = "two words";
  EXPECT_THROW(encode(header), std::invalid_argument);
  header = partial();
  header.modules.assign(kMaxSlots + 1, uuid(1));
  EXPECT_THROW(encode(header), std::invalid_argument);
  EXPECT_THROW(encode(partial(0)), std::invalid_argument);
}

// For arbitrary bytes: decode() returns a header that encodes to the same bytes, or refuses.
TEST(ImageHeader, SurvivesAnyBytes) {
  std::mt19937_64 rng(1);
  const auto right = encode(partial());
  int taken = 0, refused = 0;
  for (int trial = 0; trial < 200'000; ++trial) {
    std::vector<uint8_t> bytes(kHeaderBytes);
    std::copy(right.begin(), right.end(), bytes.begin());
    const int damages = 1 + static_cast<int>(rng() % 4);
    for (int i = 0; i < damages; ++i) bytes[rng() % bytes.size()] = static_cast<uint8_t>(rng());
    if (rng() % 8 == 0) bytes.resize(rng() % bytes.size());
    try {
      const SignedHeader read = decode(bytes);
      ++taken;
      ASSERT_LE(read.header.modules.size(), kMaxSlots);
      ASSERT_LE(read.header.payload_bytes, kMaxPayloadBytes);
      ImageHeader again = read.header;
      if (again.profile.empty()) continue;
      // After the used module entries, the header may contain anything: it is signed, not read.
      const auto encoded = encode(again);
      const size_t unread = 96 + 16 * again.modules.size();
      ASSERT_EQ(std::memcmp(encoded.data(), bytes.data(), unread), 0);
      ASSERT_EQ(std::memcmp(encoded.data() + 224, bytes.data() + 224, kSignedBytes - 224), 0);
    } catch (const ImageError&) {
      ++refused;
    }
  }
  EXPECT_GT(taken, 10'000);
  EXPECT_GT(refused, 10'000);
}

TEST_F(ImageFile, IsTakenWholeAndHasItsRealSize) {
  write(partial());
  EXPECT_EQ(fs::file_size(path_), kHeaderBytes + 300'000);
  EXPECT_EQ(refusal(), "");
  EXPECT_FALSE(fs::exists(path_.string() + ".part"));
}

TEST_F(ImageFile, OfOneHeaderIsTheSameEverywhere) {
  write(partial());
  const auto first = bytes_of(path_);
  write(partial());
  EXPECT_EQ(bytes_of(path_), first);
  ImageHeader other = partial();
  other.modules[0] = uuid(3);
  write(other);
  const auto second = bytes_of(path_);
  EXPECT_NE(std::memcmp(first.data() + kHeaderBytes, second.data() + kHeaderBytes, 300'000), 0);
}

TEST_F(ImageFile, IsRefusedInTheKernelsWords) {
  write(partial());
  const auto right = bytes_of(path_);
  const auto damaged = [&](size_t at) {
    auto bytes = right;
    bytes[at] ^= 1;
    store(bytes);
    return refusal();
  };
  EXPECT_EQ(damaged(0), kIncompatible) << "magic";
  EXPECT_EQ(damaged(9), kIncompatible) << "kind";
  EXPECT_EQ(damaged(16), kOperationError) << "a signed field";
  EXPECT_EQ(damaged(kHeaderBytes - 1), kOperationError) << "signature";
  EXPECT_EQ(damaged(kHeaderBytes), kCrcError) << "first byte of the payload";
  EXPECT_EQ(damaged(right.size() - 1), kCrcError) << "last byte of the payload";

  for (const size_t length : {size_t{8}, kHeaderBytes - 1, kHeaderBytes, right.size() - 1}) {
    store({right.begin(), right.begin() + static_cast<std::ptrdiff_t>(length)});
    EXPECT_EQ(refusal(), kProtocolError) << length << " bytes";
  }
  auto longer = right;
  longer.push_back(0);
  store(longer);
  EXPECT_EQ(refusal(), kProtocolError);
  store({});
  EXPECT_EQ(refusal(), kIncompatible);
}

TEST_F(ImageFile, OfAnotherKeyIsRefused) {
  write_image(path_, partial(), PrivateKey::generate());
  EXPECT_EQ(refusal(), kOperationError);
}

TEST_F(ImageFile, IsNoDirectoryAndNoPipe) {
  fs::create_directory(path_);
  EXPECT_EQ(refusal(), kIncompatible);
  path_ = directory_ / "absent";
  EXPECT_THROW(refusal(), std::system_error);
}

TEST_F(ImageFile, KeysAreFiles) {
  const std::string secret = directory_ / "key", known = directory_ / "key.pub";
  key_.write_private(secret);
  key_.write_public(known);
  EXPECT_EQ(fs::status(secret).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const std::vector<uint8_t> message{1, 2, 3};
  EXPECT_TRUE(PublicKey::read(known).verifies(message, PrivateKey::read(secret).sign(message)));
  EXPECT_FALSE(PublicKey::read(known).verifies(message, PrivateKey::generate().sign(message)));
  EXPECT_THROW(PublicKey::read(secret), std::runtime_error);
  EXPECT_THROW(PrivateKey::read(known), std::runtime_error);
}

}  // namespace
}  // namespace orrery::board
