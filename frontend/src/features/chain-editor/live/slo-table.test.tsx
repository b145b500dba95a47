import type { ChainDefinition, SloStatus } from '@orrery/contract';
import { expect, it } from 'vitest';
import { chain } from '../../../editor-model/testing.js';
import { objectivesOf } from './slo-table.js';

const definition: ChainDefinition = {
  ...chain('ingress>ids', 'ids>web', 'ids>dns', 'web>egress', 'dns>egress'),
  slos: [{ id: 'p99', kind: 'latency', percentile: 99, max_us: 500 }],
  class_slos: [
    { id: 'twice', kind: 'cpu-time', a: 'e2', b: 'e3', ratio: 2 },
    { id: 'first', kind: 'priority', above: 'e3', below: 'e2' },
  ],
};
const status = { slo_id: 'first', state: 'met', target: 0.2, unit: 'share' } as SloStatus;

it('lists objectives between classes beside those of the chain, with the names of their classes', () => {
  const rows = objectivesOf(definition, (id) => (id === 'first' ? status : undefined), false);
  expect(rows.map(({ text, bound, target, quantity }) => [text, bound, target, quantity])).toEqual([
    ['Latency p99', '≤', 500, 'us'],
    ['CPU time of ids → web over ids → dns', '', 2, 'count'],
    ['ids → dns before ids → web', '≤', 0.2, 'share'],
  ]);
  expect(rows.map((row) => row.status)).toEqual([undefined, undefined, status]);
  expect(objectivesOf(null, () => undefined, false)).toEqual([]);
});
