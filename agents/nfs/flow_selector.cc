// SPDX-License-Identifier: Apache-2.0
#include "nfs/flow_selector.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "support/json_fields.h"

namespace orrery {

namespace {

using nlohmann::json;

constexpr std::string_view kCode = "invalid-config";
constexpr size_t kMaxTerms = 16;

constexpr std::array<std::pair<std::string_view, bool FlowKey::*>, 5> kFields{{{"ip.src", &FlowKey::ip_src},
                                                                               {"ip.dst", &FlowKey::ip_dst},
                                                                               {"ip.proto", &FlowKey::ip_proto},
                                                                               {"port.src", &FlowKey::port_src},
                                                                               {"port.dst", &FlowKey::port_dst}}};

// Which member of a key a field is. Throws where the flows are not known by it.
bool FlowKey::*known_field(const json& name, const std::string& pointer, const FlowKey& fields) {
  if (!name.is_string()) throw EngineError(kCode, pointer, "must be a string");
  for (const auto& [each, member] : kFields) {
    if (name != each) continue;
    if (fields.*member) return member;
    throw EngineError(kCode, pointer, "the flows of this NF are not known by " + std::string(each));
  }
  throw EngineError(kCode, pointer, "flows are not known by " + name.get<std::string>().substr(0, 40));
}

FlowSelector::HashRange parse_range(const json& value, const std::string& pointer, const FlowKey& fields) {
  JsonFields reader(value, pointer, kCode);
  const json& names = reader.array("key", 1, kFields.size());
  FlowKey key;
  for (size_t i = 0; i < names.size(); ++i) {
    bool FlowKey::*const member = known_field(names[i], reader.pointer_to("key", i), fields);
    if (key.*member) throw EngineError(kCode, reader.pointer_to("key", i), "appears twice");
    key.*member = true;
  }
  const auto lo = static_cast<uint32_t>(reader.integer("lo", 0, kFlowSpace - 1));
  const auto hi = static_cast<uint32_t>(reader.integer("hi", lo + 1, kFlowSpace));
  reader.done();
  return {FlowHash(key), lo, hi};
}

}  // namespace

FlowSelector parse_flow_selector(const json& value, const std::string& pointer, const FlowKey& fields) {
  JsonFields reader(value, pointer, kCode);
  const json& terms = reader.array_or_empty("match", kMaxTerms);
  for (size_t i = 0; i < terms.size(); ++i)
    if (terms[i].is_object() && terms[i].contains("field"))
      known_field(terms[i]["field"], reader.pointer_to("match", i) + "/field", fields);
  FlowSelector selector;
  selector.match = parse_match(terms, reader.pointer_to("match"));
  if (const json* hash = reader.optional("hash"))
    selector.range = parse_range(*hash, reader.pointer_to("hash"), fields);
  reader.done();
  return selector;
}

}  // namespace orrery
