import { nfInstances } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { sizedClocks } from '../igraph/sized-clocks.js';
import { chainOf } from '../testing/chains.js';
import { descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { makePlan } from './make-plan.js';

const COST = { cycles_per_packet: 100_000, base_latency_us: 0, memory_bytes: 1000 };
const BUSY = {
  ...descriptor('busy'),
  implementations: [
    {
      ...descriptor('busy').implementations[0]!,
      cost: { ...COST, cycles_per_byte: 0, scales_with: { field: 'packet_us', of: 100 } },
    },
  ],
  default_config: { packet_us: 100 },
};
const CATALOGUE = [BUSY, descriptor('plain', { cycles: 1000 })];

/** `config`: of the NF whose cost it tells. */
function plan(config: Record<string, unknown>) {
  const definition = chainOf(
    { a: 'busy', b: 'plain' },
    [
      ['in', 'a'],
      ['a', 'b'],
      ['b', 'out'],
    ],
    {
      rate_bps: 1_000_000,
      slos: [{ id: 'fast', kind: 'latency', percentile: 99, max_us: 1e6 }],
      config: { a: config },
    },
  );
  return makePlan({
    id: 'plan',
    created_ms: 0,
    chains: [{ chain_id: 'p-1', version: 1, definition }],
    descriptors: CATALOGUE,
    infrastructure: rack({ servers: 1, cores: 4, ghz: 1 }),
    base: null,
    budget: { steps: 10 },
  });
}

const shareOf = (config: Record<string, unknown>) => {
  const made = plan(config);
  const node = made.pgraph.nodes.find(({ nf }) => nf === 'busy')!;
  const placed = nfInstances(made.graph).filter(({ nf }) => nf === 'busy');
  return [node.cores_needed, placed.reduce((sum, { core_share }) => sum + core_share, 0)] as const;
};

describe('an NF whose cost its configuration tells', () => {
  it('is counted with what is configured, and with the default where nothing is', () => {
    const [needed, placed] = shareOf({});
    expect(placed).toBeCloseTo(needed, 6);
    expect(shareOf({ packet_us: 100 })).toEqual([needed, placed]);
    for (const packet_us of [1, 50, 200]) {
      const [more, placedMore] = shareOf({ packet_us });
      expect(more / needed).toBeCloseTo(packet_us / 100, 9);
      expect(placedMore / placed).toBeCloseTo(packet_us / 100, 3);
    }
  });

  it('takes longer in predictions, the schedule and the bound of its objective', () => {
    const [quick, slow] = [plan({ packet_us: 100 }), plan({ packet_us: 400 })];
    expect(slow.slos[0]!.predicted).toBeGreaterThan(quick.slos[0]!.predicted + 200);
    expect(slow.slos[0]!.attainable).toBeGreaterThan(quick.slos[0]!.attainable + 200);
    const cycles = ({ schedules: [schedule] }: typeof quick) =>
      schedule!.tasks.reduce((sum, task) => sum + task.useful_cycles_per_second, 0);
    expect(cycles(slow) / cycles(quick)).toBeGreaterThan(3);
  });

  it('still costs next to nothing where it is configured to, and is still sized for a known clock', () => {
    expect(shareOf({ packet_us: 0 })[0]).toBeLessThan(1e-6);
    expect(sizedClocks(plan({ packet_us: 200 }), CATALOGUE)).toEqual(new Map([['p-1', 1]]));
  });
});
