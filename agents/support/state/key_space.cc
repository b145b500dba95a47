// SPDX-License-Identifier: Apache-2.0
#include "support/state/key_space.h"

#include <algorithm>
#include <stdexcept>

#include "support/json_fields.h"

namespace orrery::state {
namespace {

constexpr size_t kMaxNameLength = 32;

bool is_space_name(std::string_view text) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto inner = [&](char c) { return lower(c) || (c >= '0' && c <= '9') || c == '-'; };
  return !text.empty() && text.size() <= kMaxNameLength && lower(text[0]) && std::ranges::all_of(text, inner);
}

}  // namespace

KeySpace::KeySpace(std::string_view chain, std::string_view name) {
  if (!is_id(chain))
    throw std::invalid_argument("a chain's id names the state, and this is none: " + std::string(chain));
  if (!is_space_name(name))
    throw std::invalid_argument("the name of a kind of state has a lower-case letter and up to 31 of a-z, 0-9 and -: " +
                                std::string(name));
  prefix_ = "state:{" + std::string(chain) + "}:v:" + std::string(name) + ":";
  if (prefix_.size() > kMaxPrefixBytes) throw std::invalid_argument("the names of chain and state are too long");
}

}  // namespace orrery::state
