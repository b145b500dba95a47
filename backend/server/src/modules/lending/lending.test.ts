import type { Instance, LendingTurn } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KEYS } from '../../platform/redis-keys.js';
import { type FakeAgents, FakeVnf, type LendingBench } from '../../testing/lending-bench.js';
import { lendingStore, ONE, TWO, twoTunnels } from '../../testing/lending-store.js';
import { begunMs, type StoredLoan } from './ledger.js';

const lab = lendingStore();
let agents: FakeAgents;
let one: FakeVnf;
let two: FakeVnf;
let bench: LendingBench;

beforeEach(async () => {
  ({ agents, one, two } = twoTunnels());
  bench = await lab.start(agents);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await bench.stop();
  expect(agents.shared).toEqual([]);
});

describe('two tunnels at the limit', () => {
  it('take turns, and each turn, event and lease tells it', async () => {
    const id = await bench.addGroup();
    expect(agents.accelerated).toEqual([ONE]);
    await bench.pass(34);
    expect(bench.turns(id).map(({ instance_id, why, ended }) => [instance_id, why, ended])).toEqual([
      [ONE, 'overload', 'slice-over'],
      [TWO, 'overload', 'slice-over'],
      [ONE, 'overload', 'slice-over'],
      [TWO, 'overload', null],
    ]);
    expect(bench.told('lending.granted')).toEqual([ONE, TWO, ONE, TWO].map((it) => `${it} overload`));
    expect(bench.told('lending.released')).toEqual([ONE, TWO, ONE].map((it) => `${it} slice-over`));
    expect(bench.holders()).toEqual(['accelerator/server-1/instructions']);
    const group = bench.view.describe(bench.groups.get(id));
    expect(group).toMatchObject({
      state: 'lending',
      accelerators_now: [{ accelerator: 'server-1/instructions', state: 'held', holder: TWO, held_s: 1 }],
      members: [
        { instance_id: ONE, accelerated: false, accelerator: null, usage: 0.99, held_s: 22, waited_s: 12 },
        { instance_id: TWO, accelerated: true, accelerator: 'server-1/instructions', usage: 0.845, held_s: 12 },
      ],
      switch_ms: 0,
      overhead: 0,
    });
    expect(group.fairness).toBeCloseTo(34 ** 2 / (2 * (22 ** 2 + 12 ** 2)));
  });

  it('release it as soon as usage falls, and settings apply to the present holder', async () => {
    two.software = 0.1;
    const id = await bench.addGroup();
    one.hardware = 0.6;
    await bench.pass(0.5);
    expect(bench.told('lending.released')).toEqual([`${ONE} idle`]);
    expect(bench.holders()).toEqual([]);
    await bench.pass(0.5);
    expect(agents.accelerated).toEqual([ONE]);
    await bench.change(id, { th_low: 0.5 });
    await bench.pass(5);
    expect(agents.accelerated).toEqual([ONE]);
    two.software = 0.99;
    await bench.change(id, { slice_s: 2 });
    expect(agents.accelerated).toEqual([TWO]);
  });

  it('whose limit is a part of a core are compared with that part', async () => {
    for (const vnf of [one, two]) Object.assign(vnf, { software: 0.39, cpu_limit: 0.4 });
    await bench.addGroup();
    expect(agents.accelerated).toEqual([ONE]);
  });

  it('by bit rate are compared with the full rate', async () => {
    Object.assign(one, { software: 0.1, hardware: 0.1, bps: 8e7 });
    Object.assign(two, { bps: 7e7 });
    await bench.addGroup({ usage: 'bps', max_bps: 1e8 });
    expect(agents.accelerated).toEqual([ONE]);
    one.bps = 6e7;
    await bench.pass(0.5);
    expect(agents.accelerated).toEqual([]);
  });

  it('that need little when accelerated keep it while software could not carry their traffic', async () => {
    Object.assign(one, { software: 0.7, hardware: 0.2, bps: 28e6 });
    two.software = 0.1;
    await bench.addGroup();
    await bench.pass(3);
    Object.assign(one, { software: 0.95, bps: 38e6 });
    await bench.pass(10);
    expect(bench.told('lending.granted')).toEqual([`${ONE} overload`]);
    expect(bench.told('lending.released')).toEqual([]);
    one.bps = 24e6;
    await bench.pass(0.5);
    expect(bench.told('lending.released')).toEqual([`${ONE} idle`]);
  });
});

it('keeps the last 500 turns of a group, and counts the others', async () => {
  const id = await bench.addGroup();
  const turns = Array.from({ length: 501 }, (_, n) => ({
    ...bench.turns(id)[0]!,
    id: `lt-${n}`,
    from_ms: n,
    to_ms: n + 1,
    ended: 'slice-over' as const,
  }));
  const ledger = bench.ledgers.find(id)!;
  for (const some of [turns.slice(0, 400), turns.slice(400)]) await bench.ledgers.write({ ledger, turns: some });
  expect(bench.turns(id)).toHaveLength(500);
  expect(bench.view.describe(bench.groups.get(id)).turns_dropped).toBe(2);
});

it('keeps the latest turns, tells them first and how long they were, also once the wall clock was set back', async () => {
  const id = await bench.addGroup();
  const first = bench.turns(id)[0]!;
  const earlier = Array.from({ length: 498 }, (_, n) => ({
    ...first,
    id: `lt-${n}`,
    from_ms: first.from_ms - 1000 + n,
    to_ms: first.from_ms - 999 + n,
    ended: 'slice-over' as const,
  }));
  await bench.ledgers.write({ ledger: bench.ledgers.find(id)!, turns: earlier });
  const beganMs = performance.now();
  const backMs = first.from_ms - 3_600_000;
  vi.spyOn(Date, 'now').mockImplementation(() => Math.round(backMs + performance.now() - beganMs));
  const lasts = () => bench.view.turnsOf(id).find(({ to_ms }) => to_ms === null)!;
  await bench.pass(6);
  expect(lasts()).toMatchObject({ id: first.id, from_ms: backMs });
  await bench.pass(6);
  const ended = bench.view.turnsOf(id).find((turn) => turn.id === first.id)!;
  expect([ended.from_ms, ended.to_ms]).toEqual([backMs, backMs + 11_000]);
  expect(lasts()).toMatchObject({ instance_id: TWO, from_ms: backMs + 11_000 });
  await bench.pass(22);
  const newest = bench.view.turnsOf(id).slice(0, 3);
  expect(newest.map(({ instance_id }) => instance_id)).toEqual([TWO, ONE, TWO]);
  expect(bench.view.turnsOf(id).map((turn) => turn.id)).not.toContain('lt-0');
  expect(bench.turns(id)).toHaveLength(500);
});

it('tells the time for which a turn was held where the wall clock was set back to a moment within it', async () => {
  const [epochMs, beganMs] = [Date.now(), performance.now()];
  let backMs = 0;
  vi.spyOn(Date, 'now').mockImplementation(() => Math.round(epochMs - backMs + performance.now() - beganMs));
  const id = await bench.addGroup();
  const first = bench.turns(id)[0]!;
  const told = () => bench.view.turnsOf(id).find((turn) => turn.id === first.id)!;
  await bench.pass(6);
  expect(told()).toMatchObject({ from_ms: first.from_ms, to_ms: null });
  backMs = 3000;
  expect(told()).toMatchObject({ from_ms: first.from_ms - backMs, to_ms: null });
  await bench.pass(6);
  expect(told()).toMatchObject({ from_ms: first.from_ms - backMs, to_ms: first.from_ms - backMs + 11_000 });
});

it('tells no turn as begun in the time to come, however little the wall clock was set back', () => {
  const begunAt = (from_ms: number, held_ms: number) =>
    begunMs({ from_ms } as LendingTurn, { held_ms } as StoredLoan, 10_000);
  expect([begunAt(10_200, 500), begunAt(10_001, 0), begunAt(10_000, 900), begunAt(9000, 1000)]).toEqual([
    9500, 10_000, 10_000, 9000,
  ]);
});

it('of a server in maintenance are lent to nobody until it is back', async () => {
  bench.outOfService.push('server-1');
  const id = await bench.addGroup();
  await bench.pass(2);
  expect(agents.accelerated).toEqual([]);
  expect(bench.view.describe(bench.groups.get(id)).accelerators_now).toMatchObject([{ state: 'broken', holder: null }]);
  bench.outOfService.pop();
  await bench.pass(0.5);
  expect(agents.accelerated).toEqual([ONE]);
});

it('of a server whose maintenance begins later are handed on to nobody: the holder keeps them until they are back', async () => {
  await bench.addGroup();
  expect(agents.accelerated).toEqual([ONE]);
  bench.outOfService.push('server-1');
  await bench.pass(30);
  expect([agents.accelerated, bench.told('lending.released')]).toEqual([[ONE], []]);
  bench.outOfService.pop();
  await bench.pass(0.5);
  expect(agents.accelerated).toEqual([TWO]);
});

it('reads what servers have stored that lent an accelerator to whoever they found using it', async () => {
  const id = await bench.addGroup();
  await bench.stop();
  const stored = async (key: string, asBefore: (value: Record<string, unknown>) => object) => {
    for (const [field, text] of Object.entries(await lab.redis.hgetall(key))) {
      const { revision, value } = JSON.parse(text);
      await lab.redis.hset(key, field, JSON.stringify({ version: 1, revision, value: asBefore(value) }));
    }
  };
  await stored(KEYS.lendingTurns, (turn) => ({ ...turn, why: 'found' }));
  await stored(KEYS.lendingLedgers, ({ dropped: _dropped, owed: _owed, ...ledger }) => ({
    ...ledger,
    loans: (ledger.loans as object[]).map((loan) => ({ ...loan, why: 'found', next: null })),
  }));
  bench = await lab.start(agents);
  await bench.pass(11.5);
  expect(bench.turns(id).map(({ instance_id, why, ended }) => [instance_id, why, ended])).toEqual([
    [ONE, 'overload', 'slice-over'],
    [TWO, 'overload', null],
  ]);
});

it('what a group lends is given to nobody by hand, and lent to nobody while another NF uses it', async () => {
  for (const vnf of [one, two]) vnf.software = 0.1;
  const other = new FakeVnf('ch-2.tunnel.0', 'server-1');
  agents.add(other);
  const instance = { id: other.id, chain_id: 'ch-2', node_id: 'tunnel', server: 'server-1' } as Instance;
  const id = await bench.addGroup();
  expect(bench.holders()).toEqual([]);
  expect(() => bench.rights.requireFree(instance, true)).toThrow('tunnels');
  expect(() => bench.rights.requireFree(instance, false)).not.toThrow();
  expect(() => bench.rights.requireFree({ ...instance, server: 'server-2' }, true)).not.toThrow();
  await bench.change(id, { enabled: false });
  expect(() => bench.rights.requireFree(instance, true)).not.toThrow();
  other.accelerated = true;
  two.software = 0.99;
  await bench.change(id, { enabled: true });
  await bench.pass(5);
  expect(agents.accelerated).toEqual([other.id]);
  expect(bench.view.describe(bench.groups.get(id)).accelerators_now).toEqual([
    { accelerator: 'server-1/instructions', state: 'used', holder: other.id, held_s: null, origin: 'twin' },
  ]);
  other.accelerated = false;
  await bench.pass(0.5);
  expect(agents.accelerated).toEqual([TWO]);
});

it('two groups cannot have the same VNFs or accelerators', async () => {
  await bench.addGroup();
  const errors = bench.addGroup({ nfs: [{ chain_id: 'ch-1', node_id: 'tunnel' }], chains: [] });
  await expect(errors).rejects.toMatchObject({
    status: 422,
    errors: [{ pointer: '/accelerators/0' }, { pointer: '/nfs/0' }],
  });
});
