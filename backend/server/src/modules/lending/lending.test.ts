import { mkdtempSync, rmSync } from 'node:fs';
import type { Instance, LendingGroupRequest } from '@orrery/contract';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { configFrom } from '../../platform/config.js';
import { makeLog } from '../../platform/log.js';
import { Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { killAt } from '../../testing/kill-point.js';
import { FakeAgents, FakeVnf, LendingBench, type Outcome } from '../../testing/lending-bench.js';

const ONE = 'ch-1.tunnel.0';
const TWO = 'ch-1.tunnel.1';

let folder: string;
let store: Store;
let agents: FakeAgents;
let one: FakeVnf;
let two: FakeVnf;
let bench: LendingBench;

beforeAll(async () => {
  folder = mkdtempSync('/tmp/orrery-l-');
  store = await Store.open(configFrom({ ORRERY_RUN_DIR: folder, ORRERY_STATE_DIR: folder }), makeLog('silent'));
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const advance = (ms: number) => void vi.advanceTimersByTime(ms);
/** A server process on the store; what is done to it leaves the store itself alone. */
const start = (its: Store = Object.create(store) as Store) => LendingBench.start(its, agents, advance);

beforeEach(async () => {
  await store.redis.flushall();
  vi.useFakeTimers({ toFake: ['performance'] });
  agents = new FakeAgents();
  one = new FakeVnf(ONE, 'server-1');
  two = new FakeVnf(TWO, 'server-1');
  agents.add(one, two);
  bench = await start();
});
afterEach(async () => {
  await bench.stop();
  vi.useRealTimers();
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

describe('holders', () => {
  it('keep it while the loop is paused, and give it back when the group is disabled or deleted', async () => {
    const id = await bench.addGroup();
    bench.loops.pause('lending');
    await bench.pass(20);
    expect(agents.accelerated).toEqual([ONE]);
    expect(bench.view.describe(bench.groups.get(id)).state).toBe('paused');
    bench.loops.resume('lending');
    await bench.pass(0.5);
    expect(agents.accelerated).toEqual([TWO]);
    await bench.change(id, { enabled: false });
    expect(agents.accelerated).toEqual([]);
    expect(bench.told('lending.released').at(-1)).toBe(`${TWO} disabled`);
    await bench.change(id, { enabled: true });
    expect(agents.accelerated).toHaveLength(1);
    await bench.groups.remove(id, null, 'tests');
    await bench.pass(1);
    expect(agents.accelerated).toEqual([]);
    expect([bench.holders(), bench.ledgers.groupIds(), bench.turns(id)]).toEqual([[], [], []]);
  });

  it('that are gone lose it without a call; an accelerator taken out of the group is taken back', async () => {
    const id = await bench.addGroup();
    agents.vnfs.delete(ONE);
    await bench.pass(0.5);
    expect(bench.told('lending.released')).toEqual([`${ONE} gone`]);
    await bench.pass(0.5);
    expect(agents.calls).toEqual([`${ONE} accelerate`, `${TWO} accelerate`]);
    await bench.change(id, { accelerators: [{ kind: 'instructions', server: 'server-2' }] });
    expect(bench.told('lending.released').at(-1)).toBe(`${TWO} disabled`);
    expect(agents.accelerated).toEqual([]);
  });

  it('that lose it by themselves, as a restarted engine does, have failed after two seconds', async () => {
    two.software = 0.1;
    await bench.addGroup();
    one.accelerated = false;
    await bench.pass(2);
    expect(bench.told('lending.released')).toEqual([]);
    await bench.pass(0.5);
    expect(bench.told('lending.released')).toEqual([`${ONE} failed`]);
    await bench.pass(0.5);
    expect(agents.accelerated).toEqual([ONE]);
  });

  it('that are planned and do not run have nothing after two seconds', async () => {
    await bench.addGroup();
    one.runs = false;
    await bench.pass(2);
    expect(bench.told('lending.released')).toEqual([]);
    await bench.pass(1);
    expect(bench.told('lending.released')).toEqual([`${ONE} gone`]);
    expect(agents.calls).toEqual([`${ONE} accelerate`, `${TWO} accelerate`]);
  });

  it.each(['disabled', 'deleted'])(
    'of a server that is away are not waited for for ever by a group that is %s',
    async (how) => {
      const id = await bench.addGroup();
      agents.away.add('server-1');
      if (how === 'deleted') await bench.groups.remove(id, null, 'tests');
      else await bench.change(id, { enabled: false });
      await bench.pass(19);
      expect(bench.holders()).toHaveLength(1);
      await bench.pass(1.5);
      expect(bench.told('lending.released')).toEqual([`${ONE} away`]);
      expect(bench.holders()).toEqual([]);
      expect(bench.ledgers.groupIds()).toEqual([id]);
    },
  );

  it.each(['deleted', 'disabled', 'without it'])(
    'that were not waited for are told to release it when their server is back, and nobody is lent it before (%s)',
    async (how) => {
      const id = await bench.addGroup();
      const other = new FakeVnf('ch-2.tunnel.0', 'server-1');
      agents.add(other);
      agents.away.add('server-1');
      const accelerators = [{ kind: 'instructions' as const, server: 'server-2' }];
      if (how === 'deleted') await bench.groups.remove(id, null, 'tests');
      else await bench.change(id, { accelerators, enabled: how !== 'disabled' });
      await bench.pass(21);
      const lent = await bench.addGroup({ chains: ['ch-2'] });
      await bench.stop();
      bench = await start();
      agents.outcomes.push('lost');
      agents.away.clear();
      await bench.pass(0.5);
      expect(agents.accelerated).toEqual([ONE]);
      expect(bench.view.describe(bench.groups.get(lent)).accelerators_now).toEqual([
        { accelerator: 'server-1/instructions', state: 'unknown', holder: ONE, held_s: null },
      ]);
      await bench.pass(3);
      expect(agents.accelerated).toEqual([other.id]);
      expect(bench.ledgers.groupIds().includes(id)).toBe(how !== 'deleted');
    },
  );

  it('that were not waited for and run no more when their server is back are asked for nothing', async () => {
    const id = await bench.addGroup();
    agents.away.add('server-1');
    await bench.groups.remove(id, null, 'tests');
    await bench.pass(21);
    const instance = { id: TWO, chain_id: 'ch-1', node_id: 'tunnel', server: 'server-1' } as Instance;
    expect(() => bench.rights.requireFree(instance, true)).toThrow(ONE);
    agents.vnfs.delete(ONE);
    agents.away.clear();
    await bench.pass(1);
    expect(agents.calls).toEqual([`${ONE} accelerate`]);
    expect(bench.ledgers.groupIds()).toEqual([]);
    expect(() => bench.rights.requireFree(instance, true)).not.toThrow();
  });

  it.each([false, true])(
    'that run elsewhere now lose it after 20 s without their server, and take part there (accelerated: %s)',
    async (accelerated) => {
      const accelerators = ['server-1', 'server-2'].map((server) => ({ kind: 'instructions' as const, server }));
      const id = await bench.addGroup({ accelerators });
      agents.away.add('server-1');
      await bench.pass(5);
      agents.add(Object.assign(new FakeVnf(ONE, 'server-2'), { accelerated }));
      await bench.pass(14);
      expect(bench.told('lending.released')).toEqual([]);
      expect(agents.accelerated).toEqual([]);
      await bench.pass(2.5);
      expect(bench.told('lending.released')).toEqual([`${ONE} away`]);
      expect(bench.turns(id).at(-1)).toMatchObject({ instance_id: ONE, accelerator: 'server-2/instructions' });
      agents.away.clear();
      await bench.pass(1.5);
      expect(agents.accelerated).toEqual([ONE, TWO]);
    },
  );

  it('begin in software: what is accelerated without a loan goes back', async () => {
    for (const vnf of [one, two]) Object.assign(vnf, { accelerated: true });
    agents.shared.length = 0;
    await bench.addGroup();
    await bench.pass(2.5);
    expect(agents.calls.slice(0, 2)).toEqual([`${ONE} release`, `${TWO} release`]);
    expect(bench.told('lending.granted')).toEqual([`${ONE} overload`]);
    const third = new FakeVnf('ch-1.tunnel.2', 'server-1');
    third.accelerated = true;
    agents.add(third);
    await bench.pass(3);
    expect(agents.accelerated).toEqual([ONE]);
  });

  it('begin in software also where the group has no accelerator', async () => {
    one.accelerated = true;
    await bench.addGroup({ accelerators: [{ kind: 'instructions', server: 'server-2' }] });
    await bench.pass(0.5);
    expect(agents.calls).toEqual([`${ONE} release`]);
  });

  it('that start anew accelerated go back at once, and those that were switched before after two seconds', async () => {
    await bench.addGroup();
    Object.assign(two, { accelerated: true, switched_ms: null });
    await bench.pass(0.5);
    expect(agents.accelerated).toEqual([ONE]);
    // The report may be older than the call.
    Object.assign(two, { accelerated: true, switched_ms: 1 });
    await bench.pass(2);
    expect(agents.accelerated).toEqual([ONE, TWO]);
    await bench.pass(0.5);
    expect(agents.accelerated).toEqual([ONE]);
  });

  it('of servers that are away stay holders, and nobody is lent what is away', async () => {
    const id = await bench.addGroup();
    agents.away.add('server-1');
    await bench.pass(30);
    expect(bench.view.describe(bench.groups.get(id)).accelerators_now[0]).toMatchObject({
      state: 'unknown',
      holder: ONE,
    });
    agents.away.clear();
    await bench.pass(0.5);
    expect(agents.accelerated).toEqual([TWO]);
  });
});

describe('a call', () => {
  it('that is refused is repeated with growing delays, and another one that waits is served meanwhile', async () => {
    agents.outcomes.push('refused');
    await bench.addGroup();
    expect(agents.accelerated).toEqual([]);
    await bench.pass(2);
    expect(agents.accelerated).toEqual([TWO]);
    expect(agents.calls.filter((call) => call === `${ONE} accelerate`)).toHaveLength(1);
  });

  it('that is always refused is repeated less and less often', async () => {
    two.software = 0.1;
    const refuses = agents.accelerate.bind(agents);
    agents.accelerate = (id) => {
      agents.outcomes.unshift('refused');
      return refuses(id);
    };
    await bench.addGroup();
    await bench.pass(60);
    expect(agents.calls.filter((call) => call === `${ONE} accelerate`)).toHaveLength(6);
  });

  it.each(['done-unanswered', 'lost'] as const)(
    'to grant whose answer is lost (%s): nobody else gets it',
    async (how) => {
      agents.outcomes.push(how);
      const id = await bench.addGroup();
      expect(bench.view.describe(bench.groups.get(id)).accelerators_now[0]).toMatchObject({ state: 'unknown' });
      await bench.pass(2);
      expect(agents.accelerated).toEqual([how === 'lost' ? TWO : ONE]);
      if (how === 'lost') expect(agents.calls.slice(0, 2)).toEqual([`${ONE} accelerate`, `${ONE} release`]);
    },
  );

  it.each(['done-unanswered', 'lost'] as const)(
    'to release whose answer is lost (%s) is repeated first',
    async (how) => {
      const id = await bench.addGroup();
      await bench.pass(10.5);
      agents.outcomes.push(how);
      await bench.pass(0.5);
      expect(agents.accelerated).not.toContain(TWO);
      await bench.pass(2);
      expect(bench.turns(id).map(({ switch_ms }) => switch_ms)).toEqual([null, expect.closeTo(1500, -3)]);
      expect(agents.calls.slice(1)).toEqual([`${ONE} release`, `${ONE} release`, `${TWO} accelerate`]);
      expect(bench.told('lending.released')).toEqual([`${ONE} slice-over`]);
    },
  );
});

describe('who is next', () => {
  /** Ends the slice of the first; `meanwhile` happens during its release. */
  const afterSlice = async (meanwhile: (id: string) => void, changes: Partial<LendingGroupRequest> = {}) => {
    const id = await bench.addGroup(changes);
    agents.onCall = (vnf) => {
      if (vnf !== one || !vnf.accelerated) return;
      agents.onCall = () => undefined;
      meanwhile(id);
    };
    await bench.pass(11.5);
    return id;
  };

  it('gets nothing if it wants it no more when the release is done', async () => {
    await afterSlice(() => {
      two.software = 0.1;
    });
    expect(bench.told('lending.released')).toEqual([`${ONE} slice-over`]);
    expect(agents.calls).not.toContain(`${TWO} accelerate`);
  });

  it('is not handed over what was free meanwhile', async () => {
    const id = await afterSlice(() => {
      for (const vnf of [one, two]) vnf.software = 0.1;
    });
    await bench.pass(5);
    two.software = 0.99;
    await bench.pass(1);
    expect(bench.turns(id).map(({ instance_id, switch_ms }) => [instance_id, switch_ms])).toEqual([
      [ONE, null],
      [TWO, null],
    ]);
  });

  it('gets nothing of a group that was disabled meanwhile', async () => {
    await afterSlice((id) => {
      const { id: _, ...now } = bench.groups.get(id);
      Object.defineProperty(bench.groups, 'find', { value: () => ({ ...now, id, enabled: false }) });
    });
    expect(agents.calls).not.toContain(`${TWO} accelerate`);
    expect(agents.accelerated).toEqual([]);
  });

  it('is decided anew after a release of more than a tick, and the one that gave way is passed over', async () => {
    one.software = 0.1;
    const id = await bench.addGroup();
    await bench.pass(20);
    one.software = 0.99;
    await bench.pass(0.5);
    agents.onCall = (vnf) => {
      agents.onCall = () => undefined;
      if (vnf === one) advance(600);
    };
    await bench.pass(12);
    // The first has had it less than the second.
    expect(bench.turns(id).map(({ instance_id }) => instance_id)).toEqual([TWO, ONE, TWO]);
    // From the release on, which took 600 ms, to the grant at the next tick.
    expect(bench.turns(id).at(-1)).toMatchObject({ switch_ms: 1100 });
  });

  it('is granted it for the reason for which it was chosen, also after a release without an answer', async () => {
    await afterSlice(() => agents.outcomes.push('done-unanswered'), { strategy: 'round-robin' });
    await bench.pass(2);
    expect(bench.told('lending.granted')).toEqual([`${ONE} turn`, `${TWO} turn`]);
  });
});

it('an element manager that never answers delays its own accelerator only', async () => {
  const three = new FakeVnf('ch-1.tunnel.2', 'server-2');
  const four = new FakeVnf('ch-1.tunnel.3', 'server-2');
  agents.add(three, four);
  const accelerators = ['server-1', 'server-2'].map((server) => ({ kind: 'instructions' as const, server }));
  const id = await bench.addGroup({ accelerators });
  one.hangs = true;
  await bench.pass(34);
  expect(agents.hanging).toBe(1);
  expect(agents.calls.filter((call) => call === `${ONE} release`)).toHaveLength(1);
  const turns = bench.turns(id).filter(({ accelerator }) => accelerator.startsWith('server-2'));
  expect(turns.map(({ instance_id, ended }) => [instance_id, ended])).toEqual([
    [three.id, 'slice-over'],
    [four.id, 'slice-over'],
    [three.id, 'slice-over'],
    [four.id, null],
  ]);
  expect(bench.view.describe(bench.groups.get(id))).toMatchObject({
    accelerators_now: [
      { state: 'releasing', holder: ONE },
      { state: 'held', held_s: 1 },
    ],
    // The first turn of an accelerator is no hand-over.
    switches: 3,
  });
});

describe('a kill of the server', () => {
  it.each(['before', 'after'] as const)('%s any write leaves one holder at most, and turns go on', async (when) => {
    for (let write = 1; write <= 9; write++) {
      await bench.stop();
      await store.redis.flushall();
      for (const vnf of [one, two]) vnf.accelerated = false;
      const its = Object.create(store) as Store;
      bench = await start(its);
      const isDead = killAt(its, { write, when });
      const id = await bench.addGroup({ slice_s: 2 }).catch(() => null);
      await bench.pass(6);
      if (!isDead()) break;
      await bench.stop();
      bench = await start();
      const groupId = id ?? bench.groups.all()[0]?.id;
      if (groupId === undefined) continue;
      await bench.pass(6);
      expect(agents.accelerated, `${when} write ${write}`).toHaveLength(1);
      const open = bench.turns(groupId).filter(({ to_ms }) => to_ms === null);
      expect(open.map(({ instance_id }) => instance_id)).toEqual(agents.accelerated);
      expect(bench.holders()).toEqual(['accelerator/server-1/instructions']);
      expect(new Set(bench.turns(groupId).map(({ instance_id }) => instance_id))).toEqual(new Set([ONE, TWO]));
    }
  });

  it('a grant that was not confirmed waits for the element manager, also while its agent is away', async () => {
    const its = Object.create(store) as Store;
    await bench.stop();
    bench = await start(its);
    // Writes: the group, the intention, the confirmation.
    killAt(its, { write: 3, when: 'before' });
    const id = await bench.addGroup();
    expect(agents.accelerated).toEqual([ONE]);
    await bench.stop();
    agents.away.add('server-1');
    agents.calls.length = 0;
    bench = await start();
    await bench.pass(20);
    expect([agents.calls, bench.turns(id)]).toEqual([[], []]);
    agents.away.clear();
    await bench.pass(0.5);
    expect(bench.turns(id).map(({ instance_id }) => instance_id)).toEqual([ONE]);
    expect(agents.calls).toEqual([]);
  });

  it('loses no more of the times than what passed since they were stored', async () => {
    const id = await bench.addGroup();
    await bench.pass(60);
    await bench.stop();
    bench = await start();
    const { members } = bench.view.describe(bench.groups.get(id));
    const held = members.map(({ held_s }) => held_s).reduce((sum, s) => sum + s);
    expect(held).toBeGreaterThanOrEqual(55);
  });
});

describe('whatever becomes of calls, agents and the server', () => {
  const outcome = fc.constantFrom<Outcome>('done', 'done', 'done-unanswered', 'late', 'lost', 'refused');
  const kill = fc.record({
    do: fc.constant('kill' as const),
    write: fc.integer({ min: 1, max: 3 }),
    when: fc.constantFrom('before' as const, 'after' as const),
  });
  const step = fc.oneof(
    { weight: 2, arbitrary: kill },
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant('pass' as const), outcomes: fc.array(outcome, { maxLength: 3 }) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('away' as const, 'catch-up' as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('load' as const), loads: fc.tuple(fc.boolean(), fc.boolean()) }),
    },
  );

  it('an accelerator has one user at most, and turns go on afterwards', async () => {
    const seen = { turns: 0, kills: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 12, maxLength: 20 }), async (steps) => {
        await bench.stop();
        await store.redis.flushall();
        agents = new FakeAgents();
        const vnfs = [new FakeVnf(ONE, 'server-1'), new FakeVnf(TWO, 'server-1')];
        agents.add(...vnfs);
        let its = Object.create(store) as Store;
        bench = await start(its);
        const id = await bench.addGroup({ slice_s: 1 });
        for (const it of steps) {
          if (it.do === 'load') for (const [n, vnf] of vnfs.entries()) vnf.software = it.loads[n] ? 0.99 : 0.1;
          else if (it.do === 'away' && !agents.away.delete('server-1')) agents.away.add('server-1');
          else if (it.do === 'catch-up') agents.catchUp();
          else if (it.do === 'kill') {
            killAt(its, { write: it.write, when: it.when });
            await bench.pass(1);
            await bench.stop();
            its = Object.create(store) as Store;
            bench = await start(its);
            seen.kills++;
          } else if (it.do === 'pass') {
            agents.outcomes.push(...it.outcomes);
            await bench.pass(1);
          }
          expect(agents.shared).toEqual([]);
        }
        agents.outcomes.length = 0;
        agents.away.clear();
        for (const vnf of vnfs) vnf.software = 0.99;
        const before = bench.turns(id).length;
        await bench.pass(36);
        expect(bench.turns(id).length).toBeGreaterThan(before + 3);
        expect(agents.shared).toEqual([]);
        const open = bench.turns(id).filter(({ to_ms }) => to_ms === null);
        expect(open.map(({ instance_id }) => instance_id)).toEqual(agents.accelerated);
        seen.turns += bench.turns(id).length;
      }),
      { numRuns: 6, seed: 64 },
    );
    expect(seen.turns).toBeGreaterThan(50);
    expect(seen.kills).toBeGreaterThan(3);
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

it('reads what servers have stored that lent an accelerator to whoever they found using it', async () => {
  const id = await bench.addGroup();
  await bench.stop();
  const stored = async (key: string, asBefore: (value: Record<string, unknown>) => object) => {
    for (const [field, text] of Object.entries(await store.redis.hgetall(key))) {
      const { revision, value } = JSON.parse(text);
      await store.redis.hset(key, field, JSON.stringify({ version: 1, revision, value: asBefore(value) }));
    }
  };
  await stored(KEYS.lendingTurns, (turn) => ({ ...turn, why: 'found' }));
  await stored(KEYS.lendingLedgers, ({ dropped: _dropped, owed: _owed, ...ledger }) => ({
    ...ledger,
    loans: (ledger.loans as object[]).map((loan) => ({ ...loan, why: 'found', next: null })),
  }));
  bench = await start();
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
    { accelerator: 'server-1/instructions', state: 'used', holder: other.id, held_s: null },
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
