import type { FabricSpec, NodeSpec } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fabricIn, type Nodes, nodesIn } from './phases.js';
import { sameNode } from './same-spec.js';

/** A server with instances `id@target`: the instance sends to the hop `target`, each has a hop of its own number. */
function server(...instances: [id: string, hop: number, to: number][]): NodeSpec {
  return {
    generation: 0,
    nic: { iface: 'nic0', mac: '02:00:00:00:00:01' },
    gateway_mac: '02:0e:ff:ff:ff:fe',
    instances: instances.map(([id, , to]) => ({
      id,
      chain_id: 'p',
      node_id: 'n',
      nf: 'monitor',
      driver: 'engine',
      core: 0,
      config: {},
      metadata: {},
      outputs: [
        { edge_id: 'e', match: [], key: [], targets: [{ range: { lo: 0, hi: 65536 }, to: { kind: 'hop', hop: to } }] },
      ],
      return_to: null,
    })),
    hops: instances.map(([id, hop]) => ({ hop, instance_id: id, direction: 'forward' })),
    exits: [],
  };
}

const hopRule = (hop: number): FabricSpec['rules'][number] => ({
  id: `hop/${hop}`,
  chain_id: null,
  kind: 'hop',
  priority: 2,
  from_hosts: [],
  from_servers: [],
  match: [],
  hop,
  key: [],
  targets: [{ range: { lo: 0, hi: 65536 }, hop, server: 's' }],
});
const classify = (id: string, hop: number): FabricSpec['rules'][number] => ({
  ...hopRule(hop),
  id,
  kind: 'classify',
  hop: null,
});

/** Hops at which the instances point that carry traffic: those that `carrying` has on the same server. */
const pointedAt = (nodes: Nodes, carrying: readonly Nodes[]) =>
  Object.entries(nodes).flatMap(([name, { instances }]) =>
    instances
      .filter(({ id }) => carrying.some((each) => each[name]?.instances.some((instance) => instance.id === id)))
      .flatMap(({ outputs }) => outputs)
      .flatMap(({ targets }) => targets)
      .flatMap(({ to }) => (to.kind === 'hop' ? [to.hop] : [])),
  );
const present = (nodes: Nodes) => new Set(Object.values(nodes).flatMap(({ hops }) => hops.map(({ hop }) => hop)));

describe('the way from what runs to what is wanted', () => {
  const running = { a: server(['x', 1, 2]), b: server(['y', 2, 2]) };
  const wanted = { a: server(['x', 1, 3]), c: server(['z', 3, 3]) };

  it('adds first: what stays still sends to the old instance', () => {
    const prepared = nodesIn('prepare', running, wanted);
    expect(prepared.a!.instances[0]!.outputs[0]!.targets[0]!.to).toEqual({ kind: 'hop', hop: 2 });
    expect(prepared.b!.instances.map(({ id }) => id)).toEqual(['y']);
    expect(prepared.c!.instances.map(({ id }) => id)).toEqual(['z']);
  });

  it('then changes over, with the old instance still there', () => {
    const switched = nodesIn('switch', running, wanted);
    expect(switched.a!.instances[0]!.outputs[0]!.targets[0]!.to).toEqual({ kind: 'hop', hop: 3 });
    expect(switched.b!.instances.map(({ id }) => id)).toEqual(['y']);
  });

  it('at last empties the server that is not needed', () => {
    const cleaned = nodesIn('clean', running, wanted);
    expect(cleaned.b).toMatchObject({ instances: [], hops: [], exits: [] });
    expect(cleaned.a).toBe(wanted.a);
  });

  it('keeps old hops in the fabric until then, but no old classifier', () => {
    const fabric = fabricIn(
      'steer',
      { generation: 1, rules: [classify('c1', 1), hopRule(1), hopRule(2)] },
      { generation: 2, rules: [classify('c2', 1), hopRule(1), hopRule(3)] },
      () => true,
    );
    expect(fabric.rules.map(({ id }) => id)).toEqual(['c2', 'hop/1', 'hop/3', 'hop/2']);
  });

  it('tells the switches the new hops before any classifier leads to them, and keeps every sender of a hop', () => {
    const from = (hop: number, ...from_servers: string[]) => ({ ...hopRule(hop), from_servers });
    const running = { generation: 1, rules: [classify('c1', 1), from(1, 'b'), from(2)] };
    const wanted = { generation: 2, rules: [classify('c1', 3), from(1, 'a'), from(3)] };
    const extended = fabricIn('extend', running, wanted, () => true);
    expect(extended.rules).toEqual([classify('c1', 1), from(1, 'a', 'b'), from(2), from(3)]);
    const steered = fabricIn('steer', extended, wanted, () => true);
    expect(steered.rules).toEqual([classify('c1', 3), from(1, 'a', 'b'), from(3), from(2)]);
    expect(fabricIn('settle', steered, wanted, () => true).rules).toEqual(wanted.rules);
  });

  it('takes a class from a removed server at once', () => {
    const running = { generation: 1, rules: [classify('c1', 1), classify('c2', 1)] };
    const wanted = { generation: 2, rules: [classify('c1', 3), hopRule(3)] };
    expect(fabricIn('extend', running, wanted, () => false).rules).toEqual([classify('c1', 3), hopRule(3)]);
  });

  it('never leads traffic to a hop that is not there, whatever changes', () => {
    const nodes = fc
      .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 1, max: 6 })), {
        selector: ([, hop]) => hop,
        minLength: 1,
      })
      .chain((placed) =>
        fc.tuple(
          fc.constant(placed),
          fc.array(fc.constantFrom(...placed.map(([, hop]) => hop)), { minLength: 6, maxLength: 6 }),
        ),
      )
      .map(([placed, targets]) => {
        const result: Record<string, NodeSpec> = {};
        for (const name of ['a', 'b', 'c'])
          result[name] = server(
            ...placed.flatMap(([at, hop], index): [string, number, number][] =>
              at === name ? [[`i${hop}`, hop, targets[index]!]] : [],
            ),
          );
        return result;
      });
    fc.assert(
      fc.property(nodes, nodes, (from, to) => {
        const prepared = nodesIn('prepare', from, to);
        const switched = nodesIn('switch', prepared, to);
        const cleaned = nodesIn('clean', switched, to);
        // The fabric is steered between `prepare` and `switch`: from then on the new instances carry traffic too.
        for (const [before, after, carrying] of [
          [from, prepared, [from]],
          [prepared, switched, [from, to]],
          [switched, cleaned, [to]],
        ] as const) {
          // Servers take a new spec at different times: each mixture of old and new must hold together.
          for (const mixture of [before, after, { ...after, a: before.a! }, { ...before, a: after.a! }])
            for (const hop of pointedAt(mixture, carrying)) expect(present(mixture)).toContain(hop);
        }
        for (const name of ['a', 'b', 'c']) expect(sameNode(cleaned[name]!, to[name]!)).toBe(true);
      }),
    );
  });
});
