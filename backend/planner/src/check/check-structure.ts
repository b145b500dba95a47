import type { ChainDefinition, ChainProblem } from '@orrery/contract';
import { defaultImplementation } from './assigned-implementation.js';
import { type DescriptorIndex, wayAttribute, wayOf } from './attributes.js';
import { type ChainGraph, findCycles, reachableFrom } from './graph.js';
import { isDirect } from './packet-space.js';
import { faultOf } from './resolve-filter.js';

const error = (
  code: ChainProblem['code'],
  pointer: string,
  message: string,
  at: { node?: string; edge?: string } = {},
): ChainProblem => ({ code, severity: 'error', message, pointer, ...at });

/** Ids, ends of edges, NFs and hosts: everything that a definition refers to exists and is unique. */
export function checkReferences(
  definition: ChainDefinition,
  descriptors: DescriptorIndex,
  hosts: ReadonlySet<string>,
): ChainProblem[] {
  const problems: ChainProblem[] = [];
  const nodeIds = new Set<string>();
  definition.nodes.forEach((node, i) => {
    const at = { node: node.id };
    if (nodeIds.has(node.id))
      problems.push(error('duplicate-id', `/nodes/${i}/id`, `another node is called "${node.id}"`, at));
    nodeIds.add(node.id);
    if (node.kind !== 'nf') return;
    const descriptor = descriptors.get(node.nf);
    if (!descriptor) {
      problems.push(error('unknown-nf', `/nodes/${i}/nf`, `the catalogue has no NF "${node.nf}"`, at));
    } else if (!defaultImplementation(descriptor)) {
      const lack =
        descriptor.implementations.length === 0
          ? 'runs in containers alone, which no server offers'
          : 'has no implementation that the servers can run';
      problems.push(error('unknown-nf', `/nodes/${i}/nf`, `"${node.nf}" ${lack}`, at));
    }
  });
  const edgeIds = new Set<string>();
  const contents = new Map<string, string>();
  definition.edges.forEach((edge, i) => {
    const at = { edge: edge.id };
    if (edgeIds.has(edge.id))
      problems.push(error('duplicate-id', `/edges/${i}/id`, `another edge is called "${edge.id}"`, at));
    edgeIds.add(edge.id);
    for (const end of ['from', 'to'] as const) {
      if (!nodeIds.has(edge[end]))
        problems.push(error('unknown-node', `/edges/${i}/${end}`, `there is no node "${edge[end]}"`, at));
    }
    if (edge.from === edge.to) {
      const message = `the edge leads from "${edge.from}" back to itself`;
      problems.push(error('self-loop', `/edges/${i}`, message, { ...at, node: edge.from }));
    }
    const terms = edge.filter.map(({ attribute, op, value }) => JSON.stringify([attribute, op, String(value)]));
    const content = JSON.stringify([edge.from, edge.to, [...new Set(terms)].sort()]);
    const twin = contents.get(content);
    if (twin !== undefined)
      problems.push(error('duplicate-edge', `/edges/${i}`, `edge "${twin}" is the same connection`, at));
    else contents.set(content, edge.id);
  });
  definition.traffic_class.from.forEach((host, i) => {
    if (!hosts.has(host))
      problems.push(error('unknown-host', `/traffic_class/from/${i}`, `the infrastructure has no host "${host}"`));
    else if (definition.traffic_class.from.indexOf(host) < i)
      problems.push(error('duplicate-id', `/traffic_class/from/${i}`, `host "${host}" is named twice`));
  });
  problems.push(...checkWays(definition));
  const sloIds = definition.slos.map(({ id }) => id);
  sloIds.forEach((id, i) => {
    if (sloIds.indexOf(id) < i)
      problems.push(error('duplicate-id', `/slos/${i}/id`, `another objective is called "${id}"`));
  });
  return problems;
}

/** Ways and their classes are told apart by their ids, and hosts of a class are those of the chain. */
function checkWays({ nodes, edges, traffic_class }: ChainDefinition): ChainProblem[] {
  const hosts = new Set(traffic_class.from);
  return nodes.flatMap((node, i) => {
    if (node.kind !== 'ingress' || !node.ways) return [];
    const [ways, classes] = [new Set<string>(), new Set<string>()];
    const problems: ChainProblem[] = [];
    const claim = (known: Set<string>, id: string, pointer: string, what: string) => {
      if (known.has(id))
        problems.push(error('duplicate-id', pointer, `another ${what} is called "${id}"`, { node: node.id }));
      known.add(id);
    };
    edges.forEach(({ id, from, filter }, e) => {
      if (from !== node.id || (filter.length === 1 && wayOf(from, filter) !== null)) return;
      const message = `an edge out of "${from}" decides on the way alone: ${wayAttribute(from)} is one of its ways`;
      problems.push(error('bad-filter', `/edges/${e}/filter`, message, { node: from, edge: id }));
    });
    node.ways.forEach((way, w) => {
      const at = `/nodes/${i}/ways/${w}`;
      claim(ways, way.id, `${at}/id`, 'way');
      way.classes.forEach(({ id, from, match }, c) => {
        claim(classes, id, `${at}/classes/${c}/id`, 'class of a way');
        from.forEach((host, h) => {
          if (!hosts.has(host))
            problems.push(
              error(
                'unknown-host',
                `${at}/classes/${c}/from/${h}`,
                `"${host}" is no host of the traffic class of the chain`,
                { node: node.id },
              ),
            );
        });
        match.forEach((term, t) => {
          const fault = isDirect(term.attribute) ? faultOf(term, () => null) : OF_NO_PACKET;
          if (!fault) return;
          const pointer = `${at}/classes/${c}/match/${t}/${fault.field}`;
          problems.push(error('bad-filter', pointer, fault.message, { node: node.id }));
        });
      });
    });
    return problems;
  });
}

const OF_NO_PACKET = { field: 'attribute', message: 'a switch matches direct attributes only' } as const;

/** One ingress, one egress, no cycle, and every node on a path between the two. */
export function checkShape(definition: ChainDefinition, graph: ChainGraph): ChainProblem[] {
  const problems: ChainProblem[] = [];
  const ends = { ingress: [] as string[], egress: [] as string[] };
  definition.nodes.forEach(({ id, kind }, i) => {
    if (kind === 'nf') return;
    if (ends[kind].length > 0)
      problems.push(error('ingress-egress', `/nodes/${i}`, `there is more than one ${kind}`, { node: id }));
    ends[kind].push(id);
  });
  for (const kind of ['ingress', 'egress'] as const) {
    if (ends[kind].length === 0) problems.push(error('ingress-egress', '/nodes', `there is no ${kind}`));
  }
  definition.edges.forEach((edge, i) => {
    const at = { edge: edge.id };
    if (graph.nodes.get(edge.to)?.kind === 'ingress')
      problems.push(error('ingress-egress', `/edges/${i}/to`, 'no edge may lead to the ingress', at));
    if (graph.nodes.get(edge.from)?.kind === 'egress')
      problems.push(error('ingress-egress', `/edges/${i}/from`, 'no edge may leave the egress', at));
  });
  for (const cycle of findCycles(graph)) {
    const names = [...cycle.map(({ from }) => from), cycle[0]!.from].join(' -> ');
    const edge = cycle.at(-1)!;
    const message = `packets would loop forever: ${names}`;
    const pointer = `/edges/${definition.edges.indexOf(edge)}`;
    problems.push(error('cycle', pointer, message, { node: edge.to, edge: edge.id }));
  }
  const reached = ends.ingress.length === 1 ? reachableFrom(graph, ends.ingress[0]!, 'along') : null;
  const leaving = ends.egress.length === 1 ? reachableFrom(graph, ends.egress[0]!, 'against') : null;
  const seen = new Set<string>();
  definition.nodes.forEach(({ id, kind }, i) => {
    if (seen.has(id)) return;
    seen.add(id);
    const at = { node: id };
    if (reached && kind === 'nf' && !reached.has(id))
      problems.push(error('unreachable-node', `/nodes/${i}`, `no path leads from the ingress to "${id}"`, at));
    else if (leaving && kind !== 'egress' && !leaving.has(id))
      problems.push(error('dead-end', `/nodes/${i}`, `no path leads from "${id}" to the egress`, at));
  });
  return problems;
}
