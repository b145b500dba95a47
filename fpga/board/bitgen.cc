// SPDX-License-Identifier: Apache-2.0
#include <getopt.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "board/image/writer.h"
#include "board/profile.h"
#include "board/sim/shell_build.h"
#include "board/slot/module.h"

namespace {

using namespace orrery::board;

constexpr const char* kUsage =
    "usage: bitgen --new-key PRIVATE --public-key PUBLIC\n"
    "       bitgen --profile FILE --library DIR --key PRIVATE --output FILE --module NAME [--slot N]\n"
    "       bitgen --profile FILE --library DIR --key PRIVATE --output FILE --full --module NAME|- ...\n"
    "\n"
    "Creates a key pair, or a signed bitstream container of the size that the profile's device expects.\n"
    "\n"
    "  --new-key FILE     output file of the private key (PEM, Ed25519)\n"
    "  --public-key FILE  output file of the public key, for the boards\n"
    "  --profile FILE     device profile\n"
    "  --library DIR      directory of slot modules\n"
    "  --key FILE         private key to sign with\n"
    "  --output FILE      output file of the container\n"
    "  --module NAME      module; in a full image once per slot, - for an empty slot\n"
    "  --slot N           slot of a partial image (default 0)\n"
    "  --full             an image of the whole device\n"
    "  --help             this text\n";

struct Options {
  std::string new_key, public_key, profile, library, key, output;
  std::vector<std::string> modules;
  size_t slot = 0;
  bool full = false;
  bool help = false;
};

// What is wrong with the command line; empty if nothing is.
std::string parse_options(int argc, char** argv, Options& o) {
  static constexpr option kLong[] = {
      {"new-key", required_argument, nullptr, 'n'},
      {"public-key", required_argument, nullptr, 'P'},
      {"profile", required_argument, nullptr, 'p'},
      {"library", required_argument, nullptr, 'l'},
      {"key", required_argument, nullptr, 'k'},
      {"output", required_argument, nullptr, 'o'},
      {"module", required_argument, nullptr, 'm'},
      {"slot", required_argument, nullptr, 's'},
      {"full", no_argument, nullptr, 'f'},
      {"help", no_argument, nullptr, 'h'},
      {nullptr, 0, nullptr, 0},
  };
  for (int c = 0; (c = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
    const std::string value = optarg == nullptr ? "" : optarg;
    switch (c) {
      case 'n':
        o.new_key = value;
        break;
      case 'P':
        o.public_key = value;
        break;
      case 'p':
        o.profile = value;
        break;
      case 'l':
        o.library = value;
        break;
      case 'k':
        o.key = value;
        break;
      case 'o':
        o.output = value;
        break;
      case 'm':
        o.modules.push_back(value);
        break;
      case 's':
        if (value.size() != 1 || value[0] < '0' || value[0] >= '0' + static_cast<int>(kMaxSlots))
          return "--slot must be from 0 to " + std::to_string(kMaxSlots - 1);
        o.slot = static_cast<size_t>(value[0] - '0');
        break;
      case 'f':
        o.full = true;
        break;
      case 'h':
        o.help = true;
        return {};
      default:
        return "unknown option";
    }
  }
  if (optind != argc) return std::string("unexpected argument ") + argv[optind];
  if (!o.new_key.empty()) return o.public_key.empty() ? "--public-key is required" : "";
  if (o.profile.empty() || o.library.empty() || o.key.empty() || o.output.empty() || o.modules.empty())
    return "--profile, --library, --key, --output and --module are required";
  if (!o.full && o.modules.size() != 1) return "a partial image needs exactly one --module";
  return {};
}

void make_image(const Options& o) {
  const Profile profile = read_profile(o.profile);
  const Library library(o.library);
  ImageHeader header;
  header.kind = o.full ? ImageKind::kFull : ImageKind::kPartial;
  header.profile = profile.name;
  header.shell = shell_build(profile.regions.size(), profile.clock_mhz).uuid;
  header.payload_bytes = profile.configuration(header.kind).bytes;
  if (!o.full) {
    if (o.slot >= profile.regions.size()) throw std::runtime_error("the profile has no slot " + std::to_string(o.slot));
    header.region = profile.regions[o.slot].name;
  } else if (o.modules.size() != profile.regions.size()) {
    throw std::runtime_error("the profile has " + std::to_string(profile.regions.size()) + " slots");
  }
  for (const std::string& name : o.modules) {
    const ModuleInfo* module = name == "-" && o.full ? nullptr : library.find(name);
    if (module == nullptr && !(name == "-" && o.full)) throw std::runtime_error("the library has no module " + name);
    header.modules.push_back(module == nullptr ? kNoUuid : module->uuid);
  }
  write_image(o.output, header, PrivateKey::read(o.key));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const std::string problem = parse_options(argc, argv, options); !problem.empty()) {
    std::fprintf(stderr, "bitgen: %s\n%s", problem.c_str(), kUsage);
    return 2;
  }
  if (options.help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  try {
    if (!options.new_key.empty()) {
      const PrivateKey key = PrivateKey::generate();
      key.write_private(options.new_key);
      key.write_public(options.public_key);
    } else {
      make_image(options);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bitgen: %s\n", error.what());
    return 1;
  }
}
