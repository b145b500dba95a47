import type { SwitchSpec } from '@orrery/contract';
import { expect, it } from 'vitest';
import { splitSamples } from './split-samples.js';

type Entry = SwitchSpec['entries'][number];
const [A, B] = ['02:0e:00:01:00:00', '02:0e:00:02:00:00'];

/** An entry of split 1 that sends flows of a match to a target; `keeps`: and keeps them there. */
function entry(flow_id: NonNullable<Entry['match']['fields']['flow_id']>, mac: string, keeps = true): Entry {
  const keep = { do: 'keep-flow' as const, split: 1, capacity: 9, idle_timeout_s: 60 };
  return {
    ...{ table: 'split', priority: 1, rule_id: 'classify/p.e1' },
    match: { fields: { split: { value: 1, mask: 0xffff }, flow_id } },
    actions: [...(keeps ? [keep] : []), { do: 'set-mac', field: 'eth.dst', mac }],
  };
}

const ENTRIES = [
  entry({ value: 0, mask: 0xc000 }, A!),
  entry({ value: 0x4000, mask: 0xf000 }, B!),
  entry({ lo: 0x5000, hi: 0xffff }, B!),
];
const kept = (flow_id: number, mac: string) => ({ split: 1, flow_id, mac, packets: 2 });

it('tells which flows stay although the ranges send them elsewhere', () => {
  const flows = [
    kept(0x3fff, A!),
    kept(0x3fff, B!),
    kept(0x4001, B!),
    kept(0x4001, A!),
    kept(0x5000, B!),
    kept(0xffff, A!),
  ];
  const [sample] = splitSamples(ENTRIES, new Map([[0, { packets: 10, bytes: 0 }]]), flows, new Map());
  expect(sample!.targets).toEqual([
    { to: { kind: 'hop', hop: 1 }, packets: 16, flows: 3, exceptions: 2 },
    { to: { kind: 'hop', hop: 2 }, packets: 6, flows: 3, exceptions: 1 },
  ]);
});

it('tells packets of flows that the switch had no room to keep, and not what it does not count', () => {
  const [tracking] = splitSamples(ENTRIES, new Map(), [], new Map([[1, 5]]));
  expect(tracking).toMatchObject({ tracks_flows: true, untracked: 5, displaced: null });
  const [plain] = splitSamples([entry({ lo: 0, hi: 0xffff }, A!, false)], new Map(), [], new Map());
  expect(plain).toMatchObject({ tracks_flows: false, untracked: 0, displaced: 0 });
});
