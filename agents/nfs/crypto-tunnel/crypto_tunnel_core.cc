// SPDX-License-Identifier: Apache-2.0
#include "nfs/crypto-tunnel/crypto_tunnel_core.h"

#include <openssl/crypto.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "nfs/config_reader.h"
#include "nfs/crypto-tunnel/config.h"
#include "nfs/crypto-tunnel/inbound_sessions.h"
#include "nfs/crypto-tunnel/state.h"
#include "nfs/state_copy.h"
#include "nfs/state_import.h"
#include "support/checksum.h"

namespace orrery::crypto_tunnel {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"malformed",     "unsupported",     "too_big", "exhausted",
                                             "not_protected", "unknown_session", "bad_icv", "replayed"};
enum DropReason : uint8_t {
  kMalformed,
  kUnsupported,
  kTooBig,
  kExhausted,
  kNotProtected,
  kUnknownSession,
  kBadIcv,
  kReplayed
};

// Sessions are named for the time at which they begin.
uint32_t unix_time_s() {
  return static_cast<uint32_t>(std::min<time_t>(time(nullptr), UINT32_MAX));
}

uint64_t random_number() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number)) throw std::runtime_error("no random numbers");
  return number;
}

class CryptoTunnel final : public NfCore {
 public:
  explicit CryptoTunnel(const Config& config)
      : config_(config), shared_(crypto_.hash_key(config.tunnel.key)), next_iv_(random_number()) {
    crypto_.accelerate(config.acceleration);
  }

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t) override {
    std::ranges::fill(verdicts, NfVerdict{.drop = false, .drop_reason = 0, .out = in});
    for (size_t begin = 0; begin < packets.size(); begin += kJobs) {
      const size_t count = std::min(packets.size() - begin, kJobs);
      const auto batch = packets.subspan(begin, count);
      const auto out = verdicts.subspan(begin, count);
      if (in == config_.protects) {
        protect(batch, out);
      } else {
        unprotect(batch, out);
      }
    }
  }

  bool resizes() const override { return true; }

  std::span<const std::string_view> drop_reasons() const override { return kDropReasons; }

  std::unique_ptr<NextConfig> prepare(const json& value, std::span<const MetadataField>) const override {
    const Config config = read_config(value);
    return std::make_unique<Next>(config, crypto_.hash_key(config.tunnel.key));
  }

  // Sessions end only where their keys do.
  void take(NextConfig& next) noexcept override {
    const auto& wanted = static_cast<const Next&>(next);
    if (wanted.config.tunnel != config_.tunnel) {
      outbound_.end_after(outbound_.spi());
      inbound_ = {};
    }
    if (wanted.config.session_packets != config_.session_packets) outbound_.end_after(outbound_.spi());
    config_ = wanted.config;
    shared_ = wanted.shared;
    crypto_.accelerate(config_.acceleration);
  }

  std::unique_ptr<StateCopy> copy_state(size_t limit) const override {
    return copy_figures([this] { return figures(); },
                        [limit](const Figures& figures, RowForm) { return view(figures, limit); });
  }

  std::unique_ptr<StateCopy> copy_flows() const override {
    return copy_figures([this] { return sessions(); }, [](const Sessions& it, RowForm) { return exported(it); });
  }

  // A session in which packets are sent stays where it is, for two instances must not count on from one number: the
  // next session here is later than it. What was received is not received again.
  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows) override {
    return import_at_once([this, sessions = imported(state, unix_time_s())] {
      outbound_.end_after(sessions.outbound_spi);
      for (const auto& [spi, window] : sessions.inbound)
        if (spi != 0) inbound_.import(spi, window, crypto_, shared_, config_.tunnel);
    });
  }

 private:
  struct Counters {
    uint64_t protected_packets = 0;
    uint64_t protected_bytes = 0;  // of IP packets before
    uint64_t unprotected_packets = 0;
    uint64_t unprotected_bytes = 0;  // of IP packets after
    uint64_t sessions_sent = 0;
    uint64_t arp = 0;
  };

  struct Figures {
    Sessions sessions;
    uint32_t sent;
    bool near;
    Cipher cipher;
    Acceleration acceleration;
    uint64_t sessions_received;
    Counters counters;
  };

  struct Next final : NextConfig {
    Next(const Config& of, const HashKey& key) : config(of), shared(key) {}
    Config config;
    HashKey shared;
  };

  static NfVerdict drop(DropReason reason, NfVerdict verdict) {
    return {.drop = true, .drop_reason = reason, .out = verdict.out};
  }

  Sessions sessions() const {
    Sessions out{.outbound_spi = outbound_.spi(), .inbound = {}};
    for (size_t i = 0; i < out.inbound.size(); ++i)
      out.inbound[i] = {inbound_.known()[i].spi, inbound_.known()[i].window};
    return out;
  }

  Figures figures() const {
    return {sessions(),
            outbound_.sent(),
            config_.protects == Direction::kForward,
            config_.tunnel.cipher,
            crypto_.acceleration(),
            inbound_.begun(),
            counters_};
  }

  static json view(const Figures& figures, size_t limit) {
    json inbound = json::array();
    for (const auto& [spi, window] : figures.sessions.inbound)
      if (spi != 0 && inbound.size() < limit) inbound.push_back({{"spi", spi}, {"highest_sequence", window.highest()}});
    const Counters& counters = figures.counters;
    json outbound;
    if (figures.sent != 0) outbound = {{"spi", figures.sessions.outbound_spi}, {"sequence", figures.sent}};
    return {{"mode", figures.near ? "encrypt" : "decrypt"},
            {"cipher", figures.cipher == Cipher::kAes128 ? "aes-128-ctr" : "aes-256-ctr"},
            {"acceleration", figures.acceleration == Acceleration::kInstructions ? "instructions" : "none"},
            {"outbound", std::move(outbound)},
            {"inbound", std::move(inbound)},
            {"sessions_sent", counters.sessions_sent},
            {"sessions_received", figures.sessions_received},
            {"protected", {{"packets", counters.protected_packets}, {"bytes", counters.protected_bytes}}},
            {"unprotected", {{"packets", counters.unprotected_packets}, {"bytes", counters.unprotected_bytes}}},
            {"arp", counters.arp}};
  }

  // Whether the frame carries an IP packet; the verdict on all others is final.
  bool takes(const NfPacket& packet, IpPacket& ip, NfVerdict& verdict) {
    switch (l3_of(packet, ip)) {
      case L3::kIp:
        return true;
      case L3::kArp:
        ++counters_.arp;
        return false;
      case L3::kOther:
        verdict = drop(kUnsupported, verdict);
        return false;
      default:
        verdict = drop(kMalformed, verdict);
        return false;
    }
  }

  // Sequence number and keys of the next packet. Two sessions at most serve a batch.
  std::optional<uint32_t> next_sequence(const SessionKeys*& keys) {
    if (outbound_.open())
      if (const auto sequence = outbound_.next()) {
        keys = &outbound_keys_[current_];
        return sequence;
      }
    if (!outbound_.begin(unix_time_s(), config_.session_packets)) return std::nullopt;
    ++counters_.sessions_sent;
    current_ ^= 1;
    derive(crypto_, shared_, config_.tunnel.cipher, config_.tunnel.outbound(), outbound_.spi(),
           outbound_keys_[current_]);
    keys = &outbound_keys_[current_];
    return outbound_.next();
  }

  void protect(std::span<NfPacket> packets, std::span<NfVerdict> verdicts) {
    const uint32_t largest = largest_packet(config_.encapsulation, config_.mtu);
    const Outer outer{config_.tunnel.local, config_.tunnel.peer, config_.encapsulation};
    std::array<CipherJob, kJobs> texts;
    std::array<HashJob, kJobs> hashes;
    std::array<uint8_t*, kJobs> icvs;
    size_t count = 0;
    for (size_t i = 0; i < packets.size(); ++i) {
      NfPacket& packet = packets[i];
      IpPacket ip{};
      if (!takes(packet, ip, verdicts[i])) continue;
      if (ip.bytes > largest || !has_room(packet, ip, config_.encapsulation)) {
        verdicts[i] = drop(kTooBig, verdicts[i]);
        continue;
      }
      const SessionKeys* keys = nullptr;
      const auto sequence = next_sequence(keys);
      if (!sequence) {
        verdicts[i] = drop(kExhausted, verdicts[i]);
        continue;
      }
      if (config_.clamp_mss) clamp_mss(packet.data + ip.offset, ip.bytes, largest);
      const EspPacket esp = encapsulate(packet, ip, outer, outbound_.spi(), *sequence);
      std::memcpy(esp.iv(), &next_iv_, kIvBytes);
      ++next_iv_;
      texts[count] = {&keys->cipher, counter_block(*keys, esp.iv()), esp.text(), esp.text_bytes};
      hashes[count] = {&keys->hash, esp.header, esp.hashed_bytes(), {}};
      icvs[count++] = esp.icv();
      counters_.protected_bytes += ip.bytes;
    }
    counters_.protected_packets += count;
    crypto_.crypt(std::span(texts).first(count));
    crypto_.hash(std::span(hashes).first(count));
    for (size_t n = 0; n < count; ++n) std::memcpy(icvs[n], hashes[n].hash.data(), kIcvBytes);
  }

  struct Received {
    uint8_t index;
    IpPacket ip;
    EspPacket esp;
    Inbound* session;
  };

  // Only what is authentic and new is decrypted.
  void unprotect(std::span<NfPacket> packets, std::span<NfVerdict> verdicts) {
    std::array<Received, kJobs> received;
    std::array<HashJob, kJobs> hashes;
    size_t count = 0;
    for (size_t i = 0; i < packets.size(); ++i) {
      IpPacket ip{};
      if (!takes(packets[i], ip, verdicts[i])) continue;
      const auto esp = esp_of(packets[i], ip, config_.tunnel.peer, config_.tunnel.local);
      if (!esp) {
        verdicts[i] = drop(kNotProtected, verdicts[i]);
        continue;
      }
      Inbound* session = inbound_.find(load_be32(esp->header), crypto_, shared_, config_.tunnel);
      if (session == nullptr) {
        verdicts[i] = drop(kUnknownSession, verdicts[i]);
        continue;
      }
      if (!session->window.admits(load_be32(esp->header + 4))) {
        verdicts[i] = drop(kReplayed, verdicts[i]);
        continue;
      }
      hashes[count] = {&session->keys.hash, esp->header, esp->hashed_bytes(), {}};
      received[count++] = {static_cast<uint8_t>(i), ip, *esp, session};
    }
    crypto_.hash(std::span(hashes).first(count));
    open(packets, verdicts, std::span(received).first(count), hashes);
    inbound_.settle();
  }

  void open(std::span<NfPacket> packets, std::span<NfVerdict> verdicts, std::span<const Received> received,
            std::span<const HashJob> hashes) {
    std::array<CipherJob, kJobs> texts;
    std::array<const Received*, kJobs> authentic;
    size_t count = 0;
    for (size_t n = 0; n < received.size(); ++n) {
      const auto& [index, ip, esp, session] = received[n];
      const uint32_t sequence = load_be32(esp.header + 4);
      if (CRYPTO_memcmp(esp.icv(), hashes[n].hash.data(), kIcvBytes) != 0) {
        verdicts[index] = drop(kBadIcv, verdicts[index]);
      } else if (!session->window.admits(sequence)) {  // twice in this batch
        verdicts[index] = drop(kReplayed, verdicts[index]);
      } else {
        session->window.mark(sequence);
        texts[count] = {&session->keys.cipher, counter_block(session->keys, esp.iv()), esp.text(), esp.text_bytes};
        authentic[count++] = &received[n];
      }
    }
    crypto_.crypt(std::span(texts).first(count));
    const uint32_t largest = largest_packet(config_.encapsulation, config_.mtu);
    for (size_t n = 0; n < count; ++n) {
      const auto& [index, ip, esp, session] = *authentic[n];
      NfPacket& packet = packets[index];
      const uint32_t bytes = decapsulate(packet, ip, esp);
      if (bytes == 0) {
        verdicts[index] = drop(kMalformed, verdicts[index]);
        continue;
      }
      if (config_.clamp_mss) clamp_mss(packet.data + ip.offset, bytes, largest);
      ++counters_.unprotected_packets;
      counters_.unprotected_bytes += bytes;
    }
  }

  Crypto crypto_;
  Config config_;
  HashKey shared_;
  Outbound outbound_;
  std::array<SessionKeys, 2> outbound_keys_;
  size_t current_ = 0;
  uint64_t next_iv_;
  InboundSessions inbound_;
  Counters counters_;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& value, std::span<const MetadataField>) {
  const Config config = read_config(value);
  try {
    return std::make_unique<CryptoTunnel>(config);
  } catch (const std::runtime_error& error) {  // of this machine
    throw ConfigError("/acceleration", error.what());
  }
}

}  // namespace orrery::crypto_tunnel
