import { type GraphEdge, type GraphNode, InstanceGraph } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { CATALOGUE, descriptor } from '../testing/descriptors.js';
import { bytestreams } from './bytestreams.js';

interface Drawn {
  readonly id: string;
  readonly nf?: string;
  readonly kind?: 'mirror' | 'merge';
  readonly reads?: boolean;
  readonly server?: string;
  readonly driver?: 'engine' | 'container';
}

const TUNNEL = descriptor('tunnel', {
  actions: { reads: [], writes: [], adds: ['length'], removes: [], may_drop: false },
});
const PLACED = { core: 0, core_share: 0.1, load_bps: 1e6 };

function node({ id, nf = 'ids', kind, reads = false, server = 's1', driver = 'engine' }: Drawn): GraphNode {
  const placed = { id, chain_id: 'c', server, ...PLACED };
  if (kind === 'mirror') return { kind, within: null, hop: null, ...placed };
  if (kind === 'merge')
    return {
      kind,
      mirror: 'mirror',
      within: null,
      branches: [
        { writes: false, resizes_at: null },
        { writes: false, resizes_at: null },
      ],
      ...placed,
    };
  const named = { pgraph_node: id, node_id: id, nf, ordinal: 0, driver };
  return { kind: 'nf', ...named, ...(reads ? { reads_streams: true } : {}), ...placed };
}

/** Edges as `a>b`; `>b`: from the hosts. */
function places(nodes: readonly Drawn[], ways: readonly string[]): string[] {
  const server = new Map(nodes.map(({ id, server = 's1' }) => [id, server]));
  const edges = ways.map((way, i): GraphEdge => {
    const [from, to] = way.split('>') as [string, string];
    const from_server = from === '' ? null : server.get(from)!;
    return {
      id: `e${i}`,
      chain_id: 'c',
      pgraph_edge: `c.e${i}`,
      direction: 'forward',
      from: from === '' ? null : from,
      to,
      from_server,
      to_server: server.get(to)!,
      filter: [],
      key: [],
      range: { lo: 0, hi: 65536 },
      rate_bps: 1e6,
      hop: from_server === server.get(to) ? null : 7,
    };
  });
  const graph = InstanceGraph.parse({ nodes: nodes.map(node), edges });
  return [...bytestreams(graph, [...CATALOGUE, TUNNEL])].sort();
}

const reads = true;

describe('bytestreams', () => {
  it('stand nowhere in a chain that reads no streams', () => {
    expect(places([{ id: 'a' }, { id: 'b' }], ['>a', 'a>b'])).toEqual([]);
  });

  it('stand once in front of the first reader', () => {
    const nodes = [
      { id: 'a', nf: 'firewall' },
      { id: 'b', reads },
      { id: 'c', nf: 'nat' },
      { id: 'd', reads },
    ];
    expect(places(nodes, ['>a', 'a>b', 'b>c', 'c>d'])).toEqual(['b']);
  });

  it('stand on each engine that a chain reads streams on', () => {
    const nodes = [
      { id: 'a', reads },
      { id: 'b', reads, server: 's2' },
      { id: 'c', reads, server: 's2' },
    ];
    expect(places(nodes, ['>a', 'a>b', 'b>c'])).toEqual(['a', 'b']);
  });

  it('stand again behind what takes packets out of the engine or changes their length', () => {
    const container = [
      { id: 'a', reads },
      { id: 'b', driver: 'container' as const },
      { id: 'c', reads },
    ];
    expect(places(container, ['>a', 'a>b', 'b>c'])).toEqual(['a', 'c']);
    const tunnel = [
      { id: 'a', reads },
      { id: 'b', nf: 'tunnel' },
      { id: 'c', reads },
    ];
    expect(places(tunnel, ['>a', 'a>b', 'b>c'])).toEqual(['a', 'c']);
  });

  it('stand in front of a reader with another way in', () => {
    const nodes = [{ id: 'a', reads }, { id: 'b' }, { id: 'c', reads }];
    expect(places(nodes, ['>a', '>b', 'a>c', 'b>c'])).toEqual(['a', 'c']);
  });

  it('serve all instances behind a split', () => {
    const nodes = [
      { id: 'a', reads },
      { id: 'b', reads },
      { id: 'c', reads },
    ];
    expect(places(nodes, ['>a', 'a>b', 'a>c'])).toEqual(['a']);
  });

  it('stand in front of the mirror of a parallel step, once for its branches, and again behind the merge', () => {
    const nodes: Drawn[] = [
      { id: 'mirror', kind: 'mirror' },
      { id: 'a', reads },
      { id: 'b', nf: 'monitor' },
      { id: 'c', reads },
      { id: 'merge', kind: 'merge' },
      { id: 'd', reads },
    ];
    const ways = ['>mirror', 'mirror>a', 'mirror>b', 'b>c', 'a>merge', 'c>merge', 'merge>d'];
    expect(places(nodes, ways)).toEqual(['d', 'mirror']);
  });

  it('stand behind an NF that drops packets in the branch of a single reader', () => {
    const nodes: Drawn[] = [
      { id: 'mirror', kind: 'mirror' },
      { id: 'a', nf: 'firewall' },
      { id: 'b', reads },
      { id: 'c', nf: 'monitor' },
    ];
    expect(places(nodes, ['>mirror', 'mirror>a', 'a>b', 'mirror>c'])).toEqual(['b']);
  });
});
