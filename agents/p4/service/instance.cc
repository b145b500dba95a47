// SPDX-License-Identifier: Apache-2.0
#include "p4/service/instance.h"

#include <nlohmann/json.hpp>

#include "support/clock.h"

namespace orrery::p4::service {
namespace {

std::shared_ptr<const Program> load(const std::string& device_config) {
  // As values, JSON takes up to fourteen times its size.
  static constexpr size_t kMostBytes = size_t{32} << 20;
  if (device_config.empty()) refuse(Code::INVALID_ARGUMENT, "config.p4_device_config: is empty");
  if (device_config.size() > kMostBytes)
    refuse(Code::RESOURCE_EXHAUSTED, "config.p4_device_config: is longer than 32 MiB");
  const auto json = nlohmann::json::parse(device_config, nullptr, false);
  if (json.is_discarded()) refuse(Code::INVALID_ARGUMENT, "config.p4_device_config: is not JSON");
  try {
    return load_program(json);
  } catch (const ProgramError& error) {
    refuse(error.unsupported ? Code::UNIMPLEMENTED : Code::INVALID_ARGUMENT,
           "config.p4_device_config" + error.pointer + ": " + error.what());
  }
}

Code code_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::kInvalid:
      return Code::INVALID_ARGUMENT;
    case Refusal::kNotFound:
      return Code::NOT_FOUND;
    case Refusal::kAlreadyExists:
      return Code::ALREADY_EXISTS;
    case Refusal::kFull:
      return Code::RESOURCE_EXHAUSTED;
    case Refusal::kConstant:
      return Code::PERMISSION_DENIED;
    case Refusal::kInUse:
      return Code::FAILED_PRECONDITION;
  }
  return Code::UNKNOWN;
}

}  // namespace

Instance::Instance(pb::ForwardingPipelineConfig config_, const InstanceOptions& options, uint64_t generation)
    : config(std::move(config_)),
      program(load(config.p4_device_config())),
      catalogue(config.p4info(), *program),
      pipeline(std::make_shared<Pipeline>(
          program, PipelineOptions{.drop_port = options.drop_port, .start_ns = monotonic_ns(), .seed = generation})),
      running(std::make_shared<Running>(Running{pipeline, PacketHeader(catalogue.packet_in()), generation})),
      packet_out(catalogue.packet_out()),
      entries(catalogue.tables().size()),
      defaults(catalogue.tables().size()),
      profiles(catalogue.profiles().size()) {}

void refuse_as(const ControlError& error, const std::string& field) {
  refuse(code_of(error.refusal), field + ": " + error.what());
}

std::optional<uint32_t> NumberMap::find(uint32_t client) const {
  const auto found = to_core_.find(client);
  return found == to_core_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<uint32_t> NumberMap::client_of(uint32_t core) const {
  const auto found = to_client_.find(core);
  return found == to_client_.end() ? std::nullopt : std::optional(found->second);
}

void NumberMap::add(uint32_t client, uint32_t core) {
  to_core_[client] = core;
  to_client_[core] = client;
}

void NumberMap::remove(uint32_t client) {
  const auto found = to_core_.find(client);
  to_client_.erase(found->second);
  to_core_.erase(found);
}

}  // namespace orrery::p4::service
