import type { Instance } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeAgents, FakeVnf, type LendingBench } from '../../testing/lending-bench.js';
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
      bench = await lab.start(agents);
      agents.outcomes.push('lost');
      agents.away.clear();
      await bench.pass(0.5);
      expect(agents.accelerated).toEqual([ONE]);
      expect(bench.view.describe(bench.groups.get(lent)).accelerators_now).toEqual([
        { accelerator: 'server-1/instructions', state: 'unknown', holder: ONE, held_s: null, origin: 'twin' },
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
