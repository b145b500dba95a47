// SPDX-License-Identifier: Apache-2.0
#include "nfs/metadata_fields.h"

#include "support/json_fields.h"

namespace orrery {
namespace {

MetadataField parse_field(const std::string& attribute, JsonFields fields, std::string_view code) {
  MetadataField field;
  field.attribute = attribute;
  field.offset = static_cast<uint8_t>(fields.integer("offset", 0, 15));
  field.width = static_cast<uint8_t>(fields.integer("width", 1, 16 - field.offset));
  const int64_t largest = (int64_t{1} << field.width) - 1;
  JsonFields values(fields.object("values"), fields.pointer_to("values"), code);
  for (const auto& entry : fields.object("values").items())
    field.values.emplace_back(entry.key(), static_cast<uint16_t>(values.integer(entry.key(), 1, largest)));
  fields.done();
  return field;
}

}  // namespace

std::vector<MetadataField> parse_metadata(const nlohmann::json& value, const std::string& pointer,
                                          std::string_view code) {
  const JsonFields attributes(value, pointer, code);
  std::vector<MetadataField> out;
  for (const auto& [attribute, field] : value.items())
    out.push_back(parse_field(attribute, JsonFields(field, attributes.pointer_to(attribute), code), code));
  return out;
}

}  // namespace orrery
