// SPDX-License-Identifier: Apache-2.0
// Multicast groups, clone sessions, parser value sets and the configuration of digests.
#pragma once

#include "p4/service/instance.h"
#include "p4/service/responses.h"

namespace orrery::p4::service {

void write_replication(Context& context, pb::Update::Type type, const pb::PacketReplicationEngineEntry& entry);
void read_replication(Context& context, const pb::PacketReplicationEngineEntry& filter, Responses& out);
void write_value_set(Context& context, pb::Update::Type type, const pb::ValueSetEntry& entry);
void read_value_sets(Context& context, const pb::ValueSetEntry& filter, Responses& out);
void write_digest_entry(Context& context, pb::Update::Type type, const pb::DigestEntry& entry);
void read_digest_entries(Context& context, const pb::DigestEntry& filter, Responses& out);

}  // namespace orrery::p4::service
