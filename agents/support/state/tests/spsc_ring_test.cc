// SPDX-License-Identifier: Apache-2.0
#include "support/state/spsc_ring.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <random>
#include <thread>

#include "support/state/wake_up.h"

namespace orrery::state {
namespace {

bool push_text(SpscRing& ring, std::string_view text, size_t keep_free_bytes = 0) {
  uint8_t* const to = ring.begin_push(text.size(), keep_free_bytes);
  if (to == nullptr) return false;
  std::ranges::copy(text, to);
  ring.commit();
  return true;
}

std::string pop_text(SpscRing& ring) {
  const auto record = ring.front();
  if (record.data() == nullptr) return "none";
  std::string out(record.begin(), record.end());
  ring.pop();
  return out;
}

TEST(SpscRing, GivesRecordsInOrderAndInOnePiece) {
  SpscRing ring(256);
  std::mt19937 rng(1);
  uint64_t next_in = 0, next_out = 0;
  for (int round = 0; round < 2000; ++round) {
    while (push_text(ring, std::string(rng() % 90, static_cast<char>(next_in)))) ++next_in;
    for (uint32_t count = rng() % 5; count > 0 && !ring.empty(); --count) {
      const std::string text = pop_text(ring);
      EXPECT_TRUE(std::ranges::all_of(text, [&](char c) { return c == static_cast<char>(next_out); }));
      ++next_out;
    }
    ring.release();
  }
  while (!ring.empty()) {
    pop_text(ring);
    ++next_out;
  }
  EXPECT_EQ(next_in, next_out);
}

TEST(SpscRing, KeepsThePoppedUntilItsRoomIsGivenBack) {
  SpscRing ring(64);
  ASSERT_TRUE(push_text(ring, "0123456789abcdef"));
  ASSERT_TRUE(push_text(ring, "0123456789abcdef"));
  EXPECT_FALSE(push_text(ring, "0123456789abcdef"));
  const auto record = ring.front();
  ring.pop();
  EXPECT_FALSE(push_text(ring, "0123456789abcdef"));
  EXPECT_EQ(std::string(record.begin(), record.end()), "0123456789abcdef");
  ring.release();
  EXPECT_TRUE(push_text(ring, "0123456789abcdef"));
}

TEST(SpscRing, KeepsRoomFree) {
  SpscRing ring(128);
  EXPECT_TRUE(push_text(ring, "12345678", 112));
  EXPECT_FALSE(push_text(ring, "12345678", 112));
  EXPECT_TRUE(push_text(ring, "12345678", 96));
  EXPECT_FALSE(push_text(ring, std::string(200, 'x')));
}

TEST(SpscRing, HasRecordsWithoutBytes) {
  SpscRing ring(64);
  EXPECT_TRUE(push_text(ring, ""));
  EXPECT_EQ(pop_text(ring), "");
  EXPECT_EQ(pop_text(ring), "none");
}

TEST(SpscRing, RefusesACapacityThatIsNone) {
  for (const size_t capacity : {0u, 32u, 100u})
    EXPECT_THROW(SpscRing ring(capacity), std::invalid_argument) << capacity;
}

TEST(SpscRing, CarriesRecordsBetweenThreads) {
  SpscRing ring(4096);
  constexpr uint32_t kRecords = 100'000;
  std::thread producer([&] {
    std::mt19937 rng(2);
    for (uint32_t n = 0; n < kRecords;) {
      const size_t bytes = 4 + rng() % 60;
      uint8_t* const to = ring.begin_push(bytes);
      if (to == nullptr) {
        std::this_thread::yield();
        continue;
      }
      std::memset(to, static_cast<int>(n & 0xff), bytes);
      std::memcpy(to, &n, sizeof(n));
      ring.commit();
      ++n;
    }
  });
  for (uint32_t n = 0; n < kRecords;) {
    const auto record = ring.front();
    if (record.data() == nullptr) {
      std::this_thread::yield();
      continue;
    }
    uint32_t number = 0;
    std::memcpy(&number, record.data(), sizeof(number));
    ASSERT_EQ(number, n);
    for (const uint8_t byte : record.subspan(sizeof(number))) ASSERT_EQ(byte, n & 0xff);
    ring.pop();
    ring.release();
    ++n;
  }
  producer.join();
  EXPECT_TRUE(ring.empty());
}

// A lost call would leave the consumer asleep: the time limit of the poll ends that with a failure.
TEST(WakeUp, LosesNoCall) {
  SpscRing ring(4096);
  WakeUp wake;
  constexpr uint32_t kRecords = 20'000;
  std::thread producer([&] {
    for (uint32_t n = 0; n < kRecords;) {
      if (push_text(ring, "x")) {
        wake.notify();
        ++n;
      } else {
        std::this_thread::yield();
      }
      if (n % 64 == 0) std::this_thread::yield();
    }
  });
  uint32_t got = 0;
  while (got < kRecords) {
    for (; ring.front().data() != nullptr; ++got) ring.pop();
    ring.release();
    if (got == kRecords) break;
    wake.announce();
    if (ring.empty()) {
      pollfd event{wake.fd(), POLLIN, 0};
      ASSERT_EQ(poll(&event, 1, 20'000), 1) << "asleep with " << got << " of " << kRecords;
    }
    wake.awake();
  }
  producer.join();
}

}  // namespace
}  // namespace orrery::state
