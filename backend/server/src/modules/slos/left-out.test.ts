import type { ChainDefinition, Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { LeftOutChain } from '../../ports/not-kept-chains.js';
import { monitorChain } from '../../testing/fixtures.js';
import { LeftOutObjectives } from './left-out.js';

const DEFINITION: ChainDefinition = {
  ...monitorChain('low'),
  slos: [
    { id: 'up', kind: 'availability', min_share: 0.5 },
    { id: 'lossless', kind: 'loss', max_share: 0.01 },
    { id: 'fast', kind: 'latency', percentile: 99, max_us: 1000 },
  ],
  class_slos: [
    { id: 'half', kind: 'cpu-time', a: 'e1', b: 'e2', ratio: 2 },
    { id: 'first', kind: 'priority', above: 'e1', below: 'e2' },
  ],
};
const planOf = (...chains: string[]) =>
  ({ chains: chains.map((chain_id) => ({ chain_id, definition: DEFINITION })) }) as unknown as Plan;

function objectivesOf(left: LeftOutChain[]) {
  const read: string[] = [];
  const version = async (id: string, number: number) => {
    read.push(`${id} ${number}`);
    return { definition: DEFINITION };
  };
  const hosts = [{ id: 'client-1', origin: 'live' }];
  const objectives = new LeftOutObjectives(
    { leftOut: () => left } as never,
    { version } as never,
    { current: { infrastructure: { hosts } } } as never,
  );
  return { objectives, read };
}

it('every objective of a chain that a plan has left out is missed, with the reason, until it runs or is given up', async () => {
  const left: LeftOutChain[] = [];
  const { objectives, read } = objectivesOf(left);
  await objectives.follow(planOf('high', 'low'));
  left.push({ chain_id: 'low', because: 'server-1 has no core left.', version: null });
  expect(objectives.statuses(planOf('high', 'low'), 5)).toEqual([]);
  await objectives.follow(planOf('high'));
  const statuses = objectives.statuses(planOf('high'), 5);
  const cause = 'the chain was taken down for want of room: server-1 has no core left';
  for (const status of statuses)
    expect(status).toMatchObject({
      chain_id: 'low',
      state: 'violated',
      measured: null,
      origin: 'live',
      t_ms: 5,
      cause,
    });
  expect(statuses.map(({ slo_id, kind, target, unit }) => [slo_id, kind, target, unit])).toEqual([
    ['up', 'availability', 0.5, 'share'],
    ['lossless', 'loss', 0.01, 'share'],
    ['fast', 'latency', 1000, 'us'],
    ['half', 'cpu-ratio', 2, 'ratio'],
    ['first', 'priority', 0.2, 'share'],
  ]);
  expect(read).toEqual([]);
  left.pop();
  await objectives.follow(planOf('high'));
  expect([objectives.statuses(planOf('high'), 6), objectives.definitionOf('low')]).toEqual([[], undefined]);
});

it('a chain that was left out before the server was started is judged by the version that ran', async () => {
  const { objectives, read } = objectivesOf([
    { chain_id: 'low', because: 'no room', version: 3 },
    { chain_id: 'new', because: 'no room', version: null },
  ]);
  for (let looks = 0; looks < 2; looks++) await objectives.follow(null);
  expect(read).toEqual(['low 3']);
  expect(new Set(objectives.statuses(null, 5).map(({ chain_id }) => chain_id))).toEqual(new Set(['low']));
  expect(objectives.definitionOf('low')).toEqual(DEFINITION);
});
