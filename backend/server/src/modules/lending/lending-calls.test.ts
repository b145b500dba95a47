import type { LendingGroupRequest } from '@orrery/contract';
import { seededRandom } from '@orrery/planner';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { killAt } from '../../testing/kill-point.js';
import { FakeAgents, FakeVnf, type LendingBench, type Outcome } from '../../testing/lending-bench.js';
import { lendingStore, ONE, TWO, twoTunnels } from '../../testing/lending-store.js';

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
  await bench.stop();
  expect(agents.shared).toEqual([]);
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
      if (vnf === one) lab.advance(600);
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

/** The group goes: nobody has anything of it, and nothing is stored. */
async function expectNothingLeft(id: string, where: string): Promise<void> {
  await bench.groups.remove(id, null, 'tests');
  await bench.pass(2);
  const left = { users: agents.accelerated, leases: bench.leases.all(), ledgers: bench.ledgers.groupIds() };
  expect({ ...left, turns: bench.turns(id) }, where).toEqual({ users: [], leases: [], ledgers: [], turns: [] });
}

const OUTCOMES: readonly Outcome[] = ['done', 'done-unanswered', 'late', 'lost', 'refused'];

describe('a kill of the server', () => {
  it.each([
    ['before', 'all are done'],
    ['after', 'all are done'],
    ['before', 'any may end in any way'],
    ['after', 'any may end in any way'],
  ] as const)(
    '%s any write leaves one holder at most, turns go on, and nothing is left in the end, where of the calls %s',
    async (when, how) => {
      for (let write = 1; write <= 9; write++) {
        await bench.stop();
        await lab.redis.flushall();
        agents.catchUp();
        const random = seededRandom(write);
        const draw = () => OUTCOMES[Math.floor(random() * OUTCOMES.length)]!;
        const drawn = how === 'all are done' ? [] : [draw(), draw(), draw()];
        agents.outcomes.splice(0, agents.outcomes.length, ...drawn);
        for (const vnf of [one, two]) vnf.accelerated = false;
        const its = lab.own();
        bench = await lab.start(agents, its);
        const isDead = killAt(its, { write, when });
        const id = await bench.addGroup({ slice_s: 2 }).catch(() => null);
        await bench.pass(6);
        if (!isDead()) break;
        await bench.stop();
        bench = await lab.start(agents);
        const groupId = id ?? bench.groups.all()[0]?.id;
        if (groupId === undefined) continue;
        await bench.pass(how === 'all are done' ? 6 : 15);
        const where = `${when} write ${write}`;
        expect(agents.accelerated, where).toHaveLength(1);
        const open = bench.turns(groupId).filter(({ to_ms }) => to_ms === null);
        expect(open.map(({ instance_id }) => instance_id)).toEqual(agents.accelerated);
        expect(bench.holders()).toEqual(['accelerator/server-1/instructions']);
        expect(new Set(bench.turns(groupId).map(({ instance_id }) => instance_id))).toEqual(new Set([ONE, TWO]));
        await expectNothingLeft(groupId, where);
      }
    },
  );

  it('a grant that was not confirmed waits for the element manager, also while its agent is away', async () => {
    const its = lab.own();
    await bench.stop();
    bench = await lab.start(agents, its);
    // Writes: the group, the intention, the confirmation.
    killAt(its, { write: 3, when: 'before' });
    const id = await bench.addGroup();
    expect(agents.accelerated).toEqual([ONE]);
    await bench.stop();
    agents.away.add('server-1');
    agents.calls.length = 0;
    bench = await lab.start(agents);
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
    bench = await lab.start(agents);
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
        await lab.redis.flushall();
        agents = new FakeAgents();
        const vnfs = [new FakeVnf(ONE, 'server-1'), new FakeVnf(TWO, 'server-1')];
        agents.add(...vnfs);
        let its = lab.own();
        bench = await lab.start(agents, its);
        const id = await bench.addGroup({ slice_s: 1 });
        for (const it of steps) {
          if (it.do === 'load') for (const [n, vnf] of vnfs.entries()) vnf.software = it.loads[n] ? 0.99 : 0.1;
          else if (it.do === 'away' && !agents.away.delete('server-1')) agents.away.add('server-1');
          else if (it.do === 'catch-up') agents.catchUp();
          else if (it.do === 'kill') {
            killAt(its, { write: it.write, when: it.when });
            await bench.pass(1);
            await bench.stop();
            its = lab.own();
            bench = await lab.start(agents, its);
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
        await expectNothingLeft(id, 'in the end');
      }),
      { numRuns: 6, seed: 64 },
    );
    expect(seen.turns).toBeGreaterThan(50);
    expect(seen.kills).toBeGreaterThan(3);
  });
});
