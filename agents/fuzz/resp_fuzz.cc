// SPDX-License-Identifier: Apache-2.0
// What a store answers: read in pieces it is what it is when it is read at once, and within the parser's limits.
#include <memory>

#include "fuzz/input.h"
#include "support/state/resp_command.h"
#include "support/state/resp_parser.h"
#include "support/state/slots.h"

namespace {

using orrery::fuzz::Bytes;
using orrery::fuzz::Input;
using orrery::fuzz::require;
using orrery::state::RespParser;
using orrery::state::RespValue;
using State = RespParser::State;

void describe(const RespValue& value, size_t depth, size_t wire_bytes, std::string& out) {
  require(depth <= RespParser::kMaxDepth, "the depth is limited");
  require(value.text().size() <= RespParser::kMaxTextBytes, "a text is limited");
  require(value.size() <= 2 * RespParser::kMaxElements, "an aggregate is limited");
  require(value.encoded().size() <= wire_bytes, "a value lies within its answer");
  out += static_cast<char>('a' + static_cast<int>(value.type()));
  out += std::to_string(value.integer()) + ' ' + std::string(value.text());
  // Reads each byte.
  size_t sum = 0;
  for (const uint8_t byte : value.encoded()) sum += byte;
  out += std::to_string(sum);
  uint32_t elements = 0;
  value.for_each([&](const RespValue& element) {
    ++elements;
    describe(element, depth + 1, wire_bytes, out);
  });
  require(elements == value.size(), "an aggregate has the elements that it says");
}

// What the answers in `wire` say, one after the other, to the first flaw or the end. `give`: how many more bytes come
// at a time.
template <class Give>
std::string read_all(std::span<const uint8_t> wire, Give&& give) {
  std::string out;
  RespParser parser;
  size_t begin = 0;
  size_t end = 0;
  while (end < wire.size()) {
    end = std::min(wire.size(), end + give());
    while (begin < end) {
      // Of exactly its size, so that a sanitizer sees a reading beyond it; elsewhere each time.
      const size_t size = end - begin;
      const auto copy = std::make_unique<uint8_t[]>(size);
      std::copy_n(wire.data() + begin, size, copy.get());
      const std::span<const uint8_t> part(copy.get(), size);
      const State state = parser.parse(part);
      if (state == State::kIncomplete) break;
      if (state == State::kFlawed) {
        require(!parser.flaw().empty(), "a flaw has a text");
        return out + "flawed";
      }
      require(parser.size() != 0 && parser.size() <= size, "an answer lies within what has come");
      const RespValue value = parser.value(part);
      describe(value, 0, size, out);
      const orrery::state::Endpoint asked{.host = "127.0.0.1", .port = 1};
      if (const auto ranges = orrery::state::read_slots(value, asked))
        for (const auto& range : *ranges) require(range.last < orrery::state::kSlots, "a slot is one of the cluster's");
      if (const auto to = orrery::state::read_redirection(value.text(), asked))
        require(to->slot < orrery::state::kSlots && orrery::state::is_ip_address(to->to.host),
                "a redirection is whole");
      begin += parser.size();
      parser.reset();
      out += '\n';
    }
  }
  return out;
}

}  // namespace

std::vector<Bytes> seeds() {
  std::vector<Bytes> out;
  std::string command;
  orrery::state::append_command(command, {"FCALL", "state_add", "1", "state:{chain}:v:syn:10.0.0.1", "41"});
  const std::string texts[] = {
      "+OK\r\n:-42\r\n$5\r\nhello\r\n",
      "-MOVED 3999 127.0.0.1:6381\r\n-ASK 1 ::1:6381\r\n",
      "*3\r\n:1\r\n$-1\r\n*-1\r\n_\r\n,3.14\r\n,inf\r\n#t\r\n#f\r\n(3492890328409238509324850943850943825024385\r\n",
      "!21\r\nSYNTAX invalid syntax\r\n=15\r\ntxt:Some string\r\n",
      "%2\r\n+first\r\n:1\r\n+second\r\n~2\r\n:1\r\n:2\r\n",
      "|1\r\n+key-popularity\r\n%1\r\n$1\r\na\r\n,0.1923\r\n*2\r\n:2039123\r\n|1\r\n+ttl\r\n:3600\r\n:9543892\r\n",
      ">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\nfoo\r\n>2\r\n$10\r\ninvalidate\r\n_\r\n",
      "*1\r\n*3\r\n:0\r\n:16383\r\n*4\r\n$9\r\n127.0.0.1\r\n:7000\r\n$1\r\nx\r\n*2\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n",
      "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
      "%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n*0\r\n$0\r\n\r\n",
      command,
  };
  for (const std::string& text : texts) {
    Bytes seed{1};
    seed.insert(seed.end(), text.begin(), text.end());
    out.push_back(std::move(seed));
  }
  return out;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in({data, size});
  const uint8_t pieces = in.u8();
  const Bytes wire = in.rest();
  const std::string whole = read_all(wire, [&] { return wire.size(); });
  // In single bytes where that is not too slow, otherwise in pieces of some lengths in turn.
  size_t turn = 0;
  const std::string in_pieces = read_all(
      wire, [&]() -> size_t { return wire.size() <= 512 && pieces % 2 == 0 ? 1 : 1 + (++turn * pieces) % 61; });
  require(whole == in_pieces, "pieces give what the whole gives");
  return 0;
}
