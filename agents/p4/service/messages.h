// SPDX-License-Identifier: Apache-2.0
// The messages of P4Runtime under short names: inside orrery::p4, `p4::v1` would be looked for in our namespace.
#pragma once

#include <google/rpc/status.pb.h>
#include <p4/config/v1/p4info.pb.h>
#include <p4/v1/p4runtime.pb.h>

namespace orrery::p4::service {

namespace pb = ::p4::v1;
namespace info = ::p4::config::v1;

}  // namespace orrery::p4::service
