// SPDX-License-Identifier: Apache-2.0
#include "container-nf/instance.h"

#include <fstream>
#include <stdexcept>

#include "nfs/bytestream/with_bytestream.h"
#include "nfs/metadata_fields.h"
#include "nfs/registry.h"
#include "support/json_fields.h"

namespace orrery::container_nf {
namespace {

constexpr std::string_view kCode = "invalid-config";

Instance parse_instance(const nlohmann::json& value) {
  JsonFields fields(value, "", kCode);
  Instance instance;
  instance.nf = fields.string("nf", 64);
  if (find_nf(instance.nf) == nullptr) fields.fail("nf", "there is no NF called " + instance.nf);
  instance.config = fields.object("config");
  if (const nlohmann::json* metadata = fields.optional("metadata"); metadata != nullptr)
    instance.metadata = parse_metadata(*metadata, "/metadata", kCode);
  fields.done();
  return instance;
}

}  // namespace

std::unique_ptr<NfCore> make_nf(const Instance& instance) {
  try {
    return with_bytestream(find_nf(instance.nf)(instance.config, instance.metadata));
  } catch (const ConfigError& error) {
    throw EngineError(kCode, "/config" + error.pointer, error.what());
  }
}

Loaded load_instance(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " cannot be read");
  const nlohmann::json value = nlohmann::json::parse(file, nullptr, false);
  if (value.is_discarded()) throw std::runtime_error(path + " is not JSON");
  try {
    Instance instance = parse_instance(value);
    auto nf = make_nf(instance);
    return {std::move(instance), std::move(nf)};
  } catch (const EngineError& error) {
    throw std::runtime_error(path + ": " + (error.pointer.empty() ? "it" : error.pointer) + " " + error.what());
  }
}

}  // namespace orrery::container_nf
