import { expect, it } from 'vitest';
import type { Drift } from '../drivers/nf-driver.js';
import type { Link } from '../platform/links.js';
import { InterfaceKeeper } from './interface-keeper.js';

const MAC = '02:00:00:00:00:01';
const fine: Link = { isUp: true, hasCarrier: true, mac: MAC, mtu: 1500 };

/** A node with a NIC and an instance behind `a` and `b`; repairs work unless told otherwise. */
function setUp({ ownsNode = true } = {}) {
  const links = new Map<string, Link>(['nic0', 'a', 'b'].map((name) => [name, fine]));
  const calls: string[] = [];
  const told: (readonly Drift[])[] = [];
  const meanwhile: Record<'read' | 'set', () => void> = { read: () => undefined, set: () => undefined };
  const state = { runs: true, refuses: false };
  const repair = (what: string, ...names: string[]) => {
    calls.push(what);
    if (state.refuses) throw new Error('not permitted');
    for (const name of names) if (links.has(name)) links.set(name, fine);
  };
  const keeper = new InterfaceKeeper({
    node: [{ name: 'nic0', mac: MAC }],
    get instances() {
      return ['a', 'b'].map((name) => ({ name, instance_id: 'p.x.0', isRunning: state.runs }));
    },
    ownsNode,
    read: async () => {
      const listed = new Map(links);
      meanwhile.read();
      return listed;
    },
    set: async (name, settings) => {
      repair(`set ${name} ${JSON.stringify(settings)}`, name);
      meanwhile.set();
    },
    relink: async (id) => repair(`relink ${id}`, 'a', 'b'),
    recreate: (id, why) => {
      calls.push(`recreate ${id}: ${why}`);
      state.runs = false;
    },
    changed: () => told.push(keeper.drifts),
  });
  const spoil = (name: string, over: Partial<Link>) => links.set(name, { ...fine, ...over });
  return { keeper, links, calls, state, meanwhile, told, spoil };
}

it('finds nothing to do on a node as desired', async () => {
  const { keeper, calls, told } = setUp();
  await keeper.check();
  expect([keeper.drifts, keeper.troubles, calls, told]).toEqual([[], [], [], []]);
});

it.each([
  [{ isUp: false, hasCarrier: false }, 'it is administratively down', '{}'],
  [{ mac: '02:00:00:00:00:99' }, `its MAC address is 02:00:00:00:00:99 instead of ${MAC}`, `{"mac":"${MAC}"}`],
  [{ mtu: 576 }, 'its MTU is 576 instead of 1500', '{"mtu":1500}'],
])('sets the NIC of an emulated server right: %j', async (over, difference, settings) => {
  const { keeper, calls, told, spoil } = setUp();
  spoil('nic0', over);
  await keeper.check();
  expect(calls).toEqual([`set nic0 ${settings}`]);
  // Found, told, and seen to be repaired.
  expect(told).toEqual([[{ part: 'nic0', difference, blocked: null }], []]);
});

it('changes nothing on a real server, and tells why', async () => {
  const { keeper, calls, spoil } = setUp({ ownsNode: false });
  spoil('nic0', { isUp: false, hasCarrier: false });
  await keeper.check();
  expect(calls).toEqual([]);
  expect(keeper.drifts).toEqual([
    { part: 'nic0', difference: 'it is administratively down', blocked: 'the operator of the server configures it' },
  ]);
});

it('tells a repair that fails with its reason, and tries again', async () => {
  const { keeper, calls, state, spoil } = setUp();
  spoil('nic0', { isUp: false });
  state.refuses = true;
  await keeper.check();
  expect(keeper.drifts).toMatchObject([{ part: 'nic0', blocked: 'not permitted' }]);
  state.refuses = false;
  await keeper.check();
  expect([keeper.drifts, calls.length]).toEqual([[], 2]);
});

it('tells a lost carrier as a link that is down, which nobody here can repair', async () => {
  const { keeper, calls, spoil, links } = setUp();
  spoil('nic0', { hasCarrier: false });
  await keeper.check();
  expect([keeper.drifts, keeper.troubles, calls]).toEqual([[], ['nic0: its link is down'], []]);
  links.set('nic0', fine);
  await keeper.check();
  expect(keeper.troubles).toEqual([]);
});

it('tells a NIC that is gone', async () => {
  const { keeper, links } = setUp();
  links.delete('nic0');
  await keeper.check();
  expect(keeper.drifts).toMatchObject([{ part: 'nic0', difference: 'there is no such interface' }]);
});

it.each([{ isUp: false }, { hasCarrier: false }, { mtu: 68 }])('relinks an instance: %j', async (over) => {
  const { keeper, calls, spoil } = setUp();
  spoil('a', over);
  await keeper.check();
  expect(calls).toEqual(['relink p.x.0']);
  expect(keeper.drifts).toEqual([]);
});

it('recreates an instance whose interface is gone, once, and tells until it is there again', async () => {
  const { keeper, calls, links, state } = setUp();
  links.delete('a');
  await keeper.check();
  await keeper.check();
  expect(calls).toEqual(['recreate p.x.0: its interface a is gone']);
  expect(keeper.drifts).toMatchObject([{ part: 'a', difference: 'an interface of p.x.0 is gone', blocked: null }]);
  links.set('a', fine);
  state.runs = true;
  await keeper.check();
  expect(keeper.drifts).toEqual([]);
});

it('leaves an instance alone that is being started', async () => {
  const { keeper, calls, links, state } = setUp();
  state.runs = false;
  links.delete('a');
  links.set('b', { ...fine, isUp: false });
  await keeper.check();
  expect([calls, keeper.drifts]).toEqual([[], []]);
});

it.each(['read', 'set'] as const)('leaves an instance alone that starts during "%s"', async (step) => {
  const { keeper, calls, links, state, meanwhile, spoil } = setUp();
  state.runs = false;
  links.delete('a');
  spoil('nic0', { isUp: false });
  meanwhile[step] = () => {
    links.set('a', fine);
    state.runs = true;
  };
  await keeper.check();
  expect(calls).toEqual(['set nic0 {}']);
  expect(keeper.drifts).toEqual([]);
});
