// SPDX-License-Identifier: Apache-2.0
// Capture files of Ethernet frames, pcap and pcapng to read, pcap with nanoseconds to write.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

namespace orrery {

class PcapError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct CapturedFrame {
  std::span<const uint8_t> bytes;  // valid until the next call of next()
  uint32_t original_length;        // on the wire; more than bytes.size() when the capture was cut
  uint64_t time_ns;                // since the Unix epoch
};

class PcapReader {
 public:
  // Throws PcapError when the file is no capture or its link type is not Ethernet.
  explicit PcapReader(const std::string& path);
  ~PcapReader();
  PcapReader(const PcapReader&) = delete;
  PcapReader& operator=(const PcapReader&) = delete;

  // False at the end of the file. Throws PcapError on a damaged record.
  bool next(CapturedFrame& frame);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class PcapWriter {
 public:
  explicit PcapWriter(const std::string& path);
  ~PcapWriter();
  PcapWriter(const PcapWriter&) = delete;
  PcapWriter& operator=(const PcapWriter&) = delete;

  void write(std::span<const uint8_t> bytes, uint64_t time_ns);

  // Throws PcapError when what was written did not reach the file.
  void flush();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orrery
