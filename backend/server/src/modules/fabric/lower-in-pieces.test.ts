import { FabricRule } from '@orrery/contract';
import { ASSUMED_ABILITIES, lowerFabric } from '@orrery/planner';
import { expect, it } from 'vitest';
import type { Pace } from '../../platform/pace.js';
import { RACK } from '../../testing/fixtures.js';
import { lowerInPieces } from './lower-in-pieces.js';

const classify = (port: number): FabricRule =>
  FabricRule.parse({
    id: `classify/pool.${port}`,
    chain_id: 'ch-1',
    kind: 'classify',
    priority: 100,
    from_hosts: ['client-1'],
    from_servers: [],
    match: [{ field: 'port.dst', lo: port, hi: port }],
    hop: null,
    key: [],
    targets: [{ range: { lo: 0, hi: 65536 }, hop: 1, server: 'server-1' }],
  });

it('gives others the thread after each rule, and what lowering at once gives', async () => {
  const rules = Array.from({ length: 50 }, (_, i) => classify(i + 1));
  const abilities = new Map(RACK.switches.map(({ id }) => [id, ASSUMED_ABILITIES]));
  let breaths = 0;
  const pace = {
    breathe: async () => {
      breaths++;
    },
  };
  const lowered = await lowerInPieces(RACK, abilities, rules, pace as unknown as Pace);
  expect(lowered).toEqual(lowerFabric(RACK, abilities, rules));
  expect(breaths).toBe(rules.length);
});
