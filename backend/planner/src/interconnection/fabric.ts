import type { FabricRule, Infrastructure, MatchTerm, PipelineDefinition, PlannedPipeline } from '@orrery/contract';
import { graphOf } from '../pipeline/graph.js';
import { matchTerms } from '../pipeline/resolve-filter.js';
import type { MetadataLayout } from './metadata.js';

/**
 * Packets under way carry a hop tag and must not be classified again; a class comes before the return of replies, so
 * that a class of reply traffic is treated before the fabric takes it back to the NF that rewrote it.
 */
export const PRIORITY = { hop: 40_000, classify: 30_000, return: 10_000 } as const;

/** Value/mask entries that a switch without ranges and negation needs for one term. */
function entriesOfTerm(term: MatchTerm): number {
  switch (term.field) {
    case 'ip.src':
    case 'ip.dst': {
      const length = Number(term.prefix.split('/')[1] ?? 32);
      return term.not ? length : 1;
    }
    case 'ip.proto':
      return term.not ? 8 : 1;
    case 'metadata':
      return term.not ? term.width : 1;
    default:
      if (!term.not) return prefixesOfRange(term.lo, term.hi);
      return (
        (term.lo > 0 ? prefixesOfRange(0, term.lo - 1) : 0) +
        (term.hi < 65535 ? prefixesOfRange(term.hi + 1, 65535) : 0) +
        1
      );
  }
}

/** Prefixes of 16 bits that make up the range `lo..hi`. */
function prefixesOfRange(lo: number, hi: number): number {
  let count = 0;
  for (let at = lo; at <= hi; count++) {
    let size = at === 0 ? 65536 : at & -at;
    while (at + size - 1 > hi) size /= 2;
    at += size;
  }
  return count;
}

/** Table entries of one rule: terms multiply, and each host's port has its own. */
function entriesOf(rule: Pick<FabricRule, 'match' | 'from_hosts'>): number {
  const terms = rule.match.reduce((product, term) => product * entriesOfTerm(term), 1);
  return terms * Math.max(1, rule.from_hosts.length);
}

/** The rules' order among themselves is the order of the edges in the definition. */
export function classifyPriority(definition: PipelineDefinition, edgeId: string): number {
  return PRIORITY.classify - definition.edges.findIndex(({ id }) => id === edgeId);
}

/** Table entries of all classify rules of a pipeline. */
function classifyEntries(definition: PipelineDefinition, layouts: ReadonlyMap<string, MetadataLayout>): number {
  const graph = graphOf(definition);
  const layout = layouts.get(definition.name)!;
  const { from, match } = definition.traffic_class;
  return graph.edges
    .filter((edge) => graph.nodes.get(edge.from)!.kind === 'ingress' && graph.nodes.get(edge.to)!.kind === 'nf')
    .map((edge) => matchTerms([...match, ...edge.filter], () => null, layout))
    .reduce((sum, terms) => sum + entriesOf({ match: terms, from_hosts: from }), 0);
}

/** Entries that the fabric holds before any hop between servers: hosts' addresses, classes and returned addresses. */
export function fixedEntries(
  pipelines: readonly PlannedPipeline[],
  { hosts, switches }: Infrastructure,
  layouts: ReadonlyMap<string, MetadataLayout>,
  returned: number,
): { fixed: number; available: number; where: string } {
  const classes = pipelines.reduce((sum, { definition }) => sum + classifyEntries(definition, layouts), 0);
  const smallest = switches.toSorted((a, b) => a.table_entries - b.table_entries)[0];
  return {
    fixed: hosts.length + classes + returned,
    available: smallest?.table_entries ?? 0,
    where: smallest?.id ?? 'infrastructure',
  };
}
