// SPDX-License-Identifier: Apache-2.0
#include "nfs/class_bits.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

ClassBits make(const MetadataField& field) {
  return {{&field, 1}, "size", {"mouse", "elephant"}};
}

TEST(ClassBits, ChangesOnlyItsField) {
  const ClassBits bits = make({"size", 4, 3, {{"elephant", 3}, {"mouse", 5}}});
  uint16_t metadata = 0xffff;
  bits.write(metadata, 1);
  EXPECT_EQ(metadata, 0xffdf);
  bits.write(metadata, 2);
  EXPECT_EQ(metadata, 0xffbf);
  bits.write(metadata, 0);
  EXPECT_EQ(metadata, 0xff8f);
}

TEST(ClassBits, WritesNothingWithoutAField) {
  const MetadataField other{"verdict", 0, 2, {}};
  const ClassBits bits({&other, 1}, "size", {"mouse", "elephant"});
  uint16_t metadata = 0x1234;
  for (uint8_t klass : {0, 1, 2}) bits.write(metadata, klass);
  EXPECT_EQ(metadata, 0x1234);
}

TEST(ClassBits, RefusesAFieldThatCannotHoldTheValues) {
  EXPECT_THROW(make({"size", 4, 0, {{"mouse", 1}, {"elephant", 2}}}), ConfigError);
  EXPECT_THROW(make({"size", 15, 2, {{"mouse", 1}, {"elephant", 2}}}), ConfigError);
  EXPECT_THROW(make({"size", 0, 2, {{"mouse", 1}}}), ConfigError);
  EXPECT_THROW(make({"size", 0, 2, {{"mouse", 0}, {"elephant", 2}}}), ConfigError);
  EXPECT_THROW(make({"size", 0, 2, {{"mouse", 1}, {"elephant", 4}}}), ConfigError);
}

}  // namespace
}  // namespace orrery
