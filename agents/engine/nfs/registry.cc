// SPDX-License-Identifier: Apache-2.0
#include "nfs/registry.h"

#include <algorithm>
#include <array>

#include "nfs/l2-forwarder/l2_forwarder_core.h"

namespace orrery {
namespace {

struct Registration {
  std::string_view kind;
  NfFactory make;
};

constexpr Registration kRegistrations[] = {
    {"l2-forwarder", make_l2_forwarder},
};

constexpr auto kKinds = [] {
  std::array<std::string_view, std::size(kRegistrations)> kinds;
  for (size_t i = 0; i < kinds.size(); ++i) kinds[i] = kRegistrations[i].kind;
  return kinds;
}();

}  // namespace

NfFactory find_nf(std::string_view kind) {
  const auto* it = std::ranges::find(kRegistrations, kind, &Registration::kind);
  return it == std::end(kRegistrations) ? nullptr : it->make;
}

std::span<const std::string_view> nf_kinds() { return kKinds; }

}  // namespace orrery
