// SPDX-License-Identifier: Apache-2.0
#include "support/state/resp_parser.h"

#include <gtest/gtest.h>

#include <string>

#include "support/state/resp_command.h"

namespace orrery::state {
namespace {

using ParserState = RespParser::State;

// The answer as text: type letter, and what it says.
std::string shown(const RespValue& value) {
  static constexpr char kLetters[] = "+-:$=,#(_*~%>";
  std::string out(1, kLetters[static_cast<size_t>(value.type())]);
  if (!value.aggregate()) return out + std::string(value.text());
  out += '[';
  value.for_each([&](const RespValue& element) { out += shown(element) + ' '; });
  if (value.size() != 0) out.pop_back();
  return out + ']';
}

std::string parsed(std::string_view text) {
  RespParser parser;
  const ParserState state = parser.parse(as_bytes(text));
  if (state == ParserState::kIncomplete) return "incomplete";
  if (state == ParserState::kFlawed) return "flawed: " + std::string(parser.flaw());
  std::string out = shown(parser.value(as_bytes(text)));
  if (parser.size() != text.size()) out += " and " + std::to_string(text.size() - parser.size());
  return out;
}

TEST(RespParser, ReadsEachType) {
  EXPECT_EQ(parsed("+OK\r\n"), "+OK");
  EXPECT_EQ(parsed("-ERR what\r\n"), "-ERR what");
  EXPECT_EQ(parsed(":-9223372036854775808\r\n"), ":-9223372036854775808");
  EXPECT_EQ(parsed(":+7\r\n"), ":+7");
  EXPECT_EQ(parsed("$5\r\na\r\nbc\r\n"), "$a\r\nbc");
  EXPECT_EQ(parsed("$0\r\n\r\n"), "$");
  EXPECT_EQ(parsed("$-1\r\n"), "_");
  EXPECT_EQ(parsed("*-1\r\n"), "_");
  EXPECT_EQ(parsed("_\r\n"), "_");
  EXPECT_EQ(parsed(",-1.5e300\r\n"), ",-1.5e300");
  EXPECT_EQ(parsed(",inf\r\n"), ",inf");
  EXPECT_EQ(parsed("#t\r\n"), "#t");
  EXPECT_EQ(parsed("(-3492890328409238509324850943850943825024385\r\n"),
            "(-3492890328409238509324850943850943825024385");
  EXPECT_EQ(parsed("!8\r\nERR a\r\nb\r\n"), "-ERR a\r\nb");
  EXPECT_EQ(parsed("=8\r\ntxt:four\r\n"), "=four");
  EXPECT_EQ(parsed("*0\r\n"), "*[]");
  EXPECT_EQ(parsed("*2\r\n:1\r\n*2\r\n$1\r\nx\r\n_\r\n"), "*[:1 *[$x _]]");
  EXPECT_EQ(parsed("~1\r\n#f\r\n"), "~[#f]");
  EXPECT_EQ(parsed("%2\r\n+a\r\n:1\r\n+b\r\n*0\r\n"), "%[+a :1 +b *[]]");
  EXPECT_EQ(parsed(">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n"), ">[$invalidate *[$k]]");
  EXPECT_EQ(parsed("+OK\r\n+next"), "+OK and 5");
}

TEST(RespParser, LeavesAttributesOut) {
  EXPECT_EQ(parsed("|1\r\n+ttl\r\n:9\r\n$1\r\nx\r\n"), "$x");
  EXPECT_EQ(parsed("*2\r\n|1\r\n+ttl\r\n*1\r\n:9\r\n:1\r\n|0\r\n:2\r\n"), "*[:1 :2]");
  EXPECT_EQ(parsed("|1\r\n|1\r\n+a\r\n+b\r\n+ttl\r\n:9\r\n+OK\r\n"), "+OK");
  EXPECT_EQ(parsed("|1\r\n+ttl\r\n:9\r\n"), "incomplete");
}

TEST(RespParser, ReadsWhatComesInPieces) {
  const std::string text = "*4\r\n$5\r\nab\r\nc\r\n|1\r\n+x\r\n:1\r\n%1\r\n+k\r\n$-1\r\n-ERR no\r\n=5\r\ntxt:y\r\n";
  const std::string whole = parsed(text);
  EXPECT_EQ(whole, "*[$ab\r\nc %[+k _] -ERR no =y]");
  for (size_t cut = 1; cut < text.size(); ++cut) {
    RespParser parser;
    EXPECT_EQ(parser.parse(as_bytes(text.substr(0, cut))), ParserState::kIncomplete);
    ASSERT_EQ(parser.parse(as_bytes(text)), ParserState::kComplete);
    EXPECT_EQ(shown(parser.value(as_bytes(text))), whole);
  }
  RespParser parser;
  for (size_t come = 0; come < text.size(); ++come)
    EXPECT_EQ(parser.parse(as_bytes(std::string_view(text).substr(0, come))), ParserState::kIncomplete);
  EXPECT_EQ(parser.parse(as_bytes(text)), ParserState::kComplete);
}

TEST(RespParser, RefusesWhatIsMalformed) {
  for (const char* const text : {"OK\r\n",
                                 "HTTP/1.1 400 Bad Request\r\n",
                                 "\r\n",
                                 "+a\nb\r\n",
                                 "+a\rb\r\n",
                                 ":\r\n",
                                 ":1x\r\n",
                                 ":+-1\r\n",
                                 "$x\r\n",
                                 "$-2\r\n",
                                 "$2\r\nabc\r\n",
                                 "$+1\r\nx\r\n",
                                 "$99999999999\r\n",
                                 "*-2\r\n",
                                 "*x\r\n",
                                 "$?\r\n",
                                 "*?\r\n",
                                 "#x\r\n",
                                 "#tt\r\n",
                                 "_x\r\n",
                                 ",x\r\n",
                                 ",\r\n",
                                 ",1.5x\r\n",
                                 "(12x\r\n",
                                 "(-\r\n",
                                 "=3\r\ntxt\r\n",
                                 "=4\r\ntext\r\n",
                                 "!-1\r\n",
                                 "%-1\r\n",
                                 "~-1\r\n",
                                 ">-1\r\n",
                                 "*1\r\n>1\r\n+x\r\n",
                                 ":9223372036854775808\r\n",
                                 ".\r\n",
                                 "*1\r\n.\r\n"})
    EXPECT_TRUE(parsed(text).starts_with("flawed")) << text;
}

TEST(RespParser, HasLimits) {
  std::string deep;
  for (size_t i = 0; i < RespParser::kMaxDepth; ++i) deep += "*1\r\n";
  EXPECT_TRUE(parsed(deep + ":1\r\n").starts_with("*[*["));
  EXPECT_EQ(parsed(deep + "*1\r\n"), "flawed: aggregates deeper than 8");

  const std::string longest(RespParser::kMaxTextBytes, 'x');
  EXPECT_TRUE(parsed("$65536\r\n" + longest + "\r\n").starts_with("$x"));
  EXPECT_TRUE(parsed("$65537\r\n").starts_with("flawed"));
  EXPECT_EQ(parsed("+" + longest), "flawed: a line of more than 64 KiB");
  EXPECT_EQ(parsed("+" + longest.substr(1)), "incomplete");

  EXPECT_EQ(parsed("*4096\r\n"), "incomplete");
  EXPECT_EQ(parsed("*4097\r\n"), "flawed: more than 4096 elements");
  EXPECT_EQ(parsed("%4096\r\n"), "incomplete");
  EXPECT_EQ(parsed("%4097\r\n"), "flawed: more than 4096 elements");

  std::string large = "*17\r\n";
  for (int i = 0; i < 16; ++i) large += "$65536\r\n" + longest + "\r\n";
  EXPECT_EQ(parsed(large), "flawed: an answer of more than 1 MiB");

  std::string many = "*4096\r\n";
  for (int i = 0; i < 17; ++i) {
    many += "*4096\r\n";
    for (int n = 0; n < 4096; ++n) many += "_\r\n";
  }
  EXPECT_EQ(parsed(many), "flawed: an answer of too many values");
}

TEST(RespParser, GivesAValueAsItCame) {
  const std::string text = "*2\r\n*1\r\n:1\r\n$1\r\nx\r\n";
  RespParser parser;
  ASSERT_EQ(parser.parse(as_bytes(text)), ParserState::kComplete);
  const RespValue value = parser.value(as_bytes(text));
  EXPECT_EQ(as_text(value.encoded()), text);
  EXPECT_EQ(as_text(value.at(0).encoded()), "*1\r\n:1\r\n");
  EXPECT_EQ(as_text(value.at(1).encoded()), "$1\r\nx\r\n");
  EXPECT_EQ(value.at(0).at(0).integer(), 1);
}

TEST(RespCommand, IsAnArrayOfBulkStrings) {
  std::string out;
  append_command(out, {"GET", "a\r\nb", ""});
  EXPECT_EQ(out, "*3\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n$0\r\n\r\n");
  EXPECT_EQ(parsed(out), "*[$GET $a\r\nb $]");
  out.clear();
  CommandWriter writer(out, 1);
  writer.part(size_t{120});
  EXPECT_EQ(out, "*1\r\n$3\r\n120\r\n");
}

}  // namespace
}  // namespace orrery::state
