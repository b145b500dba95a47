// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <initializer_list>

#include "nfs/nf_core.h"

namespace orrery {

// Where one derived attribute stands in the metadata word. Class n is the attribute's n-th value, class 0 "not set".
class ClassBits {
 public:
  static constexpr size_t kMaxClasses = 16;  // "not set" included

  // Without a field of that name write() changes nothing. Throws ConfigError when the field cannot hold every value.
  ClassBits(std::span<const MetadataField> metadata, std::string_view attribute,
            std::initializer_list<std::string_view> values);

  void write(uint16_t& metadata, uint8_t klass) const {
    metadata = static_cast<uint16_t>((metadata & ~mask_) | codes_[klass]);
  }

 private:
  uint16_t mask_ = 0;
  std::array<uint16_t, kMaxClasses> codes_{};
};

}  // namespace orrery
