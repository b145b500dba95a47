// SPDX-License-Identifier: Apache-2.0
#include "nfs/nf_core.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "nfs/movable_flows.h"

namespace orrery {
namespace {

constexpr size_t kAllRows = std::numeric_limits<uint32_t>::max();

nlohmann::json at_once(StateCopy& copy, RowForm form) {
  while (copy.copy(kAllRows)) continue;
  return copy.finish(form);
}

}  // namespace

nlohmann::json NfCore::state(size_t limit) const {
  return at_once(*copy_state(limit), RowForm::kArrays);
}

nlohmann::json NfCore::export_state(RowForm form) const {
  return at_once(*copy_flows(), form);
}

void NfCore::import_state(const nlohmann::json& state) {
  const auto import = prepare_import(state, KnownFlows::kMerge);
  while (import->take(kAllRows)) continue;
}

std::vector<std::unique_ptr<MovableFlows>> NfCore::movable_flows() {
  return {};
}

}  // namespace orrery
