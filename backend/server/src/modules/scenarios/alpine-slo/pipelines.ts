import { ChainDefinition, type ClassSlo } from '@orrery/contract';
import type { Parameters } from './parameters.js';

/** A dataflow graph of modules that cost the same, with the classes that pass it (Alpine 5.5). */
export interface Pipeline {
  readonly id: string;
  readonly title: string;
  /** The modules of each class, in the order of the tree. */
  readonly paths: readonly (readonly string[])[];
  /** What each class is to get, relative to the others. */
  readonly ratios: readonly number[];
  /** For which a module holds its core. */
  readonly module_us: number;
  /** Throughput of Alpine's schedule over that of the manual one (Figure 5.4, Table 5.3); `null` where it was not told. */
  readonly published: number | null;
}

/** With less, the links of a twin could not overload a core. */
export const MODULE_US = 200;

const FIVE = [2, 1, 3, 1, 2];

/**
 * Figure 5.3, and the three pipelines of Table 5.3. Of those the publication tells the number of modules and that there are five
 * classes; their edges, and the ratios that it drew at random, are ours. The firewall has three classes: in a tree of four modules no
 * counter would tell five apart.
 */
export const PIPELINES: readonly Pipeline[] = [
  {
    id: 'figure-5-3',
    title: 'Figure 5.3',
    paths: [
      ['a', 'b'],
      ['a', 'c'],
    ],
    ratios: [3, 1],
    module_us: MODULE_US,
    published: 5.6 / 3.49,
  },
  {
    id: 'ip-router',
    title: 'IP router',
    paths: [
      ['a', 'b', 'd'],
      ['a', 'b', 'e'],
      ['a', 'b', 'f'],
      ['a', 'c', 'g'],
      ['a', 'c', 'h'],
    ],
    ratios: FIVE,
    module_us: MODULE_US,
    published: 1.91,
  },
  {
    id: 'firewall',
    title: 'firewall',
    paths: [
      ['a', 'b'],
      ['a', 'c'],
      ['a', 'd'],
    ],
    ratios: [2, 1, 3],
    module_us: MODULE_US,
    published: 1.74,
  },
  {
    id: 'transparent-proxy',
    title: 'transparent proxy',
    paths: [
      ['a', 'b', 'e'],
      ['a', 'b', 'f'],
      ['a', 'c', 'g'],
      ['a', 'c'],
      ['a', 'd'],
    ],
    ratios: FIVE,
    module_us: MODULE_US,
    published: 1.3,
  },
];

/** Figure 5.8: Figure 5.3 with modules that take longer. The publication's take 0.1 to 1 us, with less than the least of a twin. */
export const COSTS: readonly Pipeline[] = [MODULE_US, 2 * MODULE_US, 4 * MODULE_US].map((module_us) => ({
  ...PIPELINES[0]!,
  id: `costs-${module_us}`,
  title: `Figure 5.8, ${module_us} us`,
  module_us,
  published: 1.2,
}));

/** Of Figure 5.9, where depths go up to 10; at 3 the manual schedule has 33 modules. */
const DEPTHS = [1, 2, 3];
const EIGHT = [2, 1, 3, 1, 2, 3, 1, 2];

/** Figure 5.9: full binary trees of modules, with a class for each leaf. The publication drew the ratios at random; these are ours. */
export const TREES: readonly Pipeline[] = DEPTHS.map((depth) => ({
  id: `tree-${depth}`,
  title: `Figure 5.9, depth ${depth}`,
  paths: Array.from({ length: 2 ** depth }, (_, leaf) =>
    Array.from({ length: depth + 1 }, (_, level) => `m${2 ** level + (leaf >> (depth - level))}`),
  ),
  ratios: EIGHT.slice(0, 2 ** depth),
  module_us: MODULE_US,
  published: depth === 1 ? 1.3 : null,
}));

/** Of the distance of a ratio from 1 that is left where it must be met without polling. */
const UNPOLLED = 1 / 8;

/**
 * The pipeline with ratios that the mode can meet: without polling a class cannot get many more cycles than others that pass the same
 * modules. Of packets any ratio can be met without.
 */
export function attainable(pipeline: Pipeline, { objective, mode }: Pick<Parameters, 'objective' | 'mode'>): Pipeline {
  if (mode === 'free' || objective === 'throughput') return pipeline;
  return { ...pipeline, ratios: pipeline.ratios.map((ratio) => 1 + (ratio - 1) * UNPOLLED) };
}

/** Packets per second that the cores carry if every class sends as much. */
export function capacityPps({ paths, module_us }: Pipeline, workers: number): number {
  return (1e6 * workers) / (module_us * (paths.flat().length / paths.length));
}

export const FIRST_PORT = 9401;
export const PACKET_BYTES = 242;

interface Shape {
  readonly name: string;
  readonly from: string;
  /** Of the receiving host. */
  readonly address: string;
  /** Expected of all classes together. */
  readonly rate_pps: number;
  readonly objective: 'cpu-time' | 'throughput';
}

/** The pipeline as a chain: each class is a UDP port, and modules are NFs that hold the core for a fixed time. */
export function asDrawn(pipeline: Pipeline, shape: Shape): ChainDefinition {
  return chainOf(shape, pipeline, pipeline.paths);
}

/** The manual way (Alpine 5.5.2): a classifier in front, which costs as much as a module, then for each class its modules. */
export function classifiedFirst(pipeline: Pipeline, shape: Shape): ChainDefinition {
  const own = pipeline.paths.map((path, i) => ['classifier', ...path.map((module) => `${module}-${i + 1}`)]);
  return chainOf(shape, pipeline, own);
}

function chainOf(
  { name, from, address, rate_pps, objective }: Shape,
  { ratios, module_us }: Pipeline,
  paths: readonly (readonly string[])[],
): ChainDefinition {
  const nodes = [...new Set(paths.flat())];
  const rate_bps = rate_pps * PACKET_BYTES * 8;
  /** Classes by edge. */
  const edges = new Map<string, number[]>();
  paths.forEach((path, c) => {
    const way = ['in', ...path, 'out'];
    for (const [i, to] of way.slice(1).entries()) {
      const edge = `${way[i]} ${to}`;
      edges.set(edge, [...(edges.get(edge) ?? []), c]);
    }
  });
  const id = (edge: string) => `e-${edge.replace(' ', '-')}`;
  const branches = (edge: string) =>
    [...edges.keys()].filter((it) => it.split(' ')[0] === edge.split(' ')[0]).length > 1;
  const ownEdge = paths.map((_, c) =>
    id([...edges].find(([, classes]) => classes.length === 1 && classes[0] === c)![0]),
  );
  return ChainDefinition.parse({
    name,
    title: `Scenario: ${name}`,
    description: 'Created by the scenario “alpine-slo”, which also removes it.',
    traffic_class: {
      from: [from],
      match: [
        { attribute: 'ip.dst', value: address },
        { attribute: 'ip.proto', value: 'udp' },
        { attribute: 'port.dst', value: ports(paths.map((_, c) => c)) },
      ],
      rate_bps,
      packet_bytes: PACKET_BYTES,
    },
    nodes: [
      { id: 'in', kind: 'ingress' },
      ...nodes.map((node) => ({ id: node, kind: 'nf', nf: 'busy-loop', config: { packet_us: module_us } })),
      { id: 'out', kind: 'egress' },
    ],
    edges: [...edges].map(([edge, classes]) => ({
      id: id(edge),
      from: edge.split(' ')[0],
      to: edge.split(' ')[1],
      filter: branches(edge) ? [{ attribute: 'port.dst', value: ports(classes) }] : [],
      rate_bps: (rate_bps * classes.length) / paths.length,
    })),
    class_slos: ratios.slice(1).map(
      (ratio, i): ClassSlo => ({
        id: `class-${i + 2}`,
        kind: objective,
        a: ownEdge[i + 1]!,
        b: ownEdge[0]!,
        ratio: ratio / ratios[0]!,
      }),
    ),
  });
}

/** Ports of classes that follow one another. */
function ports(classes: readonly number[]): string | number {
  const [first, last] = [FIRST_PORT + classes[0]!, FIRST_PORT + classes.at(-1)!];
  return first === last ? first : `${first}-${last}`;
}
