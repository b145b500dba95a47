import {
  EngineGraph,
  type InstanceSpec,
  type ModuleSpec,
  type NodeSpec,
  type OutputSpec,
  type Target,
} from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allEnds, ENGINE_TRAITS, instance, linearChain, nodeSpec, output, WHOLE } from '../../testing/specs.js';
import { compile } from './compile.js';
import { CompileError } from './compile-error.js';
import { COMPILED_ABILITIES } from './engine-traits.js';

/** An instance whose flows are hashed into these ranges, each to a hop of its own. */
function hashed(...ranges: [lo: number, hi: number][]) {
  const targets = ranges.map(([lo, hi], i) => ({ range: { lo, hi }, to: { kind: 'hop' as const, hop: i + 1 } }));
  return { instances: [instance('a.b.0', { outputs: [{ edge_id: 'e', match: [], key: ['ip.src'], targets }] })] };
}

const links = ({ graph }: { graph: EngineGraph }) =>
  graph.links.map(({ from, gate, to, input }) => `${from}[${gate}] -> ${to}${input ? `[${input}]` : ''}`);

const ABLE = { ...ENGINE_TRAITS, declared: [...COMPILED_ABILITIES] };
const MIRROR = {
  kind: 'mirror' as const,
  id: 'a.b.mirror',
  chain_id: 'a',
  core: 0,
  nested: false,
  copies: [1, 2].map((hop) => ({ ...output('a.e1', { kind: 'hop', hop }), writes: false })),
};

function refusal(spec: NodeSpec): CompileError {
  try {
    compile(spec, ENGINE_TRAITS);
  } catch (error) {
    if (error instanceof CompileError) return error;
    throw error;
  }
  throw new Error('compiled');
}

describe('compile', () => {
  it('joins a linear chain with a return path', () => {
    const compiled = compile(linearChain(), ENGINE_TRAITS);
    expect(links(compiled)).toEqual([
      'exit:lin.exit[0] -> nic0:out',
      'exit:lin.return[0] -> nic0:out',
      'lin.fw.0:queue[0] -> lin.fw.0',
      'lin.fw.0[0] -> lin.nat.0:queue',
      'lin.nat.0:queue[0] -> lin.nat.0',
      'lin.nat.0:return-queue[0] -> lin.nat.0[1]',
      'lin.nat.0[0] -> lin.mon.0:queue',
      'lin.nat.0[1] -> exit:lin.return',
      'lin.mon.0:queue[0] -> lin.mon.0',
      'lin.mon.0[0] -> exit:lin.exit',
      'nic0:hops[0] -> lin.fw.0:queue',
      'nic0:hops[1] -> lin.nat.0:return-queue',
      'nic0:in[0] -> nic0:hops',
    ]);
    expect(compiled.graph.tasks.map(({ module }) => module)).toEqual([
      'nic0:in',
      'lin.fw.0:queue',
      'lin.nat.0:queue',
      'lin.nat.0:return-queue',
      'lin.mon.0:queue',
    ]);
    expect(compiled.graph.modules.find(({ name }) => name === 'exit:lin.exit')).toMatchObject({
      kind: 'exit',
      config: { exit_id: 'lin.exit', dst_mac: '02:00:00:00:00:fe', src_mac: '02:00:00:00:00:01' },
    });
  });

  it('tracks flows to a single instance where they are to stay when it is split', () => {
    const keep_flows = { capacity: 100, idle_timeout_s: 5 };
    const only = [{ range: { lo: 0, hi: 65536 }, to: { kind: 'hop', hop: 9 } as const }];
    const of = (key: OutputSpec['key']) =>
      compile(
        nodeSpec({
          instances: [
            instance('a.fw.0', { outputs: [{ edge_id: 'a.e1', match: [], key, targets: only, keep_flows }] }),
          ],
        }),
        ENGINE_TRAITS,
      ).graph.modules.find(({ kind }) => kind === 'hash_split');
    expect(of(['ip.src'])).toMatchObject({
      name: 'a.fw.0:split:0',
      config: { key: ['ip.src'], ranges: [{ range: { lo: 0, hi: 65536 }, gate: 0 }], exceptions: keep_flows },
    });
    expect(of([])).toBeUndefined();
  });

  it('classifies by edge, splits over instances and tags for other servers', () => {
    const port = { field: 'port.dst', lo: 80, hi: 80, not: false } as const;
    const spec = nodeSpec({
      instances: [
        instance('a.ids.0', {
          nf: 'ids',
          metadata: { verdict: { offset: 0, width: 2, values: { safe: 1, unsafe: 2 } } },
          outputs: [
            {
              edge_id: 'a.e1',
              match: [port],
              key: ['ip.src'],
              targets: [
                { range: { lo: 0, hi: 20000 }, to: { kind: 'instance', instance_id: 'a.mon.0' } },
                { range: { lo: 20000, hi: 50000 }, to: { kind: 'hop', hop: 9 } },
                { range: { lo: 50000, hi: 65536 }, to: { kind: 'instance', instance_id: 'a.mon.0' } },
              ],
            },
            output('a.e2', { kind: 'hop', hop: 9 }),
          ],
        }),
        instance('a.mon.0', { core: 3 }),
      ],
      hops: [
        { hop: 3, instance_id: 'a.ids.0', direction: 'forward' },
        { hop: 4, instance_id: 'a.ids.0', direction: 'forward' },
      ],
    });
    const compiled = compile(spec, ENGINE_TRAITS);
    expect(links(compiled)).toEqual([
      'a.ids.0:queue[0] -> a.ids.0',
      'a.ids.0[0] -> a.ids.0:outputs',
      'hop:9[0] -> nic0:out',
      'a.ids.0:outputs[0] -> a.ids.0:split:0',
      'a.ids.0:split:0[0] -> a.mon.0:queue',
      'a.ids.0:split:0[1] -> hop:9',
      'a.ids.0:outputs[1] -> hop:9',
      'a.mon.0:queue[0] -> a.mon.0',
      'nic0:hops[0] -> a.ids.0:queue',
      'nic0:in[0] -> nic0:hops',
    ]);
    const module = (name: string) => compiled.graph.modules.find((m) => m.name === name);
    expect(module('a.ids.0')).toMatchObject({ kind: 'ids', metadata: { verdict: { offset: 0, width: 2 } } });
    expect(module('a.ids.0:outputs')?.config).toEqual({
      rules: [
        { match: [port], gate: 0 },
        { match: [], gate: 1 },
      ],
      default_gate: null,
    });
    expect(module('a.ids.0:split:0')?.config).toMatchObject({
      key: ['ip.src'],
      ranges: [
        { range: { lo: 0, hi: 20000 }, gate: 0 },
        { range: { lo: 20000, hi: 50000 }, gate: 1 },
        { range: { lo: 50000, hi: 65536 }, gate: 0 },
      ],
    });
    expect(compile(spec, { ...ENGINE_TRAITS, workers: 2 }).graph.tasks).toContainEqual({
      module: 'a.mon.0:queue',
      worker: 1,
    });
  });

  it('hands packets over to the worker of the network interface only where another worker sends them', () => {
    const onCore = (core: number) =>
      nodeSpec({
        instances: [
          instance('a.mon.0', {
            core,
            outputs: [output('a.e1', { kind: 'exit', exit_id: 'a.exit' }), output('a.e2', { kind: 'hop', hop: 7 })],
          }),
        ],
        exits: [{ exit_id: 'a.exit', chain_id: 'a', direction: 'forward' }],
      });
    const queues = (core: number) =>
      compile(onCore(core), { ...ENGINE_TRAITS, workers: 2 })
        .graph.tasks.filter(({ module }) => module.endsWith(':queue'))
        .map(({ module, worker }) => [module, worker]);
    expect(queues(2)).toEqual([['a.mon.0:queue', 0]]);
    expect(queues(1).toSorted()).toEqual([
      ['a.mon.0:queue', 1],
      ['exit:a.exit:queue', 0],
      ['hop:7:queue', 0],
    ]);
  });

  it('sends tagged packets through the two ports of a process NF, and replies the other way', () => {
    const spec = nodeSpec({
      instances: [
        instance('b.fwd.0', {
          nf: 'legacy-forwarder',
          driver: 'process',
          outputs: [output('b.e1', { kind: 'exit', exit_id: 'b.exit' })],
          return_to: { kind: 'exit', exit_id: 'b.return' },
        }),
      ],
      hops: [{ hop: 1, instance_id: 'b.fwd.0', direction: 'forward' }],
      exits: [
        { exit_id: 'b.exit', chain_id: 'b', direction: 'forward' },
        { exit_id: 'b.return', chain_id: 'b', direction: 'return' },
      ],
    });
    const compiled = compile(spec, ENGINE_TRAITS, allEnds(spec));
    expect(links(compiled)).toEqual([
      'exit:b.exit[0] -> nic0:out',
      'exit:b.return[0] -> nic0:out',
      'b.fwd.0:queue[0] -> b.fwd.0:tag',
      'b.fwd.0:tag[0] -> b.fwd.0:near-out',
      'b.fwd.0:far-in[0] -> b.fwd.0:untag',
      'b.fwd.0:return-queue[0] -> b.fwd.0:return-tag',
      'b.fwd.0:return-tag[0] -> b.fwd.0:far-out',
      'b.fwd.0:near-in[0] -> b.fwd.0:return-untag',
      'b.fwd.0:untag[0] -> exit:b.exit',
      'b.fwd.0:return-untag[0] -> exit:b.return',
      'nic0:hops[0] -> b.fwd.0:queue',
      'nic0:in[0] -> nic0:hops',
    ]);
    const ifaces = compiled.graph.ports.map((port) => (port.driver === 'af_packet' ? port.iface : ''));
    expect(new Set(ifaces).size).toBe(3);
    expect(compiled.probes.instances[0]).toMatchObject({ nf: null, ports: { near: 'b.fwd.0:near' } });
  });

  it('accepts an empty node', () => {
    expect(compile(nodeSpec(), ENGINE_TRAITS).graph.tasks).toEqual([{ module: 'nic0:in', worker: 0 }]);
  });

  it.each<[string, Partial<NodeSpec>, string]>([
    ['an instance twice', { instances: [instance('a.b.0'), instance('a.b.0')] }, '/instances/1/id'],
    ['an unknown NF', { instances: [instance('a.b.0', { nf: 'teapot' })] }, '/instances/0/nf'],
    ['a hop to nowhere', { hops: [{ hop: 1, instance_id: 'a.b.0', direction: 'forward' }] }, '/hops/0/instance_id'],
    [
      'a hop twice',
      {
        instances: [instance('a.b.0')],
        hops: [
          { hop: 1, instance_id: 'a.b.0', direction: 'forward' },
          { hop: 1, instance_id: 'a.b.0', direction: 'return' },
        ],
      },
      '/hops/1/hop',
    ],
    [
      'a target on another node',
      { instances: [instance('a.b.0', { outputs: [output('e', { kind: 'instance', instance_id: 'a.c.0' })] })] },
      '/instances/0/outputs/0/targets/0/to/instance_id',
    ],
    [
      'an unknown exit',
      { instances: [instance('a.b.0', { return_to: { kind: 'exit', exit_id: 'x' } })] },
      '/instances/0/return_to/exit_id',
    ],
    ['ranges that overlap', hashed([0, 100], [99, 200]), '/instances/0/outputs/0/targets/1/range'],
    ['ranges that leave flows out', hashed([200, 65536], [0, 100]), '/instances/0/outputs/0/targets/0/range'],
    ['ranges that end early', hashed([0, 65535]), '/instances/0/outputs/0/targets'],
    ['a module beside NFs', { instances: [instance('a.b.0')], modules: [MIRROR] }, '/modules/0/kind'],
    [
      'a scheduler tree',
      {
        schedulers: [{ core: 0, tree: [{ kind: 'round-robin', id: 'root', parent: null, weight: null, level: null }] }],
      },
      '/schedulers/0/tree',
    ],
    ['a name used by a module of the graph itself', { instances: [instance('nic0:in')] }, '/instances/0/id'],
    ['a name too long for its queue', { instances: [instance(`a.${'b'.repeat(117)}`)] }, '/instances/0'],
  ])('refuses %s', (_, over, pointer) => {
    expect(refusal(nodeSpec(over)).pointer).toBe(pointer);
  });

  it('names the policy that the engine lacks', () => {
    const tree = [{ kind: 'round-robin', id: 'root', parent: null, weight: null, level: null } as const];
    const spec = nodeSpec({ schedulers: [{ core: 0, tree }] });
    expect(() => compile(spec, ENGINE_TRAITS)).toThrow(/the engine serves tasks in turn/);
    expect(() => compile(spec, { ...ENGINE_TRAITS, declared: ['scheduler'] })).toThrow(/no policy round-robin/);
  });

  it.each([
    ['core-time', 0.7, 1.61e9],
    ['cycles', 5e8, 5e8],
  ] as const)('tells the engine limits by %s in cycles of its own clock', (resource, per_second, cycles) => {
    const place = { weight: null, level: null };
    const spec = nodeSpec({
      instances: [instance('a.mon.0')],
      schedulers: [
        {
          core: 0,
          tree: [
            { kind: 'rate-limit', id: 'root', parent: null, ...place, resource, per_second },
            { kind: 'task', id: 'root.0', parent: 'root', ...place, starts_at: 'a.mon.0' },
          ],
        },
      ],
    });
    const [scheduler] = compile(spec, { ...ABLE, cycles_per_second: 2.3e9 }).graph.schedulers ?? [];
    expect(scheduler?.tree[0]).toMatchObject({ kind: 'rate-limit', resource: 'cycles' });
    expect(scheduler?.tree[0]).toHaveProperty('per_second', expect.closeTo(cycles, 0));
  });

  it('compiles any valid spec to a complete, closed graph', () => {
    fc.assert(
      fc.property(anySpec, fc.integer({ min: 1, max: 4 }), (spec, workers) => {
        const { graph } = compile(spec, { ...ABLE, workers }, allEnds(spec));
        expect(EngineGraph.parse(graph)).toEqual(graph);
        const names = graph.modules.map(({ name }) => name);
        expect(new Set(names).size).toBe(names.length);
        const gates = graph.links.map(({ from, gate }) => `${from}[${gate}]`);
        expect(new Set(gates).size).toBe(gates.length);
        for (const { from, to } of graph.links) expect(names).toEqual(expect.arrayContaining([from, to]));
        for (const { worker } of graph.tasks) expect(worker).toBeLessThan(workers);

        const reachable = new Set<string>();
        const visit = (name: string) => {
          if (reachable.has(name)) return;
          reachable.add(name);
          for (const link of graph.links) if (link.from === name) visit(link.to);
        };
        visit('nic0:in');
        for (const { instance_id, direction } of spec.hops)
          if (instance_id.endsWith('.0'))
            expect(reachable).toContain(`${instance_id}:${direction === 'return' ? 'return-queue' : 'queue'}`);
          else expect(reachable).toContain(instance_id);
        for (const one of spec.instances) {
          visit(one.driver === 'engine' ? one.id : `${one.id}:untag`);
          for (const { targets } of one.outputs) for (const { to } of targets) expect(reachable).toContain(firstOf(to));
        }
        for (const one of spec.modules ?? []) expect(names).toContain(one.id);
        expect(sharedByWorkers(graph)).toEqual([]);
        // Each gate that a module may emit on is linked.
        for (const module of graph.modules) {
          const joined = new Set(graph.links.filter(({ from }) => from === module.name).map(({ gate }) => gate));
          for (const gate of gatesOf(module)) expect(joined).toContain(gate);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('depends on the spec alone', () => {
    fc.assert(
      fc.property(anySpec, (spec) => {
        expect(compile(structuredClone(spec), ABLE, allEnds(spec))).toEqual(compile(spec, ABLE, allEnds(spec)));
      }),
      { numRuns: 30 },
    );
  });
});

function firstOf(to: Target): string {
  if (to.kind === 'instance') return to.instance_id.endsWith('.0') ? `${to.instance_id}:queue` : to.instance_id;
  return to.kind === 'hop' ? `hop:${to.hop}` : `exit:${to.exit_id}`;
}

/** Modules that two workers would run at once: only queues may have several producers. */
function sharedByWorkers(graph: EngineGraph): string[] {
  const queues = new Set(graph.modules.filter(({ kind }) => kind === 'queue').map(({ name }) => name));
  const owner = new Map<string, number>();
  const shared: string[] = [];
  for (const { module, worker } of graph.tasks) {
    const ahead = [module];
    const seen = new Set(ahead);
    for (let at = ahead.pop(); at !== undefined; at = ahead.pop())
      for (const { from, to } of graph.links) {
        if (from !== at || queues.has(to) || seen.has(to)) continue;
        if ((owner.get(to) ?? worker) !== worker) shared.push(to);
        owner.set(to, worker);
        seen.add(to);
        ahead.push(to);
      }
  }
  return shared;
}

function gatesOf(module: EngineGraph['modules'][number]): number[] {
  // Only NFs have metadata; their gates may stay unlinked.
  if ('metadata' in module) return [];
  switch (module.kind) {
    case 'classify':
      return module.config.rules.map(({ gate }) => gate);
    case 'hash_split':
      return module.config.ranges.map(({ gate }) => gate);
    case 'hop_in':
      return module.name === 'nic0:hops' ? module.config.hops.map(({ gate }) => gate) : [];
    case 'port_in':
    case 'queue':
    case 'exit':
    case 'hop_out':
      return [0];
    default:
      return [];
  }
}

/** Specs whose targets exist, with every mixture of edges, splits, drivers and directions. */
const anySpec: fc.Arbitrary<NodeSpec> = fc
  .record({
    count: fc.integer({ min: 1, max: 6 }),
    exits: fc.integer({ min: 1, max: 3 }),
    steps: fc.integer({ min: 0, max: 2 }),
    picks: fc.array(fc.nat(), { minLength: 400, maxLength: 400 }),
  })
  .map(({ count, exits, steps, picks }) => {
    let at = 0;
    const pick = (below: number) => picks[at++ % picks.length]! % below;
    const ids = Array.from({ length: count }, (_, i) => `p.n${i}.0`);
    const inputs = Array.from({ length: steps }, () => 2 + pick(3));
    const joints = [
      ...inputs.map((_, i): Target => ({ kind: 'instance', instance_id: `p.m${i}` })),
      ...inputs.flatMap((branches, i) =>
        Array.from({ length: branches }, (_, input): Target => ({ kind: 'instance', instance_id: `p.j${i}`, input })),
      ),
    ];
    const target = (): Target => {
      const kind = pick(joints.length > 0 ? 4 : 3);
      if (kind === 3) return joints[pick(joints.length)]!;
      if (kind === 0) return { kind: 'instance', instance_id: ids[pick(count)]! };
      if (kind === 1) return { kind: 'hop', hop: 100 + pick(4) };
      return { kind: 'exit', exit_id: `p.x${pick(exits)}` };
    };
    /** Not to a mirror or merge: there would be a cycle without a queue. */
    const away = (): Target => {
      const to = target();
      return to.kind === 'instance' && !ids.includes(to.instance_id) ? { kind: 'hop', hop: 100 } : to;
    };
    const outputs = (): InstanceSpec['outputs'] =>
      Array.from({ length: pick(4) }, (_, e) => {
        const cuts = [0, ...Array.from({ length: pick(3) }, () => 1 + pick(65535)), 65536].sort((a, b) => a - b);
        const unique = [...new Set(cuts)];
        const ranges = unique.slice(1).map((hi, i) => ({ lo: unique[i]!, hi }));
        return {
          edge_id: `e${e}`,
          match: pick(2) ? [] : [{ field: 'ip.proto' as const, value: pick(256), not: false }],
          key: ['ip.src' as const],
          targets: ranges.map((range) => ({ range: ranges.length === 1 ? WHOLE : range, to: target() })),
        };
      });
    return nodeSpec({
      instances: ids.map((id) =>
        instance(id, {
          nf: ENGINE_TRAITS.nfs[pick(ENGINE_TRAITS.nfs.length)]!,
          driver: pick(4) === 0 ? 'process' : 'engine',
          core: pick(8),
          outputs: outputs(),
          return_to: pick(3) === 0 ? away() : null,
          ...(steps > 0 && pick(3) === 0 ? { no_op_to: { kind: 'instance', instance_id: `p.j${pick(steps)}` } } : {}),
        }),
      ),
      modules: inputs.flatMap((branches, i): ModuleSpec[] => [
        {
          kind: 'mirror',
          id: `p.m${i}`,
          chain_id: 'p',
          core: pick(8),
          nested: false,
          copies: Array.from({ length: branches }, () => ({ ...output('e', away()), writes: pick(2) === 0 })),
        },
        {
          kind: 'merge',
          id: `p.j${i}`,
          chain_id: 'p',
          core: pick(8),
          nested: false,
          mirror: `p.m${i}`,
          branches: Array.from({ length: branches }, () => ({ writes: false, resizes_at: null })),
          outputs: [output('e', away())],
        },
      ]),
      hops: [
        ...Array.from({ length: pick(8) }, (_, i) => ({
          hop: i + 1,
          instance_id: ids[pick(count)]!,
          direction: pick(3) === 0 ? ('return' as const) : ('forward' as const),
        })),
        ...inputs.flatMap((_, i): NodeSpec['hops'] => [
          { hop: 20 + i, instance_id: `p.m${i}`, direction: 'forward' },
          { hop: 30 + i, instance_id: `p.j${i}`, direction: 'forward', input: 1 },
          { hop: 40 + i, instance_id: `p.j${i}`, direction: 'no-op' },
        ]),
      ],
      exits: Array.from({ length: exits }, (_, i) => ({
        exit_id: `p.x${i}`,
        chain_id: 'p',
        direction: 'forward' as const,
      })),
    });
  });
