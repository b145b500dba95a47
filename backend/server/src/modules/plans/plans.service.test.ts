import { type Plan, PlanRequest } from '@orrery/contract';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Store } from '../../platform/redis.js';
import { RACK } from '../../testing/fixtures.js';
import { Planner } from './planner.js';
import { PlansService } from './plans.service.js';

const BASE = { id: 'plan-base', chains: [], graph: { nodes: [] } } as unknown as Plan;
const REQUEST = PlanRequest.parse({});

let kept: string[];
let reserved: unknown[];
let abilities: unknown;
let calibration: unknown;
let make: ReturnType<typeof vi.fn>;
let plans: PlansService;

beforeEach(() => {
  kept = [];
  reserved = [];
  abilities = null;
  calibration = { entries: {}, hop: null };
  const transaction = { set: (key: string) => kept.push(key), zadd: () => undefined, eval: () => undefined };
  const store = { transact: async (write: (it: unknown) => void) => write(transaction) } as unknown as Store;
  make = vi.fn(async ({ id }: { id: string }) => ({ plan: { id, created_ms: 0 }, text: '{}' }));
  plans = new PlansService(
    store,
    {} as never,
    { all: () => [], legacyOfUsers: () => [] } as never,
    { current: { infrastructure: RACK, revision: 1 } } as never,
    { errorsOf: () => [], reserved: () => reserved, broken: () => [] } as never,
    {
      offers: () => false,
      abilitiesOf: () => [],
      containsPrograms: () => false,
      legacyNfsOf: () => null,
      workersOf: () => null,
      isConnected: () => true,
    } as never,
    { switchAbilities: () => abilities } as never,
    {
      get current() {
        return calibration;
      },
    } as never,
    { plan: make } as unknown as Planner,
  );
});

describe('a look-ahead', () => {
  it('is not stored, and becomes the plan if nothing has changed', async () => {
    const seen = await plans.lookAhead(REQUEST, BASE);
    expect((await plans.lookAhead(REQUEST, BASE)).id).toBe(seen.id);
    expect(kept).toEqual([]);
    expect((await plans.make(REQUEST, BASE)).id).toBe(seen.id);
    expect(kept).toHaveLength(1);
    expect(make).toHaveBeenCalledTimes(1);
  });

  it('is used once: asking again gives another plan', async () => {
    const first = await plans.make(REQUEST, BASE);
    const second = await plans.make(REQUEST, BASE);
    expect(second.id).not.toBe(first.id);
    expect(kept).toHaveLength(2);
  });

  it('is recomputed if something that it depends on has changed', async () => {
    const seen = await plans.lookAhead(REQUEST, BASE);
    reserved = [{ board: 'board-1', slot: 0 }];
    expect((await plans.make(REQUEST, BASE)).id).not.toBe(seen.id);
    expect((await plans.make(REQUEST, { ...BASE, id: 'another' })).id).not.toBe(seen.id);
    expect(make).toHaveBeenCalledTimes(3);
  });

  it('that chose a slot is also used for a request for that slot', async () => {
    const nf = { chain_id: 'p-1', node_id: 'ids' };
    const slot = { board: 'board-1', slot: 0 };
    const node = { kind: 'nf', ...nf, driver: 'board', board: { ...slot, load: 'partial', policy: 'hold' } };
    make.mockImplementation(async ({ id }) => ({ plan: { id, created_ms: 0, graph: { nodes: [node] } }, text: '{}' }));
    const onBoard = (more: object) => PlanRequest.parse({ implementations: [{ ...nf, on: 'board', ...more }] });
    const seen = await plans.lookAhead(onBoard({}), BASE);
    expect((await plans.lookAhead(onBoard({ slot }), BASE)).id).toBe(seen.id);
    expect((await plans.make(onBoard({ slot }), BASE)).id).toBe(seen.id);
    expect(make).toHaveBeenCalledTimes(1);
    expect((await plans.make(onBoard({ slot: { ...slot, slot: 1 } }), BASE)).id).not.toBe(seen.id);
  });

  it('is recomputed when the abilities of a switch change', async () => {
    const seen = await plans.lookAhead(REQUEST, BASE);
    abilities = { ranges: true };
    expect((await plans.lookAhead(REQUEST, BASE)).id).not.toBe(seen.id);
  });

  it('is recomputed when the latency model is calibrated', async () => {
    const seen = await plans.lookAhead(REQUEST, BASE);
    calibration = { entries: { 'server-1': { mean_us: 9 } }, hop: null };
    expect((await plans.lookAhead(REQUEST, BASE)).id).not.toBe(seen.id);
  });

  it('is evicted by newer ones', async () => {
    const bases = Array.from({ length: 9 }, (_, i) => ({ ...BASE, id: `base-${i}` }));
    const [first] = await Promise.all(bases.map((base) => plans.lookAhead(REQUEST, base)));
    expect((await plans.make(REQUEST, bases[0]!)).id).not.toBe(first!.id);
  });
});
