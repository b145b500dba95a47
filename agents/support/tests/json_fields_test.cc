// SPDX-License-Identifier: Apache-2.0
#include "support/json_fields.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using nlohmann::json;

std::string pointer_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const EngineError& error) {
    return error.pointer;
  }
  return "none";
}

// A C function reads a text up to its first NUL: `open`, socket addresses, names of interfaces.
TEST(JsonFields, NoTextHasANulAnywhere) {
  for (const std::string text : {"/images/nat.partial", "a"})
    for (size_t at = 0; at <= text.size(); ++at) {
      std::string cut = text;
      cut.insert(at, 1, '\0');
      const json object = json::parse(json{{"a/b", cut}}.dump());
      EXPECT_EQ(pointer_of([&] { JsonFields(object, "/params", "bad-request").string("a/b", 100); }), "/params/a~1b");
      EXPECT_EQ(pointer_of([&] { JsonFields(object, "/params", "bad-request").id("a/b"); }), "/params/a~1b");
      EXPECT_EQ(JsonFields(object, "", "bad-request").pattern("a/b", 100), cut) << "searched, not handed on";
    }
  const json object = {{"a", "Größe\n"}};
  EXPECT_EQ(JsonFields(object, "", "bad-request").string("a", 100), "Größe\n");
}

}  // namespace
}  // namespace orrery
