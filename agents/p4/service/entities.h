// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "p4/service/instance.h"
#include "p4/service/responses.h"

namespace orrery::p4::service {

// One update. Throws Failure; then nothing has changed.
void apply(Context& context, const pb::Update& update);

// What a client asks to read. Throws Failure.
void read(Context& context, const pb::Entity& entity, Responses& out);

// Updates that bring back what an update is about to change, in the order in which they are to be applied. Empty for
// one that will be refused.
std::vector<pb::Update> inverse_of(Context& context, const pb::Update& update);

// The state of another pipeline in an order in which it can be written: what it has beyond the program's own.
std::vector<pb::Update> state_of(Context& context);

}  // namespace orrery::p4::service
