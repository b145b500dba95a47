// SPDX-License-Identifier: Apache-2.0
#include "nfs/testing/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<uint64_t> count;

void* counted(size_t size) noexcept {
  ++count;
  return std::malloc(size);
}

void* counted_or_throw(size_t size) {
  if (void* memory = counted(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// Every form without alignment, so that a sanitizer's own never meets one of these.
void* operator new(size_t size) {
  return counted_or_throw(size);
}
void* operator new[](size_t size) {
  return counted_or_throw(size);
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return counted(size);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return counted(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace orrery::testing {

uint64_t allocation_count() {
  return count;
}

}  // namespace orrery::testing
