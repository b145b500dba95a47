// SPDX-License-Identifier: Apache-2.0
// A program with packets in and out as hexadecimal text, and programs made of a few primitives.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "p4/core/pipeline.h"

namespace orrery::p4::testing {

std::string hex_of(std::string_view bytes);
// Spaces are skipped.
ByteString bytes_of(std::string_view hex);

nlohmann::json read_program(const std::string& name);

using Sent = std::vector<std::pair<uint32_t, std::string>>;  // port, hexadecimal bytes

class Switch : public Sink {
 public:
  explicit Switch(const nlohmann::json& program, const PipelineOptions& options = {});

  bool send(const FrameOut& frame) override;
  void digest(DigestSample&& sample) override { digests.push_back(std::move(sample)); }

  // What becomes of a packet.
  Sent run(std::string_view hex, uint32_t port = 0);
  // The only packet that comes out, "" where there is none.
  std::string one(std::string_view hex, uint32_t port = 0);

  uint32_t table(std::string_view name) const;
  ActionCall call(std::string_view table, std::string_view action, const std::vector<uint64_t>& args = {}) const;
  EntryHandle insert(std::string_view table, const std::vector<KeyMatch>& key, const ActionCall& action,
                     int32_t priority = 0, uint64_t idle_timeout_ns = 0);
  uint64_t drops(DropReason reason);

  Pipeline pipeline;
  std::vector<DigestSample> digests;
  PacketTrace trace;
  bool traced = false;
  uint64_t now_ns = 1'000'000'000;
  std::optional<uint32_t> missing_port;

 private:
  Sent sent_;
};

KeyMatch exactly(uint64_t value);
KeyMatch prefix(uint64_t value, uint32_t length);
KeyMatch masked(uint64_t value, uint64_t mask);
KeyMatch between(uint64_t low, uint64_t high);
KeyMatch anything();

// Where a control call is refused, how.
template <class Call>
std::optional<Refusal> refusal(Call&& call) {
  try {
    call();
  } catch (const ControlError& error) {
    EXPECT_STRNE(error.what(), "");
    return error.refusal;
  }
  return std::nullopt;
}

// A program whose packets begin with a header `h` (a: 8 bits, b: 16, c: 32, d: 64, w: 100, v: 200, s: 8 signed, p: 4
// as padding), then `g` of the same type if a is 0xff. Ingress runs the primitives and sends to port 1.
nlohmann::json program_of(const std::vector<nlohmann::json>& primitives);

nlohmann::json field(const std::string& name, const std::string& header = "h");
nlohmann::json number(const std::string& hex);
nlohmann::json expression(const nlohmann::json& value);
nlohmann::json operation(const std::string& op, const nlohmann::json& left, const nlohmann::json& right);
nlohmann::json primitive(const std::string& op, const std::vector<nlohmann::json>& parameters);

// Bytes of `h`, which has 54 of them.
struct Fields {
  uint8_t a = 0;
  uint16_t b = 0;
  uint32_t c = 0;
  uint64_t d = 0;
  std::string w = {};  // hexadecimal
  std::string v = {};
  uint8_t s = 0;
};
std::string header_of(const Fields& fields);

}  // namespace orrery::p4::testing
