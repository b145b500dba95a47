// SPDX-License-Identifier: Apache-2.0
#include "p4/core/pipeline.h"

#include <string>

#include "p4/core/in_quotes.h"
#include "p4/core/machine.h"

namespace orrery::p4 {

namespace {

template <class List>
auto& at_index(List& list, uint32_t index, const char* what) {
  if (index >= list.size())
    throw ControlError(Refusal::kNotFound, "there is no " + std::string(what) + " number " + std::to_string(index));
  return list[index];
}

}  // namespace

std::string_view name_of(DropReason reason) {
  switch (reason) {
    case DropReason::kMarkedInIngress:
      return "marked_in_ingress";
    case DropReason::kMarkedInEgress:
      return "marked_in_egress";
    case DropReason::kNoReplicas:
      return "no_replicas";
    case DropReason::kNoSession:
      return "no_session";
    case DropReason::kTooManyPasses:
      return "too_many_passes";
    case DropReason::kTooManyCopies:
      return "too_many_copies";
    case DropReason::kRunt:
      return "runt";
    case DropReason::kTooLong:
      return "too_long";
    case DropReason::kAssertion:
      return "assertion";
    case DropReason::kNoSuchPort:
      return "no_such_port";
    case DropReason::kCount:
      break;
  }
  return "";
}

Pipeline::Pipeline(std::shared_ptr<const Program> program, const PipelineOptions& options)
    : machine_(std::make_unique<Machine>(std::move(program), options)) {}

Pipeline::~Pipeline() = default;

const Program& Pipeline::program() const {
  return *machine_->program;
}

Batch Pipeline::batch() {
  return {*machine_, lock_.take()};
}

Control Pipeline::control() {
  return {*machine_, lock_.take()};
}

void Batch::run(const FrameIn& frame, Sink& sink, PacketTrace* trace) {
  machine_.run(frame, sink, trace);
}

Table& Control::table(uint32_t index) {
  return *at_index(machine_.tables, index, "table");
}

ActionProfile& Control::action_profile(uint32_t index) {
  return *at_index(machine_.profiles, index, "action profile");
}

CounterArray& Control::counters(uint32_t index) {
  return at_index(machine_.counters, index, "counter array");
}

MeterArray& Control::meters(uint32_t index) {
  return at_index(machine_.meters, index, "meter array");
}

RegisterArray& Control::registers(uint32_t index) {
  return at_index(machine_.registers, index, "register array");
}

ValueSet& Control::value_set(uint32_t index) {
  return at_index(machine_.value_sets, index, "value set");
}

Replication& Control::replication() {
  return machine_.replication;
}

void Control::set_crc(std::string_view calculation, const CrcParameters& parameters) {
  const std::vector<Calculation>& all = machine_.program->code->calculations;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].name != calculation) continue;
    if (all[i].hash != HashKind::kCrc16Custom && all[i].hash != HashKind::kCrc32Custom)
      throw ControlError(Refusal::kConstant, "calculation " + all[i].name + " is not a custom CRC");
    machine_.hashes[i].set_parameters(parameters);
    return;
  }
  throw ControlError(Refusal::kNotFound, "there is no calculation " + in_quotes(calculation));
}

void Control::each_idle(uint64_t now_ns, const std::function<void(const IdleEntry&)>& report) {
  for (uint32_t table = 0; table < machine_.tables.size(); ++table)
    machine_.tables[table]->each_idle(now_ns, [&](EntryHandle entry) { report({table, entry}); });
}

const std::array<uint64_t, static_cast<size_t>(DropReason::kCount)>& Control::drops() const {
  return machine_.drops;
}

uint64_t Control::packets_in() const {
  return machine_.packets_in;
}

uint64_t Control::packets_out() const {
  return machine_.packets_out;
}

}  // namespace orrery::p4
