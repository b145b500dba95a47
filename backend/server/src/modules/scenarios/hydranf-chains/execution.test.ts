import type { Plan } from '@orrery/contract';
import { sampleKey } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { Stage } from '../scenario.js';
import { observe } from './execution.js';

const PLAN = {
  graph: {
    nodes: [
      { kind: 'nf', id: 'c.a.0', chain_id: 'c', core_share: 0.1 },
      { kind: 'merge', id: 'c.a.merge', chain_id: 'c', core_share: 0.1 },
    ],
  },
  slos: [],
  parallel: [],
} as unknown as Plan;

/** What is told of a chain that has these samples, each of one value. */
function observed(samples: Readonly<Record<string, number>>) {
  const items = Object.entries(samples).map(([key, value]) => ({ key, unit: '', points: [[0, value]] }));
  const stage = { api: { call: async () => ({ items }) }, wait: async () => undefined } as unknown as Stage;
  return observe(stage, PLAN, 'c', 1, 'now');
}

const CPU = { [sampleKey('instance', 'c.a.0', 'cpu')]: 0.1, [sampleKey('module', 'c.a.merge', 'cpu')]: 0.1 };
const LOST = { [sampleKey('module', 'c.a.merge', 'lost_pps')]: 25 };
const PPS = { [sampleKey('chain', 'c', 'pps')]: 75 };

it('tells what was measured', async () => {
  expect(await observed({ ...CPU, ...LOST, ...PPS })).toMatchObject({
    pps: 75,
    given_up: 0.25,
    cpu_us: expect.closeTo(0.2e6 / 75, 6),
  });
});

it('tells nothing of what was not measured, instead of 0', async () => {
  expect(await observed({})).toMatchObject({ pps: null, given_up: null, cpu_us: null, p50_us: null });
  expect(await observed({ ...CPU, ...LOST })).toMatchObject({ pps: null, given_up: null, cpu_us: null });
  const [, half] = Object.entries(CPU);
  expect(await observed({ ...PPS, [half![0]]: 0.1 })).toMatchObject({ pps: 75, given_up: null, cpu_us: null });
  expect((await observed({ [sampleKey('chain', 'c', 'pps')]: 0, ...LOST, ...CPU })).cpu_us).toBeNull();
});
