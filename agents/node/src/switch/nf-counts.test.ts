import type { SwitchEntry, SwitchSpec } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { NfCounts } from './nf-counts.js';
import { switchSamples } from './switch-samples.js';

const entry = (table: SwitchEntry['table'], priority: number, nf?: SwitchEntry['nf'], meter?: number): SwitchEntry => ({
  table,
  priority,
  rule_id: 'classify/c.e1',
  match: { fields: {} },
  actions:
    table === 'steer'
      ? [
          { do: 'enter-nfs', nfs: 7 },
          { do: 'next-table', table: 'nf-1' },
        ]
      : [...(meter === undefined ? [] : [{ do: 'meter', meter } as const]), { do: 'drop' }],
  ...(nf ? { nf } : {}),
});
const FIREWALL = 'c.fw.leaf-1';
const LIMITER = 'c.limit.leaf-1';
const SPEC: SwitchSpec = {
  generation: 1,
  ports: [],
  entries: [
    entry('onward', 1),
    entry('nf-1', 9, { instance_id: FIREWALL, drops: 'denied' }),
    entry('nf-1', 1, { instance_id: FIREWALL }),
    entry('nf-2', 1, { instance_id: LIMITER, drops: 'over_rate' }, 5),
    entry('steer', 3),
  ],
  groups: [],
};
const reading = (counts: readonly number[], dropped: number) => ({
  counts: new Map(counts.map((packets, index) => [index, { packets, bytes: 100 * packets }])),
  metered: new Map([[5, { packets: dropped, bytes: 100 * dropped }]]),
});

describe('counts of NFs on a switch', () => {
  it('are what their entries take, less what these and their meters drop', () => {
    const counts = new NfCounts();
    counts.take(SPEC, reading([5, 3, 7, 7, 10], 2));
    expect(counts.samples()).toEqual([
      { instance_id: FIREWALL, packets_in: 10, packets_out: 7, bytes_in: 1000, bytes_out: 700, drops: { denied: 3 } },
      { instance_id: LIMITER, packets_in: 7, packets_out: 5, bytes_in: 700, bytes_out: 500, drops: { over_rate: 2 } },
    ]);
  });

  it('go on when entries are written again, and never fall', () => {
    const counts = new NfCounts();
    counts.take(SPEC, reading([5, 3, 7, 7, 10], 2));
    // The switch has lost everything and has been written again; its meter is ahead of the entry.
    counts.take(SPEC, reading([0, 1, 1, 1, 2], 5));
    expect(counts.samples()).toMatchObject([
      { packets_in: 12, packets_out: 8, drops: { denied: 4 } },
      { packets_in: 8, packets_out: 5, drops: { over_rate: 5 } },
    ]);
    counts.take({ ...SPEC, entries: [entry('steer', 3)] }, reading([9], 0));
    expect(counts.samples()).toEqual([]);
    // Back again, entries and meter count from the beginning.
    counts.take(SPEC, reading([0, 0, 0, 4, 4], 1));
    expect(counts.samples()).toMatchObject([
      { packets_in: 0, packets_out: 0, drops: { denied: 0 } },
      { packets_in: 4, packets_out: 3, drops: { over_rate: 1 } },
    ]);
  });

  it('leave to a rule what it sends on', () => {
    const { rules } = switchSamples(SPEC, reading([5, 3, 7, 7, 10], 2));
    expect(rules).toEqual([{ rule_id: 'classify/c.e1', packets: 5, bytes: 500 }]);
  });
});
