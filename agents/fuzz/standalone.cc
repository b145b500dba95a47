// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer, so that every build can: on given inputs, or on its seeds and what chance makes
// of them, the same each time.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string_view>

#include "fuzz/input.h"

namespace {

using orrery::fuzz::Bytes;
using Rng = std::mt19937_64;

void run(const Bytes& input) {
  // Of exactly its size, as libFuzzer gives it.
  const auto copy = std::make_unique<uint8_t[]>(input.size());
  std::ranges::copy(input, copy.get());
  LLVMFuzzerTestOneInput(copy.get(), input.size());
}

void mutate(Bytes& input, const Bytes& other, Rng& rng) {
  const auto place = [&](size_t beyond) { return static_cast<ptrdiff_t>(rng() % beyond); };
  static constexpr uint8_t kEdges[] = {0, 1, 0x7f, 0x80, 0xff};
  const size_t size = input.size();
  switch (rng() % 6) {
    case 0:
      if (size != 0) input[rng() % size] ^= static_cast<uint8_t>(1u << rng() % 8);
      break;
    case 1:
      if (size != 0) input[rng() % size] = kEdges[rng() % std::size(kEdges)];
      break;
    case 2:
      input.insert(input.begin() + place(size + 1), static_cast<uint8_t>(rng()));
      break;
    case 3:
      if (size != 0) input.erase(input.begin() + place(size), input.end() - place(2));
      break;
    case 4:
      if (size != 0) input[rng() % size] = static_cast<uint8_t>(rng());
      break;
    default:  // the head of this and the tail of the other
      if (size != 0 && !other.empty()) {
        input.resize(rng() % size);
        input.insert(input.end(), other.begin() + place(other.size()), other.end());
      }
  }
}

Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

}  // namespace

// TARGET FILE...       runs the inputs of the files
// TARGET --seeds DIR   writes the seeds, for libFuzzer
// TARGET --runs N      runs the seeds and N changed ones
int main(int argc, char** argv) {
  const std::string_view option = argc == 3 ? argv[1] : "";
  if (option == "--seeds") {
    std::filesystem::create_directories(argv[2]);
    size_t n = 0;
    for (const Bytes& seed : seeds()) write_file(std::string(argv[2]) + "/seed-" + std::to_string(n++), seed);
  } else if (option == "--runs") {
    const std::vector<Bytes> all = seeds();
    for (const Bytes& seed : all) run(seed);
    // Stays behind when an input ends the process.
    const std::string last = std::string(argv[0]) + ".last-input";
    const int fd = open(last.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    Rng rng(1);
    for (uint64_t n = std::stoull(argv[2]); n > 0; --n) {
      Bytes input = all[rng() % all.size()];
      for (uint64_t changes = 1 + rng() % 8; changes > 0; --changes) mutate(input, all[rng() % all.size()], rng);
      if (ftruncate(fd, std::ssize(input)) != 0 || pwrite(fd, input.data(), input.size(), 0) != std::ssize(input))
        return 1;
      run(input);
    }
    std::filesystem::remove(last);
  } else {
    for (int i = 1; i < argc; ++i) run(read_file(argv[i]));
  }
  return 0;
}
