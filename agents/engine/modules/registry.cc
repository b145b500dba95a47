// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "core/module_kinds.h"
#include "modules/nf/nf_module.h"

namespace orrery {

extern const ModuleKind kPortIn, kPortOut, kHopIn, kHopOut, kExit, kClassify, kHashSplit, kQueue, kMirror, kMerge,
    kBytestream, kLatencyStamp, kCounter, kSource, kSink;

namespace {

constexpr const ModuleKind* kKinds[] = {
    &kPortIn, &kPortOut, &kHopIn,      &kHopOut,       &kExit,    &kClassify, &kHashSplit, &kQueue,
    &kMirror, &kMerge,   &kBytestream, &kLatencyStamp, &kCounter, &kSource,   &kSink,
};

}  // namespace

const ModuleKind* find_module_kind(std::string_view name) {
  for (const ModuleKind* kind : kKinds)
    if (kind->name == name) return kind;
  for (const ModuleKind& kind : nf_module_kinds())
    if (kind.name == name) return &kind;
  return nullptr;
}

bool is_nf(const ModuleKind& kind) {
  return std::ranges::any_of(nf_module_kinds(), [&](const ModuleKind& nf) { return &nf == &kind; });
}

std::vector<std::string_view> plumbing_kind_names() {
  std::vector<std::string_view> out;
  for (const ModuleKind* kind : kKinds) out.push_back(kind->name);
  return out;
}

std::vector<std::string_view> module_kind_names() {
  std::vector<std::string_view> out = plumbing_kind_names();
  for (const ModuleKind& kind : nf_module_kinds()) out.push_back(kind.name);
  return out;
}

}  // namespace orrery
