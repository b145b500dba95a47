import { nfInstances } from '@orrery/contract';
import { type ClockOf, clocksOf } from '../check/clock.js';
import { partOf } from '../igraph/parts.js';
import { sizedClocks } from '../igraph/sized-clocks.js';
import { sameContent } from '../transition/same-spec.js';
import type { OfferedInput } from './offered.js';

type Kept = ReadonlyMap<string, number>;

/**
 * The clocks for which to size chains, in the order in which to try them. Chains that run keep the clock for which they were
 * sized, so that the number of their instances changes only with their own load. If that leaves no plan, only unchanged ones
 * whose servers are all still there keep theirs, then none. All others are sized for the slowest servers, so that they
 * fit on any, then for faster ones: a server that joins never makes a plan impossible.
 */
export function sizingsFor(input: OfferedInput): ClockOf[] {
  const { chains, infrastructure } = input;
  const running = runningClocks(input);
  const sizings = new Map<string, ClockOf>();
  for (const kept of [running, undisturbed(input, running), new Map<string, number>()]) {
    for (const ghz of clocksOf(infrastructure)) {
      const clockOf: ClockOf = (chainId) => kept.get(chainId) ?? ghz;
      const key = chains.map(({ chain_id }) => clockOf(chain_id)).join();
      if (!sizings.has(key)) sizings.set(key, clockOf);
    }
  }
  return [...sizings.values()];
}

function runningClocks({ base, descriptors }: OfferedInput): Kept {
  return base ? sizedClocks(base, descriptors) : new Map();
}

/** Of the clocks, those of chains that nothing asks to change. */
function undisturbed({ chains, base, infrastructure }: OfferedInput, clocks: Kept): Kept {
  const servers = new Set(infrastructure.servers.map(({ id }) => id));
  const before = new Map(base?.chains.map((chain) => [chain.chain_id, chain]));
  return new Map(
    chains.flatMap((chain) => {
      const { chain_id } = chain;
      const ghz = clocks.get(chain_id);
      const was = before.get(chain_id);
      if (ghz === undefined || !base || !was || !sameContent(was.definition, chain.definition)) return [];
      const stays = nfInstances(partOf(base.graph, chain_id)).every(({ server }) => servers.has(server));
      return stays ? [[chain_id, ghz] as const] : [];
    }),
  );
}
