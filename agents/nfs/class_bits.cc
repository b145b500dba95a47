// SPDX-License-Identifier: Apache-2.0
#include "nfs/class_bits.h"

namespace orrery {
namespace {

uint16_t code_of(const MetadataField& field, std::string_view value) {
  for (const auto& [name, code] : field.values)
    if (name == value && code != 0 && code >> field.width == 0) return static_cast<uint16_t>(code << field.offset);
  throw ConfigError("", "the metadata field of " + field.attribute + " has no usable code for " + std::string(value));
}

}  // namespace

ClassBits::ClassBits(std::span<const MetadataField> metadata, std::string_view attribute,
                     std::initializer_list<std::string_view> values) {
  for (const MetadataField& field : metadata) {
    if (field.attribute != attribute) continue;
    if (field.width == 0 || field.offset + field.width > 16)
      throw ConfigError("", "the metadata field of " + field.attribute + " does not fit into 16 bits");
    mask_ = static_cast<uint16_t>(((1u << field.width) - 1) << field.offset);
    size_t klass = 0;
    for (std::string_view value : values) codes_.at(++klass) = code_of(field, value);
  }
}

}  // namespace orrery
