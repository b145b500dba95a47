// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "core/graph.h"
#include "core/schedule/schedule.h"
#include "core/schedule/tree_spec.h"

namespace orrery {

// The schedule of one worker. `tasks`: all of the worker; those that are not in the tree take turns among each other,
// and with the tree: every second run is the tree's while both have work. `nodes`: by index of GraphSpec::modules.
// `tree`: null for none.
std::unique_ptr<Schedule> build_schedule(const ScheduleTreeSpec* tree, std::span<Node* const> tasks,
                                         std::span<const std::unique_ptr<Node>> nodes);

}  // namespace orrery
