// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "support/free_deleter.h"
#include "support/hop_tag.h"

namespace orrery {

// Gives packets identities (support/hop_tag.h) that do not repeat until their 40 bits do (18 minutes), however
// differently packets of one burst have waited before they come here: packets are numbered by the microsecond (1,024
// ns) in which they entered.
class Identities {
 public:
  static constexpr uint32_t kWindowUs = 1u << 18;

  // Throws std::bad_alloc.
  Identities() : slots_(static_cast<uint32_t*>(std::calloc(kWindowUs, sizeof(uint32_t)))) {
    if (slots_ == nullptr) throw std::bad_alloc();
  }

  // Never 0. A packet that comes behind others that entered a window later, or of which 1,023 entered in the same
  // microsecond, is numbered as if it entered now. CLOCK_MONOTONIC; precondition: ingress_ns <= now_ns.
  uint64_t next(uint64_t ingress_ns, uint64_t now_ns) {
    const uint32_t now_us = microsecond_of(now_ns);
    uint32_t us = microsecond_of(ingress_ns);
    uint32_t number = take(us, now_us);
    if (number == 0) [[unlikely]]
      for (us = now_us; (number = take(us, now_us)) == 0; us = (us + 1) & kMicrosecondMask) {
      }
    return uint64_t{us} << kNumberBits | number;
  }

 private:
  static constexpr uint32_t kNumberBits = 10;
  static constexpr uint32_t kMicrosecondMask = static_cast<uint32_t>(kStampMask >> kNumberBits);
  static_assert((1u << kNumberBits) - 1 == kIdentityNumberMask);
  // So far ahead of now may microseconds be that were borrowed for a burst.
  static constexpr uint32_t kAheadUs = 1024;

  static uint32_t microsecond_of(uint64_t ns) { return static_cast<uint32_t>(ns >> kNumberBits) & kMicrosecondMask; }

  static uint32_t age(uint32_t us, uint32_t now_us) { return (now_us + kAheadUs - us) & kMicrosecondMask; }

  // A number of that microsecond; 0: there is none left, or a later one has its slot.
  uint32_t take(uint32_t us, uint32_t now_us) {
    uint32_t& slot = slots_[us % kWindowUs];
    const uint32_t first = us / kWindowUs << kNumberBits, given = slot & kIdentityNumberMask;
    if (slot - given != first || given == 0) {
      const uint32_t slot_us = (slot >> kNumberBits) * kWindowUs + us % kWindowUs;
      if (given != 0 && age(slot_us, now_us) < age(us, now_us)) return 0;
      slot = first;
    }
    if ((slot & kIdentityNumberMask) == kIdentityNumberMask) return 0;
    return ++slot & kIdentityNumberMask;
  }

  // By microsecond modulo the window: the rest of the microsecond that used it last, and how many of its numbers were
  // given out. Memory that is not used yet takes no room.
  std::unique_ptr<uint32_t[], FreeDeleter> slots_;
};

}  // namespace orrery
