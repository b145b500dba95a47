import { crossesServers, type InstanceGraph } from '@orrery/contract';
import { expect } from 'vitest';

export function rate(edges: InstanceGraph['edges']): number {
  return edges.reduce((sum, { rate_bps }) => sum + rate_bps, 0);
}

/** What must hold of every instance graph. */
export function checkGraph(graph: InstanceGraph): void {
  const { nodes, edges } = graph;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  expect(byId.size).toBe(nodes.length);
  expect(new Set(edges.map(({ id }) => id)).size).toBe(edges.length);
  for (const edge of edges) {
    const from = edge.from === null ? null : byId.get(edge.from);
    const to = byId.get(edge.to);
    expect(from).not.toBeUndefined();
    expect(to).toBeDefined();
    expect(edge.from_server).toBe(from && from.kind !== 'exit' ? from.server : null);
    expect(edge.to_server).toBe(to!.kind === 'exit' ? edge.from_server : to!.server);
    expect(edge.hop !== null).toBe(edge.from === null || crossesServers(edge));
  }
  const hops = edges.flatMap(({ hop, to, direction, input }) =>
    hop === null ? [] : [[hop, `${direction} ${to} ${input}`] as const],
  );
  expect(new Map(hops).size).toBe(new Set(hops.map(([, end]) => end)).size);
  for (const node of nodes) {
    const entering = edges.filter(({ to }) => to === node.id);
    if (node.kind === 'exit') {
      expect(entering.length).toBeGreaterThan(0);
      continue;
    }
    for (const direction of ['forward', 'return'] as const) {
      const mine = entering.filter((edge) => edge.direction === direction);
      const leaving = edges.filter((edge) => edge.from === node.id && edge.direction === direction);
      if (direction === 'return' && mine.length === 0) {
        expect(leaving).toEqual([]);
        continue;
      }
      const arriving = node.kind === 'merge' ? branchesInto(graph, node.id) : 1;
      const copies = node.kind === 'mirror' ? branchesFrom(graph, node.id) : 1;
      expect(rate(mine)).toBeCloseTo(arriving * node.load_bps, 0);
      expect(rate(leaving)).toBeCloseTo(copies * node.load_bps, 0);
      if (node.kind === 'merge') {
        expect(arriving).toBe(node.branches.length);
        expect(arriving).toBe(branchesFrom(graph, node.mirror));
        const writers = node.branches.filter(({ writes }) => writes).length;
        expect(writers).toBeLessThan(Math.max(2, node.branches.length));
      }
    }
  }
}

function branchesFrom({ edges }: InstanceGraph, id: string): number {
  return new Set(edges.filter((edge) => edge.from === id && edge.direction === 'forward').map(({ copy }) => copy!))
    .size;
}

function branchesInto({ edges }: InstanceGraph, id: string): number {
  return new Set(edges.filter((edge) => edge.to === id && edge.direction === 'forward').map(({ input }) => input!))
    .size;
}
