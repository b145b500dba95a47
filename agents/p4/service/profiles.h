// SPDX-License-Identifier: Apache-2.0
// Actions of table entries, action profile members and groups, one-shot action sets.
#pragma once

#include "p4/service/instance.h"
#include "p4/service/responses.h"

namespace orrery::p4::service {

void write_member(Context& context, pb::Update::Type type, const pb::ActionProfileMember& member);
void read_members(Context& context, const pb::ActionProfileMember& filter, Responses& out);
void write_group(Context& context, pb::Update::Type type, const pb::ActionProfileGroup& group);
void read_groups(Context& context, const pb::ActionProfileGroup& filter, Responses& out);

// The action of an entry; one that is written in one shot gets its group and members in the core, which are noted.
EntryAction action_of(Context& context, const TableSpec& table, const pb::TableAction& action,
                      std::optional<OneShot>& one_shot);
// Precondition: no entry refers to it any more.
void remove_one_shot(Context& context, const TableSpec& table, const OneShot& one_shot);
void write_table_action(Context& context, const TableSpec& table, const EntryAction& action, const OneShot* one_shot,
                        pb::TableAction* out);

// Takes members of groups whose watch port is down out of the choice, and puts others back.
void apply_watch_ports(Context& context);

}  // namespace orrery::p4::service
