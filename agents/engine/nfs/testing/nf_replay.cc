// SPDX-License-Identifier: Apache-2.0
// Runs an NF on captures and prints what became of each frame, so that boards and models are held against it.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "nfs/registry.h"
#include "support/pcap_file.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr const char* kUsage =
    "usage: nf_replay NF CONFIG FORWARD.pcap [RETURN.pcap]\n"
    "\n"
    "  NF       name of a network function\n"
    "  CONFIG   its configuration: a JSON object, or the name of a file that holds one\n"
    "\n"
    "Prints a JSON object a line for each frame, in order of time; forward frames go before return frames of the same\n"
    "time. index counts the lines; class is the metadata code of the NF's attribute, 0 for none.\n";

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

void replay(NfCore& nf, std::vector<TimedFrame> frames) {
  for (size_t index = 0; index < frames.size(); ++index) {
    auto& [time_ns, in, bytes] = frames[index];
    NfPacket packet{bytes.data(), static_cast<uint32_t>(bytes.size()), parse_packet(bytes), 0};
    NfVerdict verdict;
    nf.process({&packet, 1}, in, {&verdict, 1}, time_ns);
    const json line = {{"index", index},
                       {"verdict", verdict.drop ? "drop" : "pass"},
                       {"drop_reason", verdict.drop ? json(nf.drop_reasons()[verdict.drop_reason]) : json(nullptr)},
                       {"class", packet.metadata}};
    std::printf("%s\n", line.dump().c_str());
  }
}

void run(int argc, char** argv) {
  const NfFactory make = find_nf(argv[1]);
  if (make == nullptr) throw std::runtime_error(std::string("there is no NF called ") + argv[1]);
  const auto nf = make(read_config(argv[2]), metadata_of(argv[1]));
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
