// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace orrery::container_nf {

// Returns at SIGTERM or SIGINT. As the first process of a container, it reaps what is left to it.
void hold();

}  // namespace orrery::container_nf
