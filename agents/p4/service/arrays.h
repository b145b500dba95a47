// SPDX-License-Identifier: Apache-2.0
// Counters, meters and registers that are addressed by an index.
#pragma once

#include "p4/service/instance.h"
#include "p4/service/responses.h"

namespace orrery::p4::service {

void write_counter_entry(Context& context, pb::Update::Type type, const pb::CounterEntry& entry);
void read_counter_entries(Context& context, const pb::CounterEntry& filter, Responses& out);
void write_meter_entry(Context& context, pb::Update::Type type, const pb::MeterEntry& entry);
void read_meter_entries(Context& context, const pb::MeterEntry& filter, Responses& out);
void write_register_entry(Context& context, pb::Update::Type type, const pb::RegisterEntry& entry);
void read_register_entries(Context& context, const pb::RegisterEntry& filter, Responses& out);

// Values, also of direct counters and meters. What cannot be is a Failure that begins with `field`.
CounterValue counter_of(const pb::CounterData& data, const std::string& field);
void write_counter(const CounterValue& value, info::CounterSpec::Unit unit, pb::CounterData* out);
std::optional<MeterRates> rates_of(const pb::MeterConfig& config, const std::string& field);
void write_rates(const MeterRates& rates, pb::MeterConfig* out);

}  // namespace orrery::p4::service
