import { BoardNode, type Chain, type Infrastructure, type NfInstance, type Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { rowsOf } from './element-list.js';
import { type Box, contains } from './geometry.js';
import { autoLayout, placesWith } from './layout.js';
import { buildScene, nodeOf } from './model.js';
import { overlayOf, waysOf } from './overlay.js';
import { routeLinks } from './routing.js';
import { runningJoints } from './running-joints.js';
import { serverNode } from './testing/server-node.js';
import type { Trouble } from './troubles.js';

function network(servers: number, clients: number): Infrastructure {
  const origin = 'twin' as const;
  const hosts = Array.from({ length: clients * 2 }, (_, index) => ({
    id: `host-${index}`,
    origin,
    role: index % 2 === 0 ? ('client' as const) : ('server' as const),
    addresses: [{ address: `10.0.0.${index}` }],
    mac: '02:00:00:00:00:01',
  }));
  const nodes = Array.from({ length: servers }, (_, index) => serverNode(`server-${index}`));
  return {
    name: 'test',
    servers: nodes,
    boards: [],
    switches: [{ id: 'fabric', origin, driver: 'ovs', ports: 64, table_entries: 100, actions: [] }],
    hosts,
    links: [...nodes, ...hosts].map(({ id }) => ({
      id: `${id}-fabric`,
      a: { node: id, port: 'eth0' },
      b: { node: 'fabric', port: 'p' },
      bandwidth_bps: 1e9,
      delay_us: 0,
      jitter_us: 0,
      loss: 0,
    })),
  };
}

const instance = (id: string, server: string, core: number): NfInstance => ({
  id,
  chain_id: 'pl',
  node_id: id.split('.')[1]!,
  nf: 'ids',
  driver: 'engine',
  slot: null,
  server,
  core,
  state: 'running',
  detail: null,
  origin: 'twin',
});

const overlap = (a: Box, b: Box) => Math.abs(a.x - b.x) < (a.w + b.w) / 2 && Math.abs(a.y - b.y) < (a.h + b.h) / 2;

describe('buildScene', () => {
  const scene = buildScene(network(2, 1), [
    instance('web.ids.0', 'server-0', 1),
    instance('web.nat.0', 'server-0', 1),
    instance('web.fw.0', 'server-0', 3),
    instance('web.gone.0', 'no-such-server', 0),
  ]);
  const server = scene.nodes.get('server-0')!;

  it('puts each instance on the core of its server, inside the box and beside the others', () => {
    expect(server.chips.map(({ label }) => label)).toEqual(['ids.0', 'nat.0', 'fw.0']);
    for (const chip of server.chips) {
      const { w, h } = server;
      for (const corner of [-1, 1]) {
        const point = { x: chip.x + (corner * chip.w) / 2, y: chip.y + (corner * chip.h) / 2 };
        expect(contains({ x: 0, y: 0, w, h }, point)).toBe(true);
      }
      for (const other of server.chips) if (other !== chip) expect(overlap(chip, other)).toBe(false);
    }
  });

  it('puts the NFs of a switch into its box, below its name', () => {
    const onSwitch = (id: string) => ({ ...instance(id, 'fabric', 0), driver: 'switch' as const });
    const scene = buildScene(network(2, 1), [onSwitch('web.fw.0'), onSwitch('web.nat.0'), onSwitch('web.mon.0')]);
    const { w, h, chips } = scene.nodes.get('fabric')!;
    expect(chips.map(({ label }) => label)).toEqual(['fw', 'mon', 'nat']);
    expect(h).toBeGreaterThan(buildScene(network(2, 1), []).nodes.get('fabric')!.h);
    for (const [i, chip] of chips.entries()) {
      for (const [x, y] of [
        [-1, -1],
        [1, 1],
      ] as const)
        expect(contains({ x: 0, y: 0, w, h }, { x: chip.x + (x * chip.w) / 2, y: chip.y + (y * chip.h) / 2 })).toBe(
          true,
        );
      for (const other of chips.slice(i + 1)) expect(overlap(chip, other)).toBe(false);
    }
    expect(nodeOf(scene, 'nf', 'web.fw.0')).toBe('fabric');
    const rows = rowsOf(scene, '').map((row) => (row.kind === 'item' ? [row.label, row.of] : [row.title]));
    const at = rows.findIndex(([label]) => label === 'fabric');
    expect(rows.slice(at + 1, at + 4)).toEqual([
      ['fw', 'web'],
      ['mon', 'web'],
      ['nat', 'web'],
    ]);
    expect(rowsOf(scene, 'mon.0').flatMap((row) => (row.kind === 'item' ? [row.label] : []))).toEqual([
      'fabric',
      'mon',
    ]);
    for (const text of ['', 'mon.0'])
      expect(rowsOf(scene, text)).toContainEqual({ kind: 'group', title: 'Switches', count: 1 });
  });

  it('counts the cores without an instance', () => {
    expect(server.rows.map(({ label }) => label)).toEqual(['core 1', 'core 3', '2 idle cores']);
  });

  it('leaves out links to what is not there', () => {
    const broken = network(1, 1);
    const scene = buildScene({ ...broken, switches: [] }, []);
    expect(scene.links.size).toBe(0);
  });
});

describe('autoLayout', () => {
  it.each([
    [1, 1],
    [3, 2],
    [12, 20],
    [200, 60],
  ])('places %d servers and %d pairs of hosts without overlap, the same each time', (servers, pairs) => {
    const scene = buildScene(network(servers, pairs), [instance('web.ids.0', 'server-0', 0)]);
    const places = autoLayout(scene);
    expect(places.size).toBe(scene.nodes.size);
    const boxes = [...scene.nodes.values()].map(({ id, w, h }) => ({ id, ...places.get(id)!, w, h }));
    for (const [index, a] of boxes.entries()) {
      for (const b of boxes.slice(index + 1)) if (overlap(a, b)) throw new Error(`${a.id} lies on ${b.id}`);
    }
    expect(autoLayout(scene)).toEqual(places);
  });

  it('places boards at a switch below it, beside no host', () => {
    const hung = Array.from({ length: 8 }, (_, n) =>
      BoardNode.parse({
        id: `board-${n}`,
        origin: 'twin',
        server: 'server-0',
        attached: 'switch',
        device: 'test',
        slots: 2,
        resources: {},
        bandwidth_bps: 1e9,
        latency_us: 1,
      }),
    );
    const scene = buildScene({ ...network(3, 8), boards: hung }, []);
    const places = autoLayout(scene);
    const boxes = [...scene.nodes.values()].map(({ id, w, h }) => ({ id, ...places.get(id)!, w, h }));
    for (const a of boxes.filter(({ id }) => id.startsWith('board-'))) {
      expect(a.y).toBeGreaterThan(places.get('fabric')!.y);
      for (const b of boxes) if (a !== b && overlap(a, b)) throw new Error(`${a.id} lies on ${b.id}`);
    }
  });

  it('keeps what the operator has moved, and forgets nodes that are gone', () => {
    const scene = buildScene(network(1, 1), []);
    const places = placesWith(
      scene,
      new Map([
        ['fabric', { x: 7, y: 8 }],
        ['gone', { x: 1, y: 1 }],
      ]),
    );
    expect(places.get('fabric')).toEqual({ x: 7, y: 8 });
    expect(places.has('gone')).toBe(false);
  });
});

describe('routeLinks', () => {
  it('lets no two links leave a node at the same place, in the order of where they go', () => {
    const scene = buildScene(network(4, 1), []);
    const places = autoLayout(scene);
    const lines = routeLinks(scene, places);
    const ends = ['server-0', 'server-1', 'server-2'].map((id) => lines.get(`${id}-fabric`)!.at(-1)!.x);
    expect(new Set(ends).size).toBe(3);
    expect(ends).toEqual([...ends].sort((a, b) => a - b));
  });
});

describe('overlayOf', () => {
  const scene = buildScene(network(2, 1), [instance('web.ids.0', 'server-0', 0), instance('web.fw.0', 'server-1', 0)]);
  const plan = {
    graph: {
      nodes: [
        { kind: 'nf', id: 'web.ids.0', chain_id: 'pl', server: 'server-0' },
        { kind: 'nf', id: 'web.fw.0', chain_id: 'pl', server: 'server-1' },
        { kind: 'nf', id: 'other.fw.0', chain_id: 'other', server: 'server-1' },
        { kind: 'exit', id: 'web.exit', chain_id: 'pl', direction: 'forward' },
      ],
      edges: [
        { id: 'in', from: null, to: 'web.ids.0', from_server: null, to_server: 'server-0' },
        { id: 'mid', from: 'web.ids.0', to: 'web.fw.0', from_server: 'server-0', to_server: 'server-1' },
        { id: 'out', from: 'web.fw.0', to: 'web.exit', from_server: 'server-1', to_server: 'server-1' },
        { id: 'foreign', from: null, to: 'other.fw.0', from_server: null, to_server: 'server-1' },
      ].map((edge) => ({ ...edge, direction: 'forward', rate_bps: 1 })),
    },
    chains: [{ chain_id: 'pl', definition: { traffic_class: { from: ['host-0'] } } }],
  } as unknown as Plan;
  const overlay = overlayOf(scene, plan, { id: 'pl' } as Chain);

  it('has the edges of its chain only, from the hosts of the class to the switch', () => {
    expect(overlay.edges.map(({ from, to }) => [from, to])).toEqual([
      [{ node: 'host-0' }, { chip: 'web.ids.0' }],
      [{ chip: 'web.ids.0' }, { chip: 'web.fw.0' }],
      [{ chip: 'web.fw.0' }, { node: 'fabric' }],
    ]);
  });

  it('follows copies from a mirror to their merge, which have places of their own', () => {
    const nodes = [
      { kind: 'mirror', id: 'web.mirror', chain_id: 'pl', server: 'server-0' },
      { kind: 'merge', id: 'web.merge', chain_id: 'pl', server: 'server-1' },
      { kind: 'queue', id: 'web.e1.queue', chain_id: 'pl', server: 'server-1' },
    ];
    const ways = [
      ['web.ids.0', 'web.mirror', 'server-0', 'server-0'],
      ['web.mirror', 'web.merge', 'server-0', 'server-1'],
      ['web.merge', 'web.e1.queue', 'server-1', 'server-1'],
      ['web.e1.queue', 'web.fw.0', 'server-1', 'server-1'],
    ].map(([from, to, from_server, to_server]) => ({
      ...{ id: `${from} ${to}`, from, to, from_server, to_server },
      direction: 'forward',
      rate_bps: 1,
    }));
    const parallel = { ...plan, graph: { nodes: [...plan.graph.nodes, ...nodes], edges: ways } } as unknown as Plan;
    const { edges, joints, chips } = overlayOf(scene, parallel, { id: 'pl' } as Chain);
    expect(edges.map(({ from, to, cut }) => [from, to, cut])).toEqual([
      [{ chip: 'web.ids.0' }, { joint: 'web.mirror' }, false],
      [{ joint: 'web.mirror' }, { joint: 'web.merge' }, true],
      [{ joint: 'web.merge' }, { joint: 'web.e1.queue' }, false],
      [{ joint: 'web.e1.queue' }, { chip: 'web.fw.0' }, false],
    ]);
    expect([...joints.values()].map(({ kind, server, index }) => [kind, server, index])).toEqual([
      ['mirror', 'server-0', 0],
      ['merge', 'server-1', 0],
      ['queue', 'server-1', 1],
    ]);
    expect([...chips]).toEqual(['web.ids.0', 'web.fw.0']);
  });

  it('has of a way only what its packets pass, from the hosts that send them', () => {
    const edge = (way: string, from: string | null, to: string) => ({
      ...{ id: `${from} ${to} ${way}`, from, to, from_server: null, to_server: 'server-0', direction: 'forward' },
      ...{ rate_bps: 1, filter: [{ attribute: 'in.way', op: 'is', value: way }] },
    });
    const edges = [
      edge('w1', null, 'web.ids.0'),
      edge('w1', 'web.ids.0', 'web.exit'),
      edge('w2', null, 'web.ids.0'),
      edge('w2', 'web.ids.0', 'web.fw.0'),
      edge('w2', 'web.fw.0', 'web.exit'),
    ];
    const ways = ['w1', 'w2'].map((id) => ({ id, classes: [{ id: `${id}-1`, from: ['host-0'], match: [] }] }));
    const ingress = { id: 'in', kind: 'ingress', ways: [...ways, { id: 'w3', classes: [] }] };
    const definition = { traffic_class: { from: ['host-0', 'host-1'] }, nodes: [ingress] };
    const shared = { graph: { nodes: plan.graph.nodes, edges }, chains: [{ chain_id: 'pl', definition }] };
    const ofWay = (way: string) => overlayOf(scene, shared as unknown as Plan, { id: 'pl' } as Chain, way);
    expect(ofWay('w1').edges.map(({ from, to }) => [from, to])).toEqual([
      [{ node: 'host-0' }, { chip: 'web.ids.0' }],
      [{ chip: 'web.ids.0' }, { node: 'fabric' }],
    ]);
    expect([...ofWay('w1').chips]).toEqual(['web.ids.0']);
    expect([...ofWay('w2').chips]).toEqual(['web.ids.0', 'web.fw.0']);
    expect(ofWay('w1').links.has('server-1-fabric')).toBe(false);
    expect(ofWay('w3').edges).toEqual([]);
    expect(waysOf(shared as unknown as Plan, { id: 'pl' } as Chain)).toHaveLength(3);
  });

  it('lights the links on the path and no other', () => {
    expect([...overlay.links].sort()).toEqual(['host-0-fabric', 'server-0-fabric', 'server-1-fabric']);
  });
});

describe('mirrors, merges and queues', () => {
  const at = { chain_id: 'pl', server: 'server-1', core: 0, load_bps: 0, core_share: 0 };
  const mirror = { kind: 'mirror', id: 'web.ids.mirror', within: null, hop: null, ...at } as const;
  const elsewhere = { ...mirror, id: 'web.nat.mirror', server: 'gone' };
  const plan = {
    graph: { nodes: [mirror, elsewhere, { kind: 'exit', id: 'web.exit' }], edges: [] },
  } as unknown as Plan;
  const scene = buildScene(network(2, 1), [], [], [], runningJoints([plan, plan]));

  it('are part of the scene once, where their server is', () => {
    expect([...scene.joints.keys()]).toEqual(['web.ids.mirror']);
    expect(nodeOf(scene, 'joint', 'web.ids.mirror')).toBe('server-1');
    expect(nodeOf(scene, 'joint', 'web.nat.mirror')).toBeUndefined();
  });

  it('are listed with their server, and found by what they are', () => {
    const labels = rowsOf(scene, 'mirror').flatMap((row) => (row.kind === 'item' ? [row.label] : []));
    expect(labels).toEqual(['server-1', 'mirror']);
  });
});

describe('rowsOf', () => {
  const scene = buildScene(network(2, 1), [instance('web.ids.0', 'server-1', 0)]);

  it('lists everything that the canvas shows', () => {
    const items = rowsOf(scene, '').filter((row) => row.kind === 'item');
    expect(items).toHaveLength(scene.nodes.size + scene.links.size + 1);
  });

  it('tells what is the matter with a part', () => {
    const trouble = { word: 'maintenance', text: 'in maintenance: new fan', status: 'degraded' } as const;
    const away = { word: 'agent away', text: 'its agent is away', status: 'failed' } as const;
    const troubles = new Map<string, Trouble>([
      ['server-1', trouble],
      ['fabric', away],
    ]);
    const rows = rowsOf(scene, '', troubles);
    expect(rows.flatMap((row) => (row.kind === 'item' && row.trouble ? [[row.label, row.trouble]] : []))).toEqual([
      ['server-1', trouble],
      ['fabric', away],
    ]);
  });

  it('keeps the server of an instance that is found', () => {
    const labels = rowsOf(scene, 'ids').flatMap((row) => (row.kind === 'item' ? [row.label] : []));
    expect(labels).toEqual(['server-1', 'ids.0']);
  });
});
