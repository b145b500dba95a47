// SPDX-License-Identifier: Apache-2.0
// Operations a second of packet threads through the proxy, and cached look-ups a second. One JSON object a line.
#include <getopt.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/clock.h"
#include "support/state/proxy.h"
#include "support/state/resp_command.h"
#include "support/state/resp_parser.h"

namespace {

using namespace orrery::state;
using orrery::monotonic_ns;

constexpr uint64_t kNsPerS = 1'000'000'000;

const char* const kUsage =
    "usage: orrery-state-bench --store ADDRESS [--clients N] [--window N] [--keys N] [--value-bytes N] [--seconds N]\n"
    "                          [--stub]\n"
    "ADDRESS: unix:/path, redis://[user[:password]@]host:port or redis+cluster://... (no TLS)\n"
    "--window: requests that each client has under way; --stub: also loads state_version\n"
    "Loads the function library orrery_state_bench into the store, and writes keys of the chain `bench`.\n";

struct Options {
  std::string store;
  size_t clients = 1;
  size_t window = 64;
  size_t keys = 10'000;
  size_t value_bytes = 64;
  uint64_t seconds = 3;
  bool stub = false;
  bool help = false;
};

constexpr std::string_view kLibrary = R"(#!lua name=orrery_state_bench
redis.register_function('bench_put', function(keys, arguments) redis.call('SET', keys[1], arguments[1]); return 1 end)
redis.register_function('bench_add', function(keys, arguments) return redis.call('INCRBY', keys[1], arguments[1]) end)
)";
constexpr std::string_view kStub = R"(#!lua name=orrery_state_stub
redis.register_function{function_name = 'state_version', callback = function() return 1 end, flags = {'no-writes'}}
)";

// One command on a connection of its own; throws what the store refuses.
void command_at(const StoreAddress& store, const Endpoint& endpoint, std::initializer_list<std::string_view> parts) {
  const SocketAddress address = socket_address_of(endpoint);
  const int fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string out;
  if (!store.password.empty())
    append_command(out, {"AUTH", store.user.empty() ? "default" : store.user, store.password});
  append_command(out, parts);
  std::string in;
  bool answered = connect(fd, address.get(), address.length) == 0 &&
                  send(fd, out.data(), out.size(), MSG_NOSIGNAL) == std::ssize(out);
  for (int left = store.password.empty() ? 1 : 2; answered && left > 0;) {
    RespParser parser;
    if (parser.parse(as_bytes(in)) == RespParser::State::kComplete) {
      const RespValue value = parser.value(as_bytes(in));
      if (value.type() == RespType::kError) throw std::runtime_error(std::string(value.text()));
      in.erase(0, parser.size());
      --left;
      continue;
    }
    char buffer[4096];
    const ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
    answered = got > 0;
    if (answered) in.append(buffer, static_cast<size_t>(got));
  }
  close(fd);
  if (!answered) throw std::runtime_error(endpoint.text() + " does not answer");
}

std::string key_name(size_t client, size_t n) {
  return std::to_string(client).append("-").append(std::to_string(n));
}

// Keeps `window` requests under way until the time is over; returns how many were answered with a value.
template <class Ask>
uint64_t keep_asking(PacketSide& side, size_t window, uint64_t end_ns, Ask&& ask) {
  std::vector<Reply> replies(window);
  uint64_t answered = 0, next = 0;
  size_t under_way = 0;
  for (bool over = false; !over || under_way > 0;) {
    const uint64_t now_ns = monotonic_ns();
    over = now_ns >= end_ns;
    while (!over && under_way < window && ask(next, now_ns)) {
      ++next;
      ++under_way;
    }
    const size_t got = side.take(replies);
    under_way -= got;
    for (const Reply& reply : std::span(replies).first(got)) answered += reply.outcome == Outcome::kValue ? 1 : 0;
    if (got == 0) std::this_thread::yield();
  }
  return answered;
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options),
        space_("bench", "bench"),
        value_(options.value_bytes, 'v'),
        proxy_({.store = StoreAddress::parse(options.store), .name = "bench", .deadline_ms = 10'000}) {}

  void run() {
    for (int tries = 0; !proxy_.figures().connected; ++tries) {
      if (tries == 500) throw std::runtime_error("not connected: " + proxy_.figures().reason);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    fill();
    measure("fetch", [&](PacketSide& side, size_t client, uint64_t n, uint64_t now_ns) {
      const std::string key = key_name(client, n % options_.keys);
      return side.fetch(n, space_.key(as_bytes(key)), now_ns);
    });
    measure("put", [&](PacketSide& side, size_t client, uint64_t n, uint64_t now_ns) {
      const std::string key = key_name(client, n % options_.keys);
      const StoreKey keys[] = {space_.key(as_bytes(key))};
      const Bytes arguments[] = {as_bytes(value_)};
      return side.call(n, "bench_put", keys, arguments, now_ns);
    });
    measure("add", [&](PacketSide& side, size_t client, uint64_t n, uint64_t now_ns) {
      const std::string key = std::to_string(client).append("-sum");
      const StoreKey keys[] = {space_.key(as_bytes(key))};
      const Bytes arguments[] = {as_bytes("1")};
      return side.call(n, "bench_add", keys, arguments, now_ns);
    });
    measure_look_ups();
  }

 private:
  void fill() {
    const auto side = proxy_.attach({.cache_entries = 0});
    std::vector<Reply> replies(64);
    const size_t total = options_.clients * options_.keys;
    for (size_t put = 0, answered = 0; answered < total; answered += side->take(replies)) {
      for (; put < total; ++put) {
        const std::string key = key_name(put / options_.keys, put % options_.keys);
        const StoreKey keys[] = {space_.key(as_bytes(key))};
        const Bytes arguments[] = {as_bytes(value_)};
        if (!side->call(put, "bench_put", keys, arguments, monotonic_ns())) break;
      }
    }
  }

  template <class Ask>
  void measure(const char* what, Ask&& ask) {
    const orrery::Histogram before = proxy_.figures().fetch_latency;
    std::atomic<uint64_t> answered{0};
    const uint64_t begin_ns = monotonic_ns();
    std::vector<std::thread> threads;
    threads.reserve(options_.clients);
    for (size_t client = 0; client < options_.clients; ++client)
      threads.emplace_back([&, client] {
        const auto side = proxy_.attach({.cache_entries = 0});
        answered += keep_asking(*side, options_.window, begin_ns + options_.seconds * kNsPerS,
                                [&](uint64_t n, uint64_t now_ns) { return ask(*side, client, n, now_ns); });
      });
    for (std::thread& thread : threads) thread.join();
    const double seconds = static_cast<double>(monotonic_ns() - begin_ns) / static_cast<double>(kNsPerS);
    std::printf(R"({"case":"%s","clients":%zu,"window":%zu,"keys":%zu,"value_bytes":%zu,"per_s":%.0f)", what,
                options_.clients, options_.window, options_.keys, options_.value_bytes,
                static_cast<double>(answered) / seconds);
    orrery::Histogram latency = proxy_.figures().fetch_latency;
    latency.subtract(before);
    if (latency.count() != 0)
      std::printf(R"(,"latency_p50_us":%.1f,"latency_p99_us":%.1f)", quantile_us(latency, 0.5),
                  quantile_us(latency, 0.99));
    std::printf("}\n");
    std::fflush(stdout);
  }

  static double quantile_us(const orrery::Histogram& histogram, double part) {
    const auto wanted = static_cast<uint64_t>(part * static_cast<double>(histogram.count()));
    uint64_t seen = 0;
    for (const auto& [bucket, count] : histogram.sparse()) {
      seen += count;
      if (seen > wanted) return static_cast<double>(orrery::Histogram::bucket_lower_ns(bucket)) / 1e3;
    }
    return 0;
  }

  // On one thread, which looks at all keys in turn and fetches what is missing.
  void measure_look_ups() {
    const auto side =
        proxy_.attach({.cache_entries = static_cast<uint32_t>(2 * options_.keys), .cache_bytes = size_t{256} << 20});
    std::vector<std::string> keys;
    keys.reserve(options_.keys);
    for (size_t n = 0; n < options_.keys; ++n) keys.push_back(key_name(0, n));
    std::vector<Reply> replies(64);
    uint64_t looks = 0, hits = 0;
    uint64_t begin_ns = monotonic_ns();
    for (int round = 0; round < 2; ++round) {
      looks = hits = 0;
      begin_ns = monotonic_ns();
      for (uint64_t now_ns = begin_ns;
           now_ns < begin_ns + options_.seconds * kNsPerS / (2 - static_cast<uint64_t>(round));
           now_ns = monotonic_ns()) {
        side->take(replies);
        for (int n = 0; n < 32; ++n, ++looks) {
          const StoreKey key = space_.key(as_bytes(keys[looks % keys.size()]));
          if (side->find(key, now_ns).hit) {
            ++hits;
          } else if (side->outstanding() < options_.window) {
            side->fetch(looks, key, now_ns);
          }
        }
      }
    }
    const double seconds = static_cast<double>(monotonic_ns() - begin_ns) / static_cast<double>(kNsPerS);
    std::printf(R"({"case":"look_up","keys":%zu,"value_bytes":%zu,"per_s":%.0f,"hits":%.4f})"
                "\n",
                options_.keys, options_.value_bytes, static_cast<double>(looks) / seconds,
                static_cast<double>(hits) / static_cast<double>(looks));
  }

  const Options options_;
  const KeySpace space_;
  const std::string value_;
  Proxy proxy_;
};

Options read_options(int argc, char** argv) {
  static constexpr option kLong[] = {{"store", required_argument, nullptr, 's'},
                                     {"clients", required_argument, nullptr, 'c'},
                                     {"window", required_argument, nullptr, 'w'},
                                     {"keys", required_argument, nullptr, 'k'},
                                     {"value-bytes", required_argument, nullptr, 'v'},
                                     {"seconds", required_argument, nullptr, 't'},
                                     {"stub", no_argument, nullptr, 'x'},
                                     {"help", no_argument, nullptr, 'h'},
                                     {nullptr, 0, nullptr, 0}};
  Options out;
  for (int c = 0; (c = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
    const auto number = [] { return static_cast<size_t>(std::stoul(optarg)); };
    if (c == 's') out.store = optarg;
    if (c == 'c') out.clients = number();
    if (c == 'w') out.window = number();
    if (c == 'k') out.keys = number();
    if (c == 'v') out.value_bytes = number();
    if (c == 't') out.seconds = number();
    if (c == 'x') out.stub = true;
    if (c == 'h') out.help = true;
    if (c == '?') throw std::invalid_argument("");
  }
  if (out.help) return out;
  if (out.store.empty() || optind != argc || out.clients == 0 || out.window == 0 || out.window > 4096 ||
      out.keys == 0 || out.value_bytes > kMaxValueBytes)
    throw std::invalid_argument("");
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = read_options(argc, argv);
    if (options.help) {
      std::fputs(kUsage, stdout);
      return 0;
    }
    const StoreAddress store = StoreAddress::parse(options.store);
    for (const Endpoint& endpoint : store.endpoints) {
      command_at(store, endpoint, {"FUNCTION", "LOAD", "REPLACE", kLibrary});
      if (options.stub) command_at(store, endpoint, {"FUNCTION", "LOAD", "REPLACE", kStub});
    }
    Bench(options).run();
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s\n", *error.what() != '\0' ? error.what() : kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
