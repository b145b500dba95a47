// SPDX-License-Identifier: Apache-2.0
// P4Data and its types (P4Runtime 1.4, 8.5).
#pragma once

#include <span>
#include <string>

#include "p4/core/bytes.h"
#include "p4/service/catalogue.h"

namespace orrery::p4::service {

// Throws Failure, which names `what`: UNIMPLEMENTED for a type that cannot be in a register or digest of v1model,
// INVALID_ARGUMENT for one of more than `most_leaves` numbers.
DataShape shape_of(const info::P4DataTypeSpec& type, const info::P4TypeInfo& types, size_t most_leaves,
                   const std::string& what);

// Numbers of a type.
size_t leaves_of(const DataShape& shape);

// Takes the numbers that the shape needs from the front of `fields`. Precondition: they are there.
void to_data(const DataShape& shape, std::span<const ByteString>& fields, pb::P4Data* out);

// One number. Throws Failure, which begins with `field`.
ByteString from_data(const pb::P4Data& data, DataForm form, uint32_t width, const std::string& field);

}  // namespace orrery::p4::service
