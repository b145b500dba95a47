import {
  type EngineGraph,
  FLOW_SPACE,
  type MergeSpec,
  type MirrorSpec,
  type ModuleSpec,
  type NodeSpec,
  type OutputSpec,
  type Target,
} from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { ENGINE_TRAITS, instance, nodeSpec, output } from '../../testing/specs.js';
import { compile } from './compile.js';
import { CompileError } from './compile-error.js';
import { COMPILED_ABILITIES } from './engine-traits.js';

const to = (instance_id: string, input?: number): Target =>
  input === undefined ? { kind: 'instance', instance_id } : { kind: 'instance', instance_id, input };
const EXIT: Target = { kind: 'exit', exit_id: 'p.exit' };

function links(spec: NodeSpec, workers = 1): string[] {
  return compile(spec, traits(workers)).graph.links.map(linkText);
}

function traits(workers: number) {
  return { ...ENGINE_TRAITS, workers, declared: [...COMPILED_ABILITIES] };
}

function linkText({ from, gate, to: into, input }: EngineGraph['links'][number]): string {
  return `${from}[${gate}] -> ${into}${input ? `[${input}]` : ''}`;
}

function mirror(id: string, copies: Target[], over: Partial<MirrorSpec> = {}): MirrorSpec {
  const outputs = copies.map((copy) => ({ ...output('p.e1', copy), writes: false }));
  return { kind: 'mirror', id, chain_id: 'p', core: 0, nested: false, copies: outputs, ...over };
}

function merge(id: string, branches: number, leaves: Target, over: Partial<MergeSpec> = {}): MergeSpec {
  return {
    kind: 'merge',
    id,
    chain_id: 'p',
    core: 0,
    nested: false,
    mirror: 'p.mirror',
    branches: Array.from({ length: branches }, () => ({ writes: false, resizes_at: null })),
    outputs: [output('p.e1', leaves)],
    ...over,
  };
}

const STEP = nodeSpec({
  instances: [
    instance('p.a.0', { outputs: [output('p.e1', to('p.merge', 0))] }),
    instance('p.b.0', { nf: 'firewall', outputs: [output('p.e1', to('p.merge', 1))], no_op_to: to('p.merge') }),
  ],
  modules: [mirror('p.mirror', [to('p.a.0'), to('p.b.0')]), merge('p.merge', 2, EXIT)],
  hops: [{ hop: 1, instance_id: 'p.mirror', direction: 'forward' }],
  exits: [{ exit_id: 'p.exit', chain_id: 'p', direction: 'forward' }],
});

describe('a bytestream', () => {
  it('stands behind the queue of an instance, or in its place', () => {
    const reading = instance('p.a.0', { outputs: [output('p.e1', EXIT)], bytestream: true });
    const spec = {
      ...STEP,
      instances: [reading],
      modules: [],
      hops: [{ hop: 1, instance_id: 'p.a.0', direction: 'forward' as const }],
    };
    expect(links(spec)).toEqual(
      expect.arrayContaining([
        'p.a.0:queue[0] -> p.a.0:bytestream',
        'p.a.0:bytestream[0] -> p.a.0',
        'nic0:hops[0] -> p.a.0:queue',
      ]),
    );
    expect(links({ ...spec, instances: [{ ...reading, queued: false }] })).toEqual(
      expect.arrayContaining(['p.a.0:bytestream[0] -> p.a.0', 'nic0:hops[0] -> p.a.0:bytestream']),
    );
  });

  it('stands in front of a mirror, behind the queue of another worker', () => {
    const [, last] = STEP.modules!;
    const copies = [to('p.a.0'), to('p.b.0')];
    const spec = { ...STEP, modules: [mirror('p.mirror', copies, { bytestream: true }), last!] };
    expect(links(spec)).toEqual(
      expect.arrayContaining(['nic0:hops[0] -> p.mirror:bytestream', 'p.mirror:bytestream[0] -> p.mirror']),
    );
    const elsewhere = [mirror('p.mirror', copies, { bytestream: true, core: 1 }), last!];
    expect(links({ ...spec, modules: elsewhere }, 2)).toEqual(
      expect.arrayContaining(['nic0:hops[0] -> p.mirror:queue:0', 'p.mirror:queue:0[0] -> p.mirror:bytestream']),
    );
  });

  it('is refused where the engine has none', () => {
    const [a, b] = STEP.instances;
    const spec = { ...STEP, instances: [a!, { ...b!, bytestream: true }] };
    const without = { ...traits(1), declared: traits(1).declared.filter((ability) => ability !== 'bytestream') };
    expect(() => compile(spec, without)).toThrow(expect.objectContaining({ pointer: '/instances/1/bytestream' }));
  });
});

describe('a parallel step', () => {
  it('runs on one worker without queues at mirror and merge', () => {
    expect(links(STEP)).toEqual([
      'exit:p.exit[0] -> nic0:out',
      'p.a.0:queue[0] -> p.a.0',
      'p.a.0[0] -> p.merge',
      'p.b.0:queue[0] -> p.b.0',
      'p.b.0[0] -> p.merge[1]',
      'p.b.0[2] -> p.merge[15]',
      'p.mirror[0] -> p.a.0:queue',
      'p.mirror[1] -> p.b.0:queue',
      'p.merge[0] -> exit:p.exit',
      'nic0:hops[0] -> p.mirror',
      'nic0:in[0] -> nic0:hops',
    ]);
  });

  it('has a queue where another worker hands over copies, and only there', () => {
    const [a, b] = STEP.instances;
    const [first, last] = STEP.modules!;
    const spec = {
      ...STEP,
      instances: [
        { ...a!, core: 1 },
        { ...b!, core: 2 },
      ],
      modules: [
        { ...first!, core: 1 },
        { ...last!, core: 2 },
      ],
    };
    const { graph } = compile(spec, traits(3));
    expect(graph.links.map(linkText).filter((text) => /mirror|merge/.test(text))).toEqual([
      'p.a.0[0] -> p.merge:queue:0',
      'p.b.0[0] -> p.merge[1]',
      'p.b.0[2] -> p.merge[15]',
      'p.mirror:queue:0[0] -> p.mirror',
      'p.mirror[0] -> p.a.0:queue',
      'p.mirror[1] -> p.b.0:queue',
      'p.merge:queue:0[0] -> p.merge',
      'p.merge[0] -> exit:p.exit:queue',
      'nic0:hops[0] -> p.mirror:queue:0',
    ]);
    const workers = new Map(graph.tasks.map(({ module, worker }) => [module, worker]));
    expect(workers.get('p.mirror:queue:0')).toBe(1);
    expect(workers.get('p.merge:queue:0')).toBe(2);
  });

  it('takes copies and no-op packets from other servers, and sends them there', () => {
    const spec = nodeSpec({
      instances: [
        instance('p.b.0', {
          nf: 'firewall',
          outputs: [output('p.e1', { kind: 'hop', hop: 5 })],
          no_op_to: { kind: 'hop', hop: 6 },
        }),
      ],
      modules: [merge('p.merge', 2, EXIT)],
      hops: [
        { hop: 1, instance_id: 'p.b.0', direction: 'forward' },
        { hop: 2, instance_id: 'p.merge', direction: 'forward', input: 0 },
        { hop: 3, instance_id: 'p.merge', direction: 'forward', input: 1 },
        { hop: 4, instance_id: 'p.merge', direction: 'no-op' },
      ],
      exits: STEP.exits,
    });
    expect(links(spec)).toEqual(
      expect.arrayContaining([
        'p.b.0[0] -> hop:5',
        'p.b.0[2] -> hop:6',
        'nic0:hops[0] -> p.b.0:queue',
        'nic0:hops[1] -> p.merge',
        'nic0:hops[2] -> p.merge[1]',
        'nic0:hops[3] -> p.merge[15]',
      ]),
    );
  });

  it('within a branch keeps the identity of packets and tells the outer merge what it gives up', () => {
    const spec = {
      ...STEP,
      instances: [
        ...STEP.instances.slice(0, 1),
        instance('p.b.0', { outputs: [output('p.e1', to('p.merge-1', 0))] }),
        instance('p.c.0', { outputs: [output('p.e1', to('p.merge-1', 1))] }),
      ],
      modules: [
        mirror('p.mirror', [to('p.a.0'), to('p.mirror-1')]),
        merge('p.merge', 2, EXIT),
        mirror('p.mirror-1', [to('p.b.0'), to('p.c.0')], { nested: true }),
        merge('p.merge-1', 2, to('p.merge', 1), { nested: true, no_op_to: to('p.merge') }),
      ],
    };
    const { graph } = compile(spec, traits(1));
    expect(graph.links.map(linkText)).toEqual(
      expect.arrayContaining([
        'p.mirror[1] -> p.mirror-1',
        'p.merge-1[0] -> p.merge[1]',
        'p.merge-1[1] -> p.merge[15]',
      ]),
    );
    const nested = graph.modules.flatMap(({ name, config }) => ('nested' in config ? [[name, config.nested]] : []));
    expect(Object.fromEntries(nested)).toEqual({
      'p.mirror': false,
      'p.merge': false,
      'p.mirror-1': true,
      'p.merge-1': true,
    });
  });

  it('splits a copy over the instances of its NF', () => {
    const half = (lo: number, hi: number, id: string) => ({ range: { lo, hi }, to: to(id) });
    const spec = nodeSpec({
      ...STEP,
      instances: [...STEP.instances, instance('p.b.1', { outputs: [output('p.e1', to('p.merge', 1))] })],
      modules: [
        mirror('p.mirror', [], {
          copies: [
            { ...output('p.e1', to('p.a.0')), writes: true },
            {
              ...output('p.e1', to('p.b.0')),
              writes: false,
              key: ['ip.src'],
              targets: [half(0, 30_000, 'p.b.0'), half(30_000, 65_536, 'p.b.1')],
            },
          ],
        }),
        merge('p.merge', 2, EXIT),
      ],
    });
    expect(links(spec)).toEqual(
      expect.arrayContaining([
        'p.mirror[1] -> p.mirror:split:1',
        'p.mirror:split:1[0] -> p.b.0:queue',
        'p.mirror:split:1[1] -> p.b.1:queue',
      ]),
    );
  });

  it.each<[string, Partial<NodeSpec>, string]>([
    [
      'a hop to a branch that a merge lacks',
      { hops: [{ hop: 2, instance_id: 'p.merge', direction: 'forward', input: 2 }] },
      '/hops/0/instance_id',
    ],
    [
      'no-op packets to a mirror',
      { hops: [{ hop: 2, instance_id: 'p.mirror', direction: 'no-op' }] },
      '/hops/0/instance_id',
    ],
    ['a module twice', { modules: [STEP.modules![0]!, STEP.modules![0]!] }, '/modules/1/id'],
    ['a module by the name of an instance', { modules: [mirror('p.a.0', [EXIT, EXIT])] }, '/modules/0/id'],
  ])('refuses %s', (_, over, pointer) => {
    expect(() => compile({ ...STEP, ...over }, traits(1))).toThrow(
      expect.objectContaining({ constructor: CompileError, pointer }),
    );
  });
});

describe('a split in front of instances', () => {
  it('takes the packets of its hop from a queue and shares them out, here and to other servers', () => {
    const keep_flows = { capacity: 64, idle_timeout_s: 10 };
    const half = FLOW_SPACE / 2;
    const shared = {
      ...output('p.in', to('p.a.0')),
      key: ['ip.src' as const],
      targets: [
        { range: { lo: 0, hi: half }, to: to('p.a.0') },
        { range: { lo: half, hi: FLOW_SPACE }, to: { kind: 'hop' as const, hop: 9 } },
      ],
      keep_flows,
    };
    const { graph, probes } = compile(
      nodeSpec({
        instances: [instance('p.a.0', { outputs: [output('p.out', EXIT)] })],
        modules: [{ kind: 'queue', id: 'p.a.split', chain_id: 'p', core: 0, outputs: [shared] }],
        hops: [
          { hop: 3, instance_id: 'p.a.split', direction: 'forward' },
          { hop: 4, instance_id: 'p.a.0', direction: 'forward' },
        ],
        exits: STEP.exits,
      }),
      traits(1),
    );
    const [split] = probes.splits;
    expect(split).toMatchObject({ from_id: 'p.a.split', edge_id: 'p.in', targets: shared.targets.map((it) => it.to) });
    const made = graph.modules.find(({ name }) => name === split!.module);
    expect(made).toMatchObject({ kind: 'hash_split', config: { key: ['ip.src'], exceptions: keep_flows } });
    expect(graph.links.map(linkText)).toEqual(
      expect.arrayContaining([
        'nic0:hops[0] -> p.a.split',
        'nic0:hops[1] -> p.a.0:queue',
        `p.a.split[0] -> ${split!.module}`,
        `${split!.module}[0] -> p.a.0:queue`,
      ]),
    );
  });
});

describe('a planned schedule', () => {
  const queue = (id: string, next: string): ModuleSpec => ({
    kind: 'queue',
    id,
    chain_id: 'p',
    core: 0,
    outputs: [output('p.e1', to(next))],
  });
  const task = (id: string, starts_at: string, weight: number | null = null, parent: string | null = 'root') =>
    ({ kind: 'task', id, parent, weight, level: null, starts_at }) as const;
  const fair = (id = 'root', parent: string | null = null) =>
    ({ kind: 'weighted-fair', id, parent, weight: null, level: null, when_idle: 'poll' }) as const;
  const turns = (id: string, parent: string | null, weight: number | null = null) =>
    ({ kind: 'round-robin', id, parent, weight, level: null }) as const;
  const SPEC = nodeSpec({
    instances: [
      instance('p.a.0', { queued: false, outputs: [output('p.e2', to('p.b.0'))] }),
      instance('p.b.0', { queued: false, outputs: [output('p.e3', EXIT)] }),
      instance('q.c.0', { outputs: [output('q.e1', EXIT)] }),
    ],
    modules: [queue('p.e1.queue', 'p.a.0')],
    schedulers: [{ core: 0, tree: [fair(), task('t0', 'p.e1.queue', 3), task('t1', 'q.c.0', 1)] }],
    hops: [{ hop: 1, instance_id: 'p.e1.queue', direction: 'forward' }],
    exits: STEP.exits,
  });

  it('queues where its tasks begin, and nowhere else', () => {
    const { graph } = compile(SPEC, traits(1));
    expect(graph.links.map(linkText)).toEqual(
      expect.arrayContaining([
        'p.e1.queue[0] -> p.a.0',
        'p.a.0[0] -> p.b.0',
        'p.b.0[0] -> exit:p.exit',
        'nic0:hops[0] -> p.e1.queue',
      ]),
    );
    expect(graph.tasks.map(({ module }) => module)).toEqual(['nic0:in', 'q.c.0:queue', 'p.e1.queue']);
    expect(graph.schedulers).toEqual([
      {
        worker: 0,
        tree: [
          fair(),
          { kind: 'task', id: 't0', parent: 'root', weight: 3, level: null, module: 'p.e1.queue' },
          { kind: 'task', id: 't1', parent: 'root', weight: 1, level: null, module: 'q.c.0:queue' },
        ],
      },
    ]);
  });

  it('gives cores that share a worker equal parts of it', () => {
    const spec = {
      ...SPEC,
      schedulers: [
        { core: 0, tree: [fair(), task('t0', 'p.e1.queue', 3)] },
        { core: 2, tree: [task('t1', 'q.c.0', null, null)] },
      ],
    };
    const { graph, probes } = compile(spec, traits(2));
    expect(
      graph.schedulers?.map(({ worker, tree }) => [worker, tree.map(({ id, parent, weight }) => [id, parent, weight])]),
    ).toEqual([
      [
        0,
        [
          ['cores', null, null],
          ['core-0.root', 'cores', 1],
          ['core-0.t0', 'core-0.root', 3],
          ['core-2.t1', 'cores', 1],
        ],
      ],
    ]);
    expect(probes.schedulers[1]).toEqual({ core: 2, worker: 0, nodes: [{ id: 't1', node: 'core-2.t1' }] });
  });

  it('leaves out what runs in the task of another, and serves several queues of one node in turn', () => {
    const spec = nodeSpec({
      ...STEP,
      instances: STEP.instances.map((it) => ({ ...it, core: 1 })),
      schedulers: [
        {
          core: 0,
          tree: [fair(), task('t0', 'p.merge', 2), turns('policy', 'root', 1), task('t1', 'p.mirror', null, 'policy')],
        },
      ],
    });
    const { graph } = compile(spec, traits(2));
    const branch = (input: number) => ({ module: `p.merge:queue:${input}`, parent: 't0' });
    expect(graph.schedulers![0]!.tree).toMatchObject([
      { id: 'root' },
      { id: 't0', kind: 'round-robin', weight: 2 },
      branch(0),
      branch(1),
      branch(15),
    ]);
  });

  it('gets to know the flows of a single instance, under the name that it has with more', () => {
    const keep_flows = { capacity: 64, idle_timeout_s: 10 };
    const splitOf = (targets: OutputSpec['targets']) =>
      compile(
        nodeSpec({
          instances: [instance('p.a.0', { outputs: [output('p.out', EXIT)] })],
          modules: [
            {
              ...{ kind: 'queue', id: 'p.a.split', chain_id: 'p', core: 0 },
              outputs: [{ ...output('p.in', to('p.a.0')), key: ['ip.src'], targets, keep_flows }],
            },
          ],
          hops: [{ hop: 3, instance_id: 'p.a.split', direction: 'forward' }],
          exits: STEP.exits,
        }),
        traits(1),
      ).graph.modules.find(({ kind }) => kind === 'hash_split');
    const one = splitOf([{ range: { lo: 0, hi: FLOW_SPACE }, to: to('p.a.0') }]);
    const two = splitOf([
      { range: { lo: 0, hi: 100 }, to: to('p.a.0') },
      { range: { lo: 100, hi: FLOW_SPACE }, to: { kind: 'hop', hop: 9 } },
    ]);
    expect(one).toMatchObject({ config: { exceptions: keep_flows, ranges: [{ gate: 0 }] } });
    expect(two?.name).toBe(one?.name);
  });
});
