// SPDX-License-Identifier: Apache-2.0
#include "nfs/crypto-tunnel/crypto.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "nfs/crypto-tunnel/esp_oracle.h"
#include "nfs/crypto-tunnel/replay_window.h"

namespace orrery::crypto_tunnel {
namespace {

using namespace oracle;

constexpr Acceleration kBoth[] = {Acceleration::kInstructions, Acceleration::kNone};

Bytes encrypted(Crypto& crypto, const Bytes& key, const Bytes& nonce_and_iv, Bytes text) {
  CipherKey expanded;
  crypto.expand(key.size() == 16 ? Cipher::kAes128 : Cipher::kAes256, key, expanded);
  CipherJob job{&expanded, {}, text.data(), static_cast<uint32_t>(text.size())};
  std::ranges::copy(nonce_and_iv, job.counter.begin());
  job.counter.back() = 1;
  crypto.crypt({&job, 1});
  return text;
}

Bytes counting(size_t size) {
  Bytes out(size);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

TEST(Crypto, MeetsTheVectorsOfRfc3686) {
  const std::string single = "Single block msg";
  const Bytes text(single.begin(), single.end());
  const struct {
    const char *key, *nonce_and_iv;
    Bytes text;
    const char* encrypted;
  } vectors[] = {
      {"ae6852f8121067cc4bf7a5765577f39e", "000000300000000000000000", text, "e4095d4fb7a7b3792d6175a3261311b8"},
      {"7e24067817fae0d743d6ce1f32539163", "006cb6dbc0543b59da48d90b", counting(32),
       "5104a106168a72d9790d41ee8edad388eb2e1efc46da57c8fce630df9141be28"},
      {"7691be035e5020a8ac6e618529f9a0dc", "00e0017b27777f3f4a1786f0", counting(36),
       "c1cf48a89f2ffdd9cf4652e9efdb72d74540a42bde6d7836d59a5ceaaef3105325b2072f"},
      {"776beff2851db06f4c8a0542c8696f6c6a81af1eec96b4d37fc1d689e6c1c104", "00000060db5672c97aa8f0b2", text,
       "145ad01dbf824ec7560863dc71e3e0c0"},
      {"f6d66d6bd52d59bb0796365879eff886c66dd51a5b6a99744b50590c87a23884", "00faac24c1585ef15a43d875", counting(32),
       "f05e231b3894612c49ee000b804eb2a9b8306b508f839d6a5530831d9344af1c"},
      {"ff7a617ce69148e4f1726e2f43581de2aa62d9f805532edff1eed687fb54153d", "001cc5b751a51d70a1c11148", counting(36),
       "eb6c52821d0bbbf7ce7594462aca4faab407df866569fd07f48cc0b583d6071f1ec0e6b8"},
  };
  Crypto crypto;
  for (const Acceleration acceleration : kBoth) {
    crypto.accelerate(acceleration);
    for (const auto& v : vectors)
      EXPECT_EQ(encrypted(crypto, from_hex(v.key), from_hex(v.nonce_and_iv), v.text), from_hex(v.encrypted)) << v.key;
  }
}

// RFC 4868 2.7.1, keys of 256 bits.
TEST(Crypto, MeetsTheVectorsOfRfc4868) {
  const std::string jefe = "JefeJefeJefeJefeJefeJefeJefeJefe", want = "what do ya want for nothing?", hi = "Hi There";
  Bytes ascending(32);
  std::iota(ascending.begin(), ascending.end(), 1);
  const struct {
    Bytes key, text;
    const char* hash;
  } vectors[] = {
      {Bytes(32, 0x0b), Bytes(hi.begin(), hi.end()),
       "198a607eb44bfbc69903a0f1cf2bbdc5ba0aa3f3d9ae3c1c7a3b1696a0b68cf7"},
      {Bytes(jefe.begin(), jefe.end()), Bytes(want.begin(), want.end()),
       "167f928588c5cc2eef8e3093caa0e87c9ff566a14794aa61648d81621a2a40c6"},
      {Bytes(32, 0xaa), Bytes(50, 0xdd), "cdcb1220d1ecccea91e53aba3092f962e549fe6ce9ed7fdc43191fbde45c30b0"},
      {ascending, Bytes(50, 0xcd), "372efcf9b40b35c2115b1346903d2ef42fced46f0846e7257bb156d3d7b30d3f"},
  };
  Crypto crypto;
  for (const Acceleration acceleration : kBoth) {
    crypto.accelerate(acceleration);
    for (const auto& v : vectors) {
      const HashKey key = crypto.hash_key(std::span(v.key).first<kHashBytes>());
      HashJob job{&key, v.text.data(), static_cast<uint32_t>(v.text.size()), {}};
      crypto.hash({&job, 1});
      EXPECT_EQ(Bytes(job.hash.begin(), job.hash.end()), from_hex(v.hash));
    }
  }
}

TEST(Crypto, GivesTheSameBytesWithInstructionsAndWithout) {
  Crypto crypto;
  for (const size_t key_size : {16, 32}) {
    for (size_t first = 1; first <= 1500; first += kJobs) {
      std::vector<Bytes> results;
      for (const Acceleration acceleration : kBoth) {
        crypto.accelerate(acceleration);
        CipherKey cipher_key;
        crypto.expand(key_size == 16 ? Cipher::kAes128 : Cipher::kAes256, counting(key_size), cipher_key);
        const Bytes key = counting(32);
        const HashKey hash_key = crypto.hash_key(std::span(key).first<kHashBytes>());
        std::vector<Bytes> texts;
        std::vector<CipherJob> ciphers;
        std::vector<HashJob> hashes;
        for (size_t n = 0; n < kJobs; ++n) texts.push_back(counting(first + n));
        for (Bytes& text : texts) {
          const auto bytes = static_cast<uint32_t>(text.size());
          ciphers.push_back({&cipher_key, {static_cast<uint8_t>(bytes)}, text.data(), bytes});
          hashes.push_back({&hash_key, text.data(), bytes, {}});
        }
        crypto.crypt(ciphers);
        crypto.hash(hashes);
        Bytes& all = results.emplace_back();
        for (size_t n = 0; n < kJobs; ++n) {
          all.insert(all.end(), texts[n].begin(), texts[n].end());
          all.insert(all.end(), hashes[n].hash.begin(), hashes[n].hash.end());
        }
      }
      ASSERT_EQ(results[0], results[1]) << first;
    }
  }
}

// Against a set of all that came.
TEST(ReplayWindow, AdmitsEachNumberOnceUntilItIsTooOld) {
  std::mt19937_64 rng(1);
  for (const uint32_t reach : {3u, 70u, 900u, 3000u, 1u << 20}) {
    ReplayWindow window, half[2];
    std::set<uint32_t> came;
    uint32_t highest = 0;
    EXPECT_FALSE(window.admits(0));
    for (int i = 0; i < 20000; ++i) {
      const uint32_t back = static_cast<uint32_t>(rng() % (uint64_t{2} * reach));
      const uint32_t sequence = highest + reach > back ? highest + reach - back : 1;
      const bool fresh =
          sequence != 0 && !came.contains(sequence) && (sequence > highest || highest - sequence < ReplayWindow::kSize);
      ASSERT_EQ(window.admits(sequence), fresh) << sequence << " of " << highest;
      if (!fresh) continue;
      window.mark(sequence);
      if (half[i % 2].admits(sequence)) half[i % 2].mark(sequence);
      came.insert(sequence);
      highest = std::max(highest, sequence);
    }
    EXPECT_EQ(window.highest(), highest);
    half[0].merge(half[1]);
    for (uint32_t age = 0; age < 2 * ReplayWindow::kSize && age < highest; ++age)
      EXPECT_FALSE(half[0].admits(highest - age) && !window.admits(highest - age)) << "a merge opens nothing";
    const auto restored = ReplayWindow::restored(window.highest(), window.words());
    for (uint32_t age = 0; age < 2 * ReplayWindow::kSize && age < highest; ++age)
      EXPECT_EQ(restored.admits(highest - age), window.admits(highest - age));
  }
}

TEST(ReplayWindow, TakesTheLastNumberThereIs) {
  ReplayWindow window;
  window.mark(1);
  window.mark(UINT32_MAX);
  EXPECT_FALSE(window.admits(UINT32_MAX));
  EXPECT_FALSE(window.admits(1));
  EXPECT_TRUE(window.admits(UINT32_MAX - 1));
}

}  // namespace
}  // namespace orrery::crypto_tunnel
