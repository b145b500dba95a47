// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nfs/nf_core.h"

namespace orrery::container_nf {

// What runs in a container: `nf`, `config` and `metadata` of an engine module (contract).
struct Instance {
  std::string nf;
  nlohmann::json config;
  std::vector<MetadataField> metadata;
};

// An instance and the NF that was made from it.
struct Loaded {
  Instance instance;
  std::unique_ptr<NfCore> nf;
};

// Throws std::runtime_error that names the file, and the field by JSON Pointer.
Loaded load_instance(const std::string& path);

// Throws EngineError with a pointer into the instance.
std::unique_ptr<NfCore> make_nf(const Instance& instance);

}  // namespace orrery::container_nf
