// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace orrery::container_nf {

// Leaves this process, which must have one thread, as a user without rights or capabilities and without a way back to
// them. What is open stays open. As root it needs CAP_SETUID and CAP_SETGID. Throws std::system_error when it cannot.
void give_up_privileges();

}  // namespace orrery::container_nf
