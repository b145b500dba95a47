// SPDX-License-Identifier: Apache-2.0
#include "support/pcap_file.h"

#include <pcap/pcap.h>

namespace orrery {

struct PcapReader::Impl {
  pcap_t* handle;
  ~Impl() { pcap_close(handle); }
};

PcapReader::PcapReader(const std::string& path) {
  char error[PCAP_ERRBUF_SIZE] = "";
  pcap_t* handle = pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error);
  if (handle == nullptr) throw PcapError(error);
  impl_ = std::make_unique<Impl>(handle);
  if (pcap_datalink(handle) != DLT_EN10MB) throw PcapError(path + ": link type is not Ethernet");
}

PcapReader::~PcapReader() = default;

bool PcapReader::next(CapturedFrame& frame) {
  pcap_pkthdr* header = nullptr;
  const uint8_t* bytes = nullptr;
  const int result = pcap_next_ex(impl_->handle, &header, &bytes);
  if (result == PCAP_ERROR_BREAK) return false;
  if (result != 1) throw PcapError(pcap_geterr(impl_->handle));
  frame.bytes = {bytes, header->caplen};
  frame.original_length = header->len;
  // With nanosecond precision tv_usec counts nanoseconds (pcap-tstamp(7)).
  frame.time_ns = static_cast<uint64_t>(header->ts.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(header->ts.tv_usec);
  return true;
}

struct PcapWriter::Impl {
  pcap_t* handle = nullptr;
  pcap_dumper_t* dumper = nullptr;
  ~Impl() {
    if (dumper != nullptr) pcap_dump_close(dumper);
    if (handle != nullptr) pcap_close(handle);
  }
};

PcapWriter::PcapWriter(const std::string& path) : impl_(std::make_unique<Impl>()) {
  impl_->handle = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, UINT16_MAX, PCAP_TSTAMP_PRECISION_NANO);
  if (impl_->handle == nullptr) throw PcapError("out of memory");
  impl_->dumper = pcap_dump_open(impl_->handle, path.c_str());
  if (impl_->dumper == nullptr) throw PcapError(pcap_geterr(impl_->handle));
}

PcapWriter::~PcapWriter() = default;

void PcapWriter::write(std::span<const uint8_t> bytes, uint64_t time_ns) {
  pcap_pkthdr header{};
  header.ts.tv_sec = static_cast<time_t>(time_ns / 1'000'000'000u);
  header.ts.tv_usec = static_cast<suseconds_t>(time_ns % 1'000'000'000u);
  header.caplen = header.len = static_cast<uint32_t>(bytes.size());
  pcap_dump(reinterpret_cast<uint8_t*>(impl_->dumper), &header, bytes.data());
}

void PcapWriter::flush() {
  if (pcap_dump_flush(impl_->dumper) != 0 || ferror(pcap_dump_file(impl_->dumper)) != 0)
    throw PcapError("cannot write the capture file");
}

}  // namespace orrery
