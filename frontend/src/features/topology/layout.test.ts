import { BoardNode, type Infrastructure } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { type Box, contains, type Point } from './geometry.js';
import { autoLayout } from './layout.js';
import { buildScene, type Scene } from './model.js';
import { routeLinks } from './routing.js';
import { serverNode } from './testing/server-node.js';

const origin = 'twin' as const;

/** What hangs at each switch, and the links between switches by their places. */
interface Plan {
  readonly at: readonly { readonly servers?: number; readonly boards?: number; readonly hosts?: number }[];
  readonly between: readonly (readonly [number, number])[];
  /** Servers with a link to each of two switches. */
  readonly both?: readonly (readonly [number, number])[];
}

function sceneOf({ at, between, both = [] }: Plan): Scene {
  const links: Infrastructure['links'] = [];
  const join = (a: string, b: string) =>
    links.push({
      id: `${a} ${b} ${links.length}`,
      a: { node: a, port: `p${links.length}` },
      b: { node: b, port: `p${links.length}` },
      bandwidth_bps: 1e9,
      delay_us: 0,
      jitter_us: 0,
      loss: 0,
    });
  const make = <T>(kind: 'servers' | 'boards' | 'hosts', one: (id: string, index: number) => T) =>
    at.flatMap((switched, place) =>
      Array.from({ length: switched[kind] ?? 0 }, (_, index) => {
        const id = `${kind}-${place}-${index}`;
        join(id, `switch-${place}`);
        if (kind === 'boards') join(id, `switch-${place}`);
        return one(id, index);
      }),
    );
  const servers = make('servers', serverNode);
  const boards = make('boards', (id) =>
    BoardNode.parse({
      id,
      origin,
      server: 'servers-0-0',
      attached: 'switch',
      device: 'test',
      slots: 2,
      resources: {},
      bandwidth_bps: 1e9,
      latency_us: 1,
    }),
  );
  const hosts = make('hosts', (id, index) => ({
    id,
    origin,
    role: index % 2 === 0 ? ('client' as const) : ('server' as const),
    addresses: [{ address: '10.0.0.1' }],
    mac: '02:00:00:00:00:01',
  }));
  for (const [i, ends] of both.entries()) {
    servers.push(serverNode(`both-${i}`));
    for (const end of ends) join(`both-${i}`, `switch-${end}`);
  }
  for (const [a, b] of between) join(`switch-${a}`, `switch-${b}`);
  const switches = at.map((_, place) => ({
    id: `switch-${place}`,
    origin,
    driver: 'ovs' as const,
    ports: 64,
    table_entries: 100,
    actions: [],
  }));
  return buildScene({ name: 'test', servers, boards, switches, hosts, links }, []);
}

/** Boxes that links pass behind, and pairs of links over each other. */
function faultsOf(scene: Scene): string[] {
  const places = autoLayout(scene);
  const boxes = [...scene.nodes.values()].map(({ id, w, h }) => ({ id, ...places.get(id)!, w, h }));
  const lines = [...routeLinks(scene, places)];
  const overlaps = (a: Box, b: Box) => Math.abs(a.x - b.x) < (a.w + b.w) / 2 && Math.abs(a.y - b.y) < (a.h + b.h) / 2;
  return [
    ...boxes.flatMap((a, i) => boxes.slice(i + 1).flatMap((b) => (overlaps(a, b) ? [`${a.id} lies on ${b.id}`] : []))),
    ...lines.flatMap(([id, line]) => {
      const { a, b } = scene.links.get(id)!;
      return boxes.flatMap((box) =>
        box.id !== a && box.id !== b && closely(line).some((point) => contains(box, point))
          ? [`${id} is behind ${box.id}`]
          : [],
      );
    }),
    ...lines.flatMap(([id, line], i) =>
      lines.slice(i + 1).flatMap(([other, across]) => (crosses(line, across) ? [`${id} is over ${other}`] : [])),
    ),
  ];
}

/** A line with points so close that it passes no corner of a box between two. */
function closely(line: readonly Point[]): Point[] {
  return line.slice(1).flatMap((to, i) => {
    const from = line[i]!;
    const parts = Math.max(1, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / 2));
    return Array.from({ length: parts }, (_, n) => ({
      x: from.x + ((to.x - from.x) * n) / parts,
      y: from.y + ((to.y - from.y) * n) / parts,
    }));
  });
}

function crosses(a: readonly Point[], b: readonly Point[]): boolean {
  const turn = (p: Point, q: Point, r: Point) => (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x);
  for (let i = 1; i < a.length; i++)
    for (let j = 1; j < b.length; j++) {
      const [p, q, r, s] = [a[i - 1]!, a[i]!, b[j - 1]!, b[j]!];
      if (turn(p, q, r) * turn(p, q, s) < 0 && turn(r, s, p) * turn(r, s, q) < 0) return true;
    }
  return false;
}

const full = { servers: 3, boards: 1, hosts: 6 };

describe('links pass behind no box and over no other link', () => {
  it.each<[string, Plan]>([
    ['two switches', { at: [full, full], between: [[0, 1]] }],
    [
      'two switches with two links',
      {
        at: [full, { servers: 1, hosts: 1 }],
        between: [
          [0, 1],
          [0, 1],
        ],
      },
    ],
    ['two switches that nothing joins', { at: [{ servers: 3, hosts: 4 }, { hosts: 2 }], between: [] }],
    ['two switches of which one is bare', { at: [{ servers: 3, boards: 1, hosts: 6 }, {}], between: [[0, 1]] }],
    [
      'six servers at each',
      {
        at: [
          { servers: 6, hosts: 12 },
          { servers: 6, hosts: 12 },
        ],
        between: [[0, 1]],
      },
    ],
    ['a server of both', { at: [full, full], between: [[0, 1]], both: [[0, 1]] }],
    [
      'three switches in a row',
      {
        at: [full, full, full],
        between: [
          [0, 1],
          [1, 2],
        ],
      },
    ],
    [
      'three in another order',
      {
        at: [full, full, full],
        between: [
          [0, 2],
          [2, 1],
        ],
      },
    ],
    [
      'three of which the first is in the middle',
      {
        at: [full, full, full],
        between: [
          [0, 1],
          [0, 2],
        ],
      },
    ],
    [
      'a spine without servers',
      {
        at: [full, {}, full],
        between: [
          [0, 1],
          [1, 2],
        ],
      },
    ],
    [
      'a ring of three',
      {
        at: [{ servers: 3 }, { servers: 3 }, { servers: 3 }],
        between: [
          [0, 1],
          [1, 2],
          [0, 2],
        ],
      },
    ],
    [
      'three and servers between',
      {
        at: [full, full, full],
        between: [
          [0, 1],
          [1, 2],
        ],
        both: [
          [0, 1],
          [1, 2],
        ],
      },
    ],
  ])('%s', (_what, plan) => {
    expect(faultsOf(sceneOf(plan))).toEqual([]);
  });
});

it.each([7, 13])(
  'of %i servers at a switch, only links of upper rows pass behind servers, those of lower rows',
  (servers) => {
    const faults = faultsOf(sceneOf({ at: [{ servers, hosts: 4 }, full], between: [[0, 1]] }));
    const behind = faults.flatMap((fault) => /^servers-0-(\d+) .* is behind servers-0-(\d+)$/.exec(fault) ?? []);
    expect(faults.filter((fault) => !fault.startsWith('servers-0-'))).toEqual([]);
    expect(faults.filter((fault) => fault.includes('lies on'))).toEqual([]);
    expect(behind.length).toBeGreaterThan(0);
    const perRow = Math.ceil(Math.sqrt(servers * 2));
    const rowOf = (index: string) => Math.floor(Number(index) / perRow);
    for (let i = 0; i < behind.length; i += 3) expect(rowOf(behind[i + 1]!)).toBeGreaterThan(rowOf(behind[i + 2]!));
  },
);

it('is the same each time, and has a place for every node', () => {
  const scene = sceneOf({
    at: [full, full, full],
    between: [
      [0, 1],
      [1, 2],
    ],
  });
  expect(autoLayout(scene)).toEqual(autoLayout(scene));
  expect(autoLayout(scene).size).toBe(scene.nodes.size);
});
