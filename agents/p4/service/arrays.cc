// SPDX-License-Identifier: Apache-2.0
#include "p4/service/arrays.h"

#include "p4/service/data_types.h"
#include "p4/service/values.h"

namespace orrery::p4::service {
namespace {

void only_modify(pb::Update::Type type, const char* what) {
  if (type != pb::Update::MODIFY) refuse(Code::INVALID_ARGUMENT, std::string(what) + ": can only be modified");
}

// Calls `visit` with each index that the entry means: one, or all of the array without `index`.
template <typename Entry, typename Visit>
void each_index(const Entry& entry, uint64_t size, const std::string& what, const std::string& owner,
                const Visit& visit) {
  if (!entry.has_index()) {
    for (uint64_t i = 0; i < size; ++i) visit(i);
    return;
  }
  const int64_t index = entry.index().index();
  if (index < 0) refuse(Code::INVALID_ARGUMENT, what + ".index: must not be negative");
  if (static_cast<uint64_t>(index) >= size)
    refuse(Code::OUT_OF_RANGE, what + ".index: " + owner + " has " + std::to_string(size) + " cells");
  visit(static_cast<uint64_t>(index));
}

// Reads of one array, or of all where `id` is 0.
template <typename Spec, typename Find, typename Read>
void each_array(const std::vector<Spec>& all, uint32_t id, const Find& find, const Read& read) {
  if (id != 0) return read(find());
  for (const Spec& spec : all) read(spec);
}

uint64_t not_negative(int64_t value, const std::string& field) {
  if (value < 0) refuse(Code::INVALID_ARGUMENT, field + ": must not be negative");
  return static_cast<uint64_t>(value);
}

void no_colour_counters(bool wanted, const char* field) {
  if (wanted) refuse(Code::UNIMPLEMENTED, std::string(field) + ": meters count no packets by colour");
}

}  // namespace

CounterValue counter_of(const pb::CounterData& data, const std::string& field) {
  return {.packets = not_negative(data.packet_count(), field + ".packet_count"),
          .bytes = not_negative(data.byte_count(), field + ".byte_count")};
}

void write_counter(const CounterValue& value, info::CounterSpec::Unit unit, pb::CounterData* out) {
  if (unit != info::CounterSpec::BYTES) out->set_packet_count(static_cast<int64_t>(value.packets));
  if (unit != info::CounterSpec::PACKETS) out->set_byte_count(static_cast<int64_t>(value.bytes));
}

std::optional<MeterRates> rates_of(const pb::MeterConfig& config, const std::string& field) {
  if (config.eburst() != 0) refuse(Code::UNIMPLEMENTED, field + ".eburst: meters are two-rate three-colour");
  const MeterRates rates{.committed_rate = not_negative(config.cir(), field + ".cir"),
                         .committed_burst = not_negative(config.cburst(), field + ".cburst"),
                         .peak_rate = not_negative(config.pir(), field + ".pir"),
                         .peak_burst = not_negative(config.pburst(), field + ".pburst")};
  if (rates.committed_rate > rates.peak_rate) refuse(Code::INVALID_ARGUMENT, field + ".cir: must be at most pir");
  return rates;
}

void write_rates(const MeterRates& rates, pb::MeterConfig* out) {
  out->set_cir(static_cast<int64_t>(rates.committed_rate));
  out->set_cburst(static_cast<int64_t>(rates.committed_burst));
  out->set_pir(static_cast<int64_t>(rates.peak_rate));
  out->set_pburst(static_cast<int64_t>(rates.peak_burst));
}

void write_counter_entry(Context& context, pb::Update::Type type, const pb::CounterEntry& entry) {
  only_modify(type, "counter_entry");
  const CounterSpecOf& spec = context.instance.catalogue.counter(entry.counter_id(), "counter_entry.counter_id");
  CounterArray& array = context.control().counters(spec.index);
  const CounterValue value = counter_of(entry.data(), "counter_entry.data");
  each_index(entry, array.size(), "counter_entry", "counter \"" + spec.name + '"', [&](uint64_t index) {
    if (entry.has_data()) array.write(index, value);
  });
}

void read_counter_entries(Context& context, const pb::CounterEntry& filter, Responses& out) {
  const Catalogue& catalogue = context.instance.catalogue;
  each_array(
      catalogue.counters(), filter.counter_id(),
      [&]() -> auto& { return catalogue.counter(filter.counter_id(), "counter_entry.counter_id"); },
      [&](const CounterSpecOf& spec) {
        const CounterArray& array = context.control().counters(spec.index);
        each_index(filter, array.size(), "counter_entry", "counter \"" + spec.name + '"', [&](uint64_t index) {
          pb::CounterEntry* entry = out.add().mutable_counter_entry();
          entry->set_counter_id(spec.id);
          entry->mutable_index()->set_index(static_cast<int64_t>(index));
          write_counter(array.read(index), spec.unit, entry->mutable_data());
        });
      });
}

void write_meter_entry(Context& context, pb::Update::Type type, const pb::MeterEntry& entry) {
  only_modify(type, "meter_entry");
  no_colour_counters(entry.has_counter_data(), "meter_entry.counter_data");
  const MeterSpecOf& spec = context.instance.catalogue.meter(entry.meter_id(), "meter_entry.meter_id");
  MeterArray& array = context.control().meters(spec.index);
  const auto rates = entry.has_config() ? rates_of(entry.config(), "meter_entry.config") : std::nullopt;
  each_index(entry, array.size(), "meter_entry", "meter \"" + spec.name + '"',
             [&](uint64_t index) { in_core("meter_entry", [&] { array.write(index, rates); }); });
}

void read_meter_entries(Context& context, const pb::MeterEntry& filter, Responses& out) {
  no_colour_counters(filter.has_counter_data(), "meter_entry.counter_data");
  const Catalogue& catalogue = context.instance.catalogue;
  each_array(
      catalogue.meters(),
      filter.meter_id(), [&]() -> auto& { return catalogue.meter(filter.meter_id(), "meter_entry.meter_id"); },
      [&](const MeterSpecOf& spec) {
        const MeterArray& array = context.control().meters(spec.index);
        each_index(filter, array.size(), "meter_entry", "meter \"" + spec.name + '"', [&](uint64_t index) {
          pb::MeterEntry* entry = out.add().mutable_meter_entry();
          entry->set_meter_id(spec.id);
          entry->mutable_index()->set_index(static_cast<int64_t>(index));
          if (const auto rates = array.read(index)) write_rates(*rates, entry->mutable_config());
        });
      });
}

void write_register_entry(Context& context, pb::Update::Type type, const pb::RegisterEntry& entry) {
  only_modify(type, "register_entry");
  const RegisterSpec& spec = context.instance.catalogue.register_of(entry.register_id(), "register_entry.register_id");
  RegisterArray& array = context.control().registers(spec.index);
  const std::string owner = "register \"" + spec.name + '"';
  if (!entry.has_data()) refuse(Code::INVALID_ARGUMENT, "register_entry.data: is missing (" + owner + ")");
  const ByteString value = from_data(entry.data(), spec.form, spec.width, "register_entry.data (" + owner + ")");
  each_index(entry, array.size(), "register_entry", owner, [&](uint64_t index) { array.write(index, value); });
}

void read_register_entries(Context& context, const pb::RegisterEntry& filter, Responses& out) {
  const Catalogue& catalogue = context.instance.catalogue;
  each_array(
      catalogue.registers(), filter.register_id(),
      [&]() -> auto& { return catalogue.register_of(filter.register_id(), "register_entry.register_id"); },
      [&](const RegisterSpec& spec) {
        const RegisterArray& array = context.control().registers(spec.index);
        const DataShape shape{.form = spec.form, .width = spec.width};
        each_index(filter, array.size(), "register_entry", "register \"" + spec.name + '"', [&](uint64_t index) {
          pb::RegisterEntry* entry = out.add().mutable_register_entry();
          entry->set_register_id(spec.id);
          entry->mutable_index()->set_index(static_cast<int64_t>(index));
          const ByteString value = array.read(index);
          std::span<const ByteString> one(&value, 1);
          to_data(shape, one, entry->mutable_data());
        });
      });
}

}  // namespace orrery::p4::service
