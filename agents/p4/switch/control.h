// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "p4/service/device.h"
#include "p4/switch/arguments.h"
#include "p4/switch/forwarder.h"

namespace orrery::p4 {

constexpr const char* kVersion = "0.1.0";

// Requests that the program answers (agents/p4/switch/README.md). For the control thread; whatever throws has changed
// nothing.
class SwitchControl {
 public:
  SwitchControl(const Arguments& arguments, Forwarder& forwarder, service::Device& device, std::string epoch)
      : arguments_(arguments), forwarder_(forwarder), device_(device), epoch_(std::move(epoch)) {}

  // Result of a method. `shutdown` is called when the request asks for the end. Throws EngineError.
  nlohmann::json call(const std::string& method, const nlohmann::json& params, const std::function<void()>& shutdown);

 private:
  nlohmann::json describe();
  nlohmann::json stats();
  nlohmann::json set_ports(const nlohmann::json& params);
  std::vector<PortConfig> read_ports(const nlohmann::json& list) const;

  const Arguments& arguments_;
  Forwarder& forwarder_;
  service::Device& device_;
  std::string epoch_;
};

}  // namespace orrery::p4
