import type { Constraint, FabricRule, FabricSpec, Infrastructure, Plan } from '@orrery/contract';
import { WHOLE_RANGE } from '../../igraph/flow-range.js';
import { fabricIn } from '../../transition/phases.js';
import { type ClassMatch, PRIORITY } from '../steering.js';
import { type AbilitiesOf, lowerFabric, type TableUse } from './lower-fabric.js';

/** Table entries that any placement needs. */
export interface TableBeforeHops {
  /** Of the switch with the least room: its entries before any hop between servers, each of which takes one more. */
  readonly table: { readonly fixed: number; readonly available: number; readonly where: string };
  readonly conflicts: readonly Constraint[];
}

/** Counts the switch entries for classes and returned addresses by lowering them, with an arbitrary server as target. */
export function tableBeforeHops(
  infrastructure: Infrastructure,
  abilities: AbilitiesOf,
  classes: readonly ClassMatch[],
  returned: readonly string[],
): TableBeforeHops {
  const [server] = infrastructure.servers;
  const targets = server ? [{ range: WHOLE_RANGE, hop: 1, server: server.id }] : [];
  const common = { hop: null, from_servers: [], key: [], targets };
  const rules: FabricRule[] = [
    ...classes.map(({ pgraph_edge: _, ...rule }): FabricRule => ({ ...rule, ...common, kind: 'classify' })),
    ...returned.map(
      (address): FabricRule => ({
        ...common,
        id: `return/${address}`,
        chain_id: null,
        kind: 'return',
        priority: PRIORITY.return,
        from_hosts: [],
        match: [{ field: 'ip.dst', prefix: `${address}/32`, not: false }],
      }),
    ),
  ];
  const { tables, conflicts } = lowerFabric(infrastructure, abilities, server ? rules : []);
  const room = ({ entries, available }: TableUse) => available - entries;
  const tightest = tables.toSorted((a, b) => room(a) - room(b))[0];
  const { entries = 0, available = 0, id = 'infrastructure' } = tightest ?? {};
  return { table: { fixed: entries, available, where: id }, conflicts };
}

/**
 * Entries of every switch once the plan is applied, and the maximum during its application: old hops stay until no packet is
 * in transit to them. Conflicts name what does not fit or is not supported.
 */
export function tableUse(
  infrastructure: Infrastructure,
  abilities: AbilitiesOf,
  before: FabricSpec | null,
  planned: FabricSpec,
): { readonly tables: Plan['tables']; readonly conflicts: readonly Constraint[] } {
  const servers = new Set(infrastructure.servers.map(({ id }) => id));
  const after = lowerFabric(infrastructure, abilities, planned.rules);
  const between = before
    ? (['extend', 'steer'] as const).map((phase) =>
        lowerFabric(infrastructure, abilities, fabricIn(phase, before, planned, (id) => servers.has(id)).rules),
      )
    : [];
  return {
    tables: after.tables.map(({ id, entries, available }, i) => ({
      switch: id,
      entries,
      most_entries: Math.max(entries, ...between.map(({ tables }) => tables[i]!.entries)),
      available,
    })),
    conflicts: [after, ...between].find(({ conflicts }) => conflicts.length > 0)?.conflicts ?? [],
  };
}
