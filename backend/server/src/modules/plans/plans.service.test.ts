import { type Plan, PlanRequest } from '@orrery/contract';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { RACK } from '../../testing/fixtures.js';
import type { StoredPlans } from './plan-shelves.js';
import type { Planner } from './planner.js';
import { PlansService } from './plans.service.js';

const BASE = { id: 'plan-base', chains: [], graph: { nodes: [] } } as unknown as Plan;
const REQUEST = PlanRequest.parse({});
const CHAIN = { name: 'p', nodes: [{ id: 'web', kind: 'nf', nf: 'firewall', config: {} }] };

let kept: string[];
let reserved: unknown[];
let abilities: unknown;
let calibration: unknown;
let revisions: Map<string, string>;
let make: ReturnType<typeof vi.fn>;
let plans: PlansService;

beforeEach(() => {
  kept = [];
  reserved = [];
  abilities = null;
  revisions = new Map();
  calibration = { entries: {}, hop: null };
  const stored = { keep: async (id: string) => void kept.push(id) } as unknown as StoredPlans;
  make = vi.fn(async ({ id }: { id: string }) => ({ plan: { id, created_ms: 0 }, text: '{}' }));
  plans = new PlansService(
    stored,
    { version: async () => ({ definition: CHAIN }) } as never,
    {
      all: () => [],
      find: () => undefined,
      legacyOfUsers: () => [],
      revisionOf: (nf: string) => revisions.get(nf) ?? null,
    } as never,
    { current: { infrastructure: RACK, revision: 1 } } as never,
    { errorsOf: () => [], reserved: () => reserved, broken: () => [] } as never,
    {
      offers: () => false,
      abilitiesOf: () => [],
      containsPrograms: () => false,
      legacyNfsOf: () => null,
      imageLackOf: () => null,
      workersOf: () => null,
      isConnected: () => true,
    } as never,
    { switchAbilities: () => abilities, switchAbilitiesBy: () => null } as never,
    {
      get current() {
        return calibration;
      },
    } as never,
    { servers: [], lost_servers: [], boards: [], onChange: () => undefined },
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

  it('that moves more than the request allows is refused', async () => {
    const graph = (end: string) => ({
      nodes: ['a.fw', 'a.ids'].map((pgraph_node) => ({ kind: 'nf', id: `${pgraph_node}.0${end}`, pgraph_node })),
    });
    const base = { ...BASE, graph: graph('') } as unknown as Plan;
    make.mockImplementation(async ({ id }) => ({ plan: { id, feasible: true, graph: graph('-2') }, text: '{}' }));
    const moving = (max_moved: number) => plans.make(PlanRequest.parse({ max_moved }), base);
    await expect(moving(1)).rejects.toMatchObject({ status: 422, errors: [{ pointer: '/max_moved' }] });
    expect(kept).toEqual([]);
    expect(await moving(2)).toMatchObject({ feasible: true });
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

  it('is not evicted by changes that are only tried out, which no plan returns', async () => {
    const seen = await plans.lookAhead(REQUEST, BASE);
    const bases = Array.from({ length: 9 }, (_, i) => ({ ...BASE, id: `base-${i}` }));
    const [first] = await Promise.all(bases.map((base) => plans.tryOut(REQUEST, base)));
    expect((await plans.make(REQUEST, bases[0]!)).id).not.toBe(first!.id);
    expect((await plans.tryOut(REQUEST, BASE)).id).toBe(seen.id);
    expect((await plans.make(REQUEST, BASE)).id).toBe(seen.id);
  });

  it('is evicted by newer ones', async () => {
    const bases = Array.from({ length: 9 }, (_, i) => ({ ...BASE, id: `base-${i}` }));
    const [first] = await Promise.all(bases.map((base) => plans.lookAhead(REQUEST, base)));
    expect((await plans.make(REQUEST, bases[0]!)).id).not.toBe(first!.id);
  });
});

describe('ranges of a request', () => {
  const RANGES = [
    { lo: 0, hi: 1000 },
    { lo: 1000, hi: 65_536 },
  ];
  const asked = PlanRequest.parse({
    chains: [{ chain_id: 'p-1', version: 1, splits: [{ node_id: 'web', ranges: RANGES }] }],
  });
  const withInstances = (count: number, feasible = true) => {
    const nodes = Array.from({ length: count }, (_, ordinal) => ({
      ...{ kind: 'nf', id: `p.web.${ordinal}`, chain_id: 'p-1', node_id: 'web', ordinal, driver: 'engine' },
    }));
    make.mockImplementation(async ({ id }) => ({
      plan: { id, created_ms: 0, feasible, graph: { nodes } },
      text: '{}',
    }));
  };

  it.each([
    [1, 'has 2 ranges for 1 instance'],
    [3, 'has 2 ranges for 3 instances'],
  ])('are refused at their field where the NF gets %i instances', async (count, detail) => {
    withInstances(count);
    const errors = [{ pointer: '/chains/0/splits/0/ranges', detail, code: 'wrong-number' }];
    await expect(plans.make(asked, BASE)).rejects.toMatchObject({ status: 422, errors });
    await expect(plans.lookAhead(asked, BASE)).rejects.toMatchObject({ status: 422, errors });
    expect(kept).toEqual([]);
  });

  it('are planned where there is one for each, and where the plan is not feasible for another reason', async () => {
    withInstances(2);
    await plans.make(asked, BASE);
    withInstances(0, false);
    await plans.lookAhead(asked, { ...BASE, id: 'another' });
    expect(kept).toHaveLength(1);
  });
});

describe('a plan', () => {
  const withRevisions = (known: Record<string, string>) => {
    revisions = new Map(Object.entries(known));
    make.mockImplementation(async ({ id, chains, nf_revisions }) => ({
      plan: { id, created_ms: Date.now(), chains, nf_revisions, graph: { nodes: [] } },
      text: '{}',
    }));
    return plans.make(PlanRequest.parse({ chains: [{ chain_id: 'p-1', version: 1 }] }), BASE);
  };

  it('is outdated by another description of one of its NFs, whatever the clock says', async () => {
    const plan = await withRevisions({ firewall: 'a', other: 'x' });
    expect(plan.nf_revisions).toEqual({ firewall: 'a' });
    expect(plans.outdatedBy(plan)).toBeNull();
    expect(plans.outdatedBy({ ...plan, created_ms: 0 })).toBeNull();
    revisions = new Map([['firewall', 'a']]);
    expect(plans.outdatedBy(plan)).toBeNull();
    revisions = new Map([['firewall', 'b']]);
    expect(plans.outdatedBy({ ...plan, created_ms: Number.MAX_SAFE_INTEGER })).toContain('"firewall" was changed');
    revisions = new Map();
    expect(plans.outdatedBy(plan)).toContain('"firewall" was removed');
  });

  it('of a version that recorded no revisions is outdated for that reason, unless it has no NF', async () => {
    const { nf_revisions: _none, ...plan } = await withRevisions({ firewall: 'a' });
    expect(plans.outdatedBy(plan)).toContain('planned by an earlier version of Orrery');
    expect(plans.outdatedBy({ ...plan, chains: [] })).toBeNull();
    revisions = new Map();
    expect(plans.outdatedBy(plan)).toContain('"firewall" was removed');
  });

  it('is made anew after a look-ahead with another description', async () => {
    await withRevisions({ firewall: 'a' });
    const request = PlanRequest.parse({ chains: [{ chain_id: 'p-1', version: 1 }] });
    const seen = await plans.lookAhead(request, BASE);
    revisions = new Map([['firewall', 'b']]);
    expect((await plans.make(request, BASE)).id).not.toBe(seen.id);
  });
});
