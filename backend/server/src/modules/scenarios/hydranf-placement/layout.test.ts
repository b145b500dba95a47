import type { Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { layoutOf } from './layout.js';

type Part = Pick<Plan, 'graph' | 'nodes'>;

/** A mirror on s1, two branches on the servers, and a merge; the mirror sends so many copies. */
function part(branches: readonly [string, string], merge: string, copies: number): Part {
  const node = (id: string, kind: string, server: string) => ({ id, kind, server, chain_id: 'c' });
  const edge = (from: string | null, to: string, from_server: string | null, to_server: string, copy?: number) => ({
    chain_id: 'c',
    direction: 'forward',
    rate_bps: 100,
    from,
    to,
    from_server,
    to_server,
    ...(copy === undefined ? {} : { copy }),
  });
  return {
    graph: {
      nodes: [
        node('mirror', 'mirror', 's1'),
        node('a', 'nf', branches[0]),
        node('b', 'nf', branches[1]),
        node('merge', 'merge', merge),
      ],
      edges: [
        edge(null, 'mirror', null, 's1'),
        edge('mirror', 'a', 's1', branches[0], 0),
        edge('mirror', 'b', 's1', branches[1], 1),
        edge('a', 'merge', branches[0], merge),
        edge('b', 'merge', branches[1], merge),
      ],
    },
    nodes: { s1: { modules: [{ kind: 'mirror', id: 'mirror', copies: Array.from({ length: copies }, () => ({})) }] } },
  } as unknown as Part;
}

describe('the layout of a chain', () => {
  it('crosses nothing on one server', () => {
    expect(layoutOf(part(['s1', 's1'], 's1', 2), 'c')).toEqual({
      mirror: 'software',
      together: true,
      servers: 1,
      crossings: 0,
    });
  });

  it('counts each copy of a mirror in software, and those of a switch once', () => {
    expect(layoutOf(part(['s2', 's3'], 's3', 2), 'c')).toMatchObject({ mirror: 'software', crossings: 3 });
    expect(layoutOf(part(['s2', 's3'], 's3', 1), 'c')).toMatchObject({
      mirror: 'switch',
      together: false,
      servers: 3,
      crossings: 2,
    });
  });

  it('has no mirror without a parallel step', () => {
    expect(layoutOf({ graph: { nodes: [], edges: [] }, nodes: {} }, 'c')).toMatchObject({
      mirror: 'none',
      crossings: null,
    });
  });
});
