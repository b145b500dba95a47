// SPDX-License-Identifier: Apache-2.0
#include "support/state/slots.h"

#include <array>
#include <charconv>

namespace orrery::state {
namespace {

constexpr std::array<uint16_t, 256> crc16_table() {
  std::array<uint16_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1;
    table[byte] = static_cast<uint16_t>(crc);
  }
  return table;
}

std::optional<unsigned> number_below(std::string_view text, unsigned limit) {
  unsigned value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || stop != text.data() + text.size() || value >= limit) return std::nullopt;
  return value;
}

std::optional<Endpoint> endpoint_at(std::string_view host, int64_t port, const Endpoint& asked) {
  if (port < 1 || port > 65535) return std::nullopt;
  Endpoint out{.host = host.empty() ? asked.host : std::string(host), .port = static_cast<uint16_t>(port)};
  if (!is_ip_address(out.host)) return std::nullopt;
  return out;
}

// The `ip` among a node's metadata, where its preferred name is no address.
std::string_view ip_of(const RespValue& node) {
  if (node.size() < 4 || !node.at(3).aggregate()) return {};
  const RespValue metadata = node.at(3);
  for (uint32_t i = 0; i + 1 < metadata.size(); i += 2)
    if (metadata.at(i).text() == "ip") return metadata.at(i + 1).text();
  return {};
}

std::optional<Endpoint> node_endpoint(const RespValue& node, const Endpoint& asked) {
  if (!node.aggregate() || node.size() < 2 || node.at(1).type() != RespType::kInteger) return std::nullopt;
  const int64_t port = node.at(1).integer();
  // A null host means the one that was asked; so does an unknown one.
  const std::string_view host = node.at(0).text() == "?" ? std::string_view() : node.at(0).text();
  if (auto out = endpoint_at(host, port, asked)) return out;
  const std::string_view ip = ip_of(node);
  return ip.empty() ? std::nullopt : endpoint_at(ip, port, asked);
}

std::optional<SlotRange> range_of(const RespValue& range, const Endpoint& asked) {
  if (!range.aggregate() || range.size() < 3) return std::nullopt;
  const RespValue first = range.at(0);
  const RespValue last = range.at(1);
  if (first.type() != RespType::kInteger || last.type() != RespType::kInteger) return std::nullopt;
  if (first.integer() < 0 || first.integer() > last.integer() || last.integer() >= kSlots) return std::nullopt;
  auto master = node_endpoint(range.at(2), asked);
  if (!master) return std::nullopt;
  return SlotRange{static_cast<uint16_t>(first.integer()), static_cast<uint16_t>(last.integer()), *std::move(master)};
}

}  // namespace

uint16_t crc16(std::string_view bytes) {
  static constexpr auto kTable = crc16_table();
  uint32_t crc = 0;
  for (const char byte : bytes) crc = (crc << 8 & 0xffff) ^ kTable[(crc >> 8 ^ static_cast<uint8_t>(byte)) & 0xff];
  return static_cast<uint16_t>(crc);
}

uint16_t slot_of(std::string_view key) {
  const size_t open = key.find('{');
  if (open != std::string_view::npos) {
    const size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  return crc16(key) % kSlots;
}

std::optional<std::vector<SlotRange>> read_slots(const RespValue& answer, const Endpoint& asked) {
  if (answer.type() != RespType::kArray) return std::nullopt;
  std::vector<SlotRange> out;
  bool well_formed = true;
  answer.for_each([&](const RespValue& value) {
    if (auto range = range_of(value, asked)) {
      out.push_back(*std::move(range));
    } else {
      well_formed = false;
    }
  });
  if (!well_formed) return std::nullopt;
  return out;
}

std::optional<Redirection> read_redirection(std::string_view error, const Endpoint& asked) {
  const bool ask = error.starts_with("ASK ");
  if (!ask && !error.starts_with("MOVED ")) return std::nullopt;
  error.remove_prefix(error.find(' ') + 1);
  const size_t space = error.find(' ');
  const size_t colon = error.rfind(':');
  if (space == std::string_view::npos || colon == std::string_view::npos || colon < space) return std::nullopt;
  const auto slot = number_below(error.substr(0, space), kSlots);
  const auto port = number_below(error.substr(colon + 1), 65536);
  if (!slot || !port) return std::nullopt;
  const auto to = endpoint_at(error.substr(space + 1, colon - space - 1), *port, asked);
  if (!to) return std::nullopt;
  return Redirection{ask, static_cast<uint16_t>(*slot), *to};
}

}  // namespace orrery::state
