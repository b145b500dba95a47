// SPDX-License-Identifier: Apache-2.0
// Runs an NF on captures and prints what became of each frame, so that boards and models are held against it.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nfs/registry.h"
#include "support/pcap_file.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr const char* kUsage =
    "usage: nf_replay NF CONFIG FORWARD.pcap [RETURN.pcap]\n"
    "       nf_replay NF CONFIG -\n"
    "\n"
    "  NF       name of a network function\n"
    "  CONFIG   its configuration: a JSON object, or the name of a file that holds one\n"
    "\n"
    "Prints a JSON object a line for each frame, in order of time; forward frames go before return frames of the same\n"
    "time. index counts the lines; class is the metadata code of the NF's attribute, 0 for none.\n"
    "\n"
    "With - frames come from standard input, a JSON object a line: time_ns, return (true or false) and frame, its\n"
    "bytes in hexadecimal digits. Each is answered at once, and the answer has frame too: the bytes that leave, null\n"
    "for a drop. So a frame can be made from what became of those before it.\n";

struct TimedFrame {
  uint64_t time_ns;
  Direction in;
  std::vector<uint8_t> bytes;
};

void append_frames(const char* path, Direction in, std::vector<TimedFrame>& frames) {
  PcapReader reader(path);
  CapturedFrame captured;
  while (reader.next(captured))
    frames.push_back({captured.time_ns, in, {captured.bytes.begin(), captured.bytes.end()}});
}

json read_config(const std::string& text) {
  if (text.starts_with('{')) return json::parse(text);
  std::ifstream file(text);
  if (!file) throw std::runtime_error("cannot read " + text);
  return json::parse(file);
}

// The NF's attributes in its descriptor's order from bit 0 on; the n-th value has code n.
std::vector<MetadataField> metadata_of(const std::string& kind) {
  std::ifstream file(std::string(NFS_SOURCE_DIR) + "/" + kind + "/descriptor.json");
  const json descriptor = json::parse(file);
  std::vector<MetadataField> fields;
  for (const json& attribute : descriptor["attributes"]) {
    MetadataField field{attribute["name"], static_cast<uint8_t>(fields.size() * 8), 8, {}};
    for (const json& value : attribute["values"])
      field.values.emplace_back(value["value"], static_cast<uint16_t>(field.values.size() + 1));
    fields.push_back(std::move(field));
  }
  return fields;
}

// What the NF does with the frame, whose bytes become those that leave.
json verdict_on(NfCore& nf, TimedFrame& frame, size_t index) {
  std::vector<uint8_t> buffer(kLeastHeadroom + frame.bytes.size() + kLeastTailroom);
  std::ranges::copy(frame.bytes, buffer.begin() + kLeastHeadroom);
  NfPacket packet{buffer.data() + kLeastHeadroom,
                  static_cast<uint32_t>(frame.bytes.size()),
                  parse_packet(frame.bytes),
                  0,
                  kLeastHeadroom,
                  kLeastTailroom};
  NfVerdict verdict;
  nf.process({&packet, 1}, frame.in, {&verdict, 1}, frame.time_ns);
  frame.bytes.assign(packet.data, packet.data + packet.length);
  return {{"index", index},
          {"verdict", verdict.drop ? "drop" : "pass"},
          {"drop_reason", verdict.drop ? json(nf.drop_reasons()[verdict.drop_reason]) : json(nullptr)},
          {"class", packet.metadata}};
}

void replay(NfCore& nf, std::vector<TimedFrame> frames) {
  for (size_t index = 0; index < frames.size(); ++index)
    std::printf("%s\n", verdict_on(nf, frames[index], index).dump().c_str());
}

std::vector<uint8_t> from_hex(const std::string& digits) {
  std::vector<uint8_t> bytes(digits.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char* at = digits.data() + 2 * i;
    if (std::from_chars(at, at + 2, bytes[i], 16).ptr != at + 2) throw std::runtime_error("frame: not hexadecimal");
  }
  if (digits.size() % 2 != 0) throw std::runtime_error("frame: half a byte");
  return bytes;
}

std::string to_hex(std::span<const uint8_t> bytes) {
  std::string digits;
  for (const uint8_t byte : bytes) {
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

void converse(NfCore& nf) {
  std::string line;
  for (size_t index = 0; std::getline(std::cin, line); ++index) {
    const json asked = json::parse(line);
    TimedFrame frame{asked.at("time_ns").get<uint64_t>(),
                     asked.at("return").get<bool>() ? Direction::kReturn : Direction::kForward,
                     from_hex(asked.at("frame").get<std::string>())};
    json answer = verdict_on(nf, frame, index);
    answer["frame"] = answer["verdict"] == "drop" ? json(nullptr) : json(to_hex(frame.bytes));
    std::printf("%s\n", answer.dump().c_str());
    std::fflush(stdout);
  }
}

void run(int argc, char** argv) {
  const NfFactory make = find_nf(argv[1]);
  if (make == nullptr) throw std::runtime_error(std::string("there is no NF called ") + argv[1]);
  const auto nf = make(read_config(argv[2]), metadata_of(argv[1]));
  if (argc == 4 && std::string_view(argv[3]) == "-") return converse(*nf);
  std::vector<TimedFrame> frames;
  append_frames(argv[3], Direction::kForward, frames);
  if (argc == 5) append_frames(argv[4], Direction::kReturn, frames);
  std::ranges::stable_sort(frames, {}, &TimedFrame::time_ns);
  replay(*nf, std::move(frames));
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fputs(orrery::kUsage, stderr);
    return 2;
  }
  try {
    orrery::run(argc, argv);
    return 0;
  } catch (const orrery::ConfigError& error) {
    std::fprintf(stderr, "nf_replay: configuration %s %s\n", error.pointer.c_str(), error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nf_replay: %s\n", error.what());
  }
  return 1;
}
