// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nfs/nf_core.h"

namespace orrery::box {

// What runs in a box: `nf`, `config` and `metadata` of an engine module (contract).
struct Instance {
  std::string nf;
  nlohmann::json config;
  std::vector<MetadataField> metadata;
};

// Throws std::runtime_error that names the file, and the field by JSON Pointer.
Instance read_instance(const std::string& path);

// Throws EngineError with a pointer into the instance.
Instance parse_instance(const nlohmann::json& value);
std::unique_ptr<NfCore> make_nf(const Instance& instance);

}  // namespace orrery::box
