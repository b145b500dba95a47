// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "container-nf/frame_pump.h"
#include "container-nf/instance.h"
#include "nfs/flow_moves.h"

namespace orrery::container_nf {

constexpr const char* kVersion = "0.1.0";

// Requests that the program answers: the engine's requests as far as they make sense for one NF, and `configure`
// (agents/container-nf/README.md). For the control thread; whatever throws has changed nothing.
class Control {
 public:
  // `instance` is what the pump's NF was made from.
  Control(FramePump& pump, Instance instance, std::string epoch);

  // Result of a method. `shutdown` is called when the request asks for the end. Throws EngineError.
  nlohmann::json call(const std::string& method, const nlohmann::json& params, const std::function<void()>& shutdown);

 private:
  nlohmann::json describe() const;
  nlohmann::json stats();
  void configure(const nlohmann::json& params);
  nlohmann::json copied(StateCopy& copy);
  Slices slices();

  FramePump& pump_;
  Instance instance_;
  std::string epoch_;
};

}  // namespace orrery::container_nf
