// SPDX-License-Identifier: Apache-2.0
// Every NF core: configurations, packets in both directions over time, reconfiguration, and its state on its way to
// another instance.
#include "fuzz/json_edits.h"
#include "fuzz/nf_harness.h"

namespace {

using namespace orrery;
using fuzz::Input;
using nlohmann::json;

void run(const fuzz::Kind& kind, Input& in) {
  std::unique_ptr<NfCore> nf;
  const NfFactory make = find_nf(kind.name);
  if (!fuzz::accepted([&] { nf = make(fuzz::edited(kind.config, in), kind.metadata); }))
    nf = make(kind.config, kind.metadata);
  uint64_t now_ns = monotonic_ns();
  for (int steps = 0; !in.empty() && steps < 64; ++steps) {
    const uint8_t what = in.u8();
    if (what % 16 == 0) {
      fuzz::accepted([&] { nf->configure(fuzz::edited(kind.config, in), kind.metadata); });
    } else if (what % 16 == 1) {
      nf->state(1 + in.u8());
      const json exported = nf->export_state(what < 128 ? RowForm::kBinary : RowForm::kArrays);
      const auto other = make(kind.config, kind.metadata);
      fuzz::require(fuzz::accepted([&] { other->import_state(exported); }), "exported state is accepted");
      fuzz::require(fuzz::accepted([&] { nf->import_state(exported); }), "also where it comes from");
    } else if (what % 16 == 2) {
      now_ns += uint64_t{in.u16()} * (what < 128 ? 1'000'000u : 1'000'000'000u);
    } else {
      std::vector<fuzz::FuzzFrame> frames;
      for (int n = 1 + what / 64; n > 0; --n) frames.push_back(fuzz::frame(in));
      fuzz::process(*nf, frames, (what & 32) != 0 ? Direction::kReturn : Direction::kForward, now_ns);
    }
  }
}

}  // namespace

std::vector<orrery::fuzz::Bytes> seeds() {
  std::vector<orrery::fuzz::Bytes> out;
  orrery::testing::Rng rng(2);
  for (const uint8_t kind : orrery::fuzz::kind_bytes()) {
    for (int n = 0; n < (kind < 252 ? 4 : 1); ++n) {
      orrery::fuzz::Bytes seed{kind, static_cast<uint8_t>(n)};
      for (int i = 0; i < 200; ++i) seed.push_back(static_cast<uint8_t>(rng()));
      out.push_back(std::move(seed));
    }
  }
  return out;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in({data, size});
  run(fuzz::kinds()[fuzz::kind_index(in.u8())], in);
  return 0;
}
