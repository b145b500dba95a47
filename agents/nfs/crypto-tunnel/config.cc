// SPDX-License-Identifier: Apache-2.0
#include "nfs/crypto-tunnel/config.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "nfs/config_reader.h"

namespace orrery::crypto_tunnel {
namespace {

using nlohmann::json;

uint32_t read_address(ConfigReader& reader, const std::string& name, const char* absent) {
  const json* value = reader.optional(name);
  const auto address = parse_address(value == nullptr     ? absent
                                     : value->is_string() ? value->get_ref<const std::string&>()
                                                          : std::string_view());
  if (!address || *address == 0) reader.fail(name, "must be an IPv4 address");
  return *address;
}

SharedKey read_key(ConfigReader& reader) {
  const json& value = reader.required("key");
  SharedKey key;
  const std::string_view digits = value.is_string() ? value.get_ref<const std::string&>() : std::string_view();
  bool good = digits.size() == 2 * key.size();
  for (size_t i = 0; good && i < key.size(); ++i) {
    const char* at = digits.data() + 2 * i;
    good = std::from_chars(at, at + 2, key[i], 16).ptr == at + 2;
  }
  if (!good) reader.fail("key", "must be 64 hexadecimal digits (256 bits)");
  if (key == SharedKey{}) reader.fail("key", "must not be zero");
  return key;
}

}  // namespace

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config;
  const bool near = reader.choice_or("mode", {"encrypt", "decrypt"}, "encrypt") == "encrypt";
  config.protects = near ? Direction::kForward : Direction::kReturn;
  const uint32_t near_address = read_address(reader, "near_address", "192.0.2.1");
  const uint32_t far_address = read_address(reader, "far_address", "192.0.2.2");
  if (near_address == far_address) reader.fail("far_address", "must differ from near_address");
  config.tunnel.local = near ? near_address : far_address;
  config.tunnel.peer = near ? far_address : near_address;
  config.tunnel.key = read_key(reader);
  const bool is_128 = reader.choice_or("cipher", {"aes-128-ctr", "aes-256-ctr"}, "aes-128-ctr") == "aes-128-ctr";
  config.tunnel.cipher = is_128 ? Cipher::kAes128 : Cipher::kAes256;
  const bool instructions =
      reader.choice_or("acceleration", {"instructions", "none"}, "instructions") == "instructions";
  config.acceleration = instructions ? Acceleration::kInstructions : Acceleration::kNone;
  const bool udp = reader.choice_or("encapsulation", {"udp", "none"}, "udp") == "udp";
  config.encapsulation = udp ? Encapsulation::kUdp : Encapsulation::kNone;
  config.mtu = static_cast<uint32_t>(reader.integer_or("mtu", 576, 1500, 1500));
  config.clamp_mss = reader.boolean_or("clamp_mss", true);
  config.session_packets = static_cast<uint32_t>(reader.integer_or("session_packets", 1 << 20, UINT32_MAX, UINT32_MAX));
  reader.done();
  return config;
}

}  // namespace orrery::crypto_tunnel
