// SPDX-License-Identifier: Apache-2.0
#include "nfs/crypto-tunnel/state.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>

#include "nfs/config_reader.h"

namespace orrery::crypto_tunnel {
namespace {

using nlohmann::json;

constexpr size_t kWordDigits = 16;

std::string digits_of(const std::array<uint64_t, ReplayWindow::kWords>& words) {
  std::string out;
  for (const uint64_t word : words)
    for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[word >> shift & 15];
  return out;
}

std::array<uint64_t, ReplayWindow::kWords> read_words(ConfigReader& reader) {
  const json& value = reader.required("window");
  std::array<uint64_t, ReplayWindow::kWords> words;
  const std::string_view digits = value.is_string() ? value.get_ref<const std::string&>() : std::string_view();
  bool good = digits.size() == kWordDigits * words.size();
  for (size_t i = 0; good && i < words.size(); ++i) {
    const char* at = digits.data() + kWordDigits * i;
    good = std::from_chars(at, at + kWordDigits, words[i], 16).ptr == at + kWordDigits;
  }
  if (!good) reader.fail("window", "must be 256 hexadecimal digits");
  return words;
}

uint32_t read_spi(ConfigReader& reader, const std::string& name, uint32_t lo, uint32_t now_s) {
  const auto spi = static_cast<uint32_t>(reader.integer(name, lo, UINT32_MAX));
  if (spi > now_s && spi - now_s > kMostAheadS)
    reader.fail(name, "names a session that begins more than 30 days ahead of this machine's clock");
  return spi;
}

}  // namespace

json exported(const Sessions& sessions) {
  json inbound = json::array();
  for (const auto& [spi, window] : sessions.inbound)
    if (spi != 0)
      inbound.push_back({{"spi", spi}, {"highest", window.highest()}, {"window", digits_of(window.words())}});
  return {{"outbound_spi", sessions.outbound_spi}, {"inbound", std::move(inbound)}};
}

Sessions imported(const json& state, uint32_t now_s) {
  ConfigReader reader(state, "");
  Sessions out;
  out.outbound_spi = read_spi(reader, "outbound_spi", 0, now_s);
  const json& inbound = reader.array("inbound", 0, out.inbound.size());
  for (size_t i = 0; i < inbound.size(); ++i) {
    ConfigReader session(inbound[i], reader.pointer_to("inbound", i));
    out.inbound[i].spi = read_spi(session, "spi", 1, now_s);
    const auto highest = static_cast<uint32_t>(session.integer("highest", 1, UINT32_MAX));
    out.inbound[i].window = ReplayWindow::restored(highest, read_words(session));
    session.done();
  }
  reader.done();
  return out;
}

}  // namespace orrery::crypto_tunnel
