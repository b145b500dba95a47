// SPDX-License-Identifier: Apache-2.0
// Keys and actions of table entries, to and from the core. What is wrong is a Failure that names field and P4Info name.
#pragma once

#include <string>
#include <vector>

#include "p4/core/table.h"
#include "p4/program/program.h"
#include "p4/service/catalogue.h"

namespace orrery::p4::service {

// `field` is where the list of matches is, for messages.
std::vector<KeyMatch> key_of(const TableSpec& table, const google::protobuf::RepeatedPtrField<pb::FieldMatch>& matches,
                             const char* field);
void write_matches(const std::vector<FieldSpec>& fields, const std::vector<KeyMatch>& key,
                   google::protobuf::RepeatedPtrField<pb::FieldMatch>* out);

// One field; `owner` names the table or value set.
KeyMatch match_of(const FieldSpec& spec, const pb::FieldMatch& match, const std::string& field,
                  const std::string& owner);
// What omitting the field means. Throws Failure for an exact one.
KeyMatch omitted(const FieldSpec& spec, const std::string& field, const std::string& owner);

enum class CallUse : uint8_t { kEntry, kDefault };

// `owner` names the table or action profile.
ActionCall call_of(const std::vector<ActionUse>& uses, const pb::Action& action, CallUse use, const std::string& field,
                   const std::string& owner);
void write_action(const std::vector<ActionUse>& uses, const ActionCall& call, pb::Action* out);

}  // namespace orrery::p4::service
