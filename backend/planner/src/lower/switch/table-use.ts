import type { Constraint, FabricRule, FabricSpec, Infrastructure, Plan, PlannedChain } from '@orrery/contract';
import type { Budget } from '../../budget.js';
import { WHOLE_RANGE } from '../../igraph/flow-range.js';
import type { Recall } from '../../recall.js';
import { linkedSlots } from '../../slot-links.js';
import { fabricIn } from '../../transition/phases.js';
import type { MetadataLayout } from '../metadata.js';
import { classMatches, guardRules, PRIORITY } from '../steering.js';
import { type AbilitiesOf, heldRoom, lowerFabric, type TableUse } from './lower-fabric.js';
import { serversOfFabric } from './own-programs.js';

/** Table entries that any placement needs. */
export interface TableBeforeHops {
  /** Of the switch with the least room: its entries before any hop between servers, each of which takes at least one more. */
  readonly table: { readonly fixed: number; readonly available: number; readonly where: string };
  readonly conflicts: readonly Constraint[];
}

/** Rules of the chains that do not depend on placement. */
export interface RulesBeforeHops {
  /** With an arbitrary server as target; none without servers. */
  readonly classes: readonly FabricRule[];
  readonly guards: readonly FabricRule[];
}

export function rulesBeforeHops(
  infrastructure: Infrastructure,
  chains: readonly PlannedChain[],
  layouts: ReadonlyMap<string, MetadataLayout>,
  recall: Recall,
  guarded: readonly PlannedChain[] = [],
): RulesBeforeHops {
  const [server] = serversOfFabric(infrastructure);
  const parts = chains.map((chain) => {
    const layout = layouts.get(chain.definition.name)!;
    return recall.of('rules before hops', [recall.nameOf(chain), recall.nameOf(layout)], () => ({
      classes: (server ? classMatches(chain, layout) : []).map(
        ({ pgraph_edge: _edge, metadata: _word, ...rule }): FabricRule => ({
          ...rule,
          ...toward(server!.id),
          kind: 'classify',
        }),
      ),
      guards: guardRules(chain, layout),
    }));
  });
  const others = guarded.flatMap((chain) => guardRules(chain, new Map()));
  return {
    classes: parts.flatMap(({ classes }) => classes),
    guards: [...parts.flatMap(({ guards }) => guards), ...others],
  };
}

const toward = (server: string) => ({
  hop: null,
  from_servers: [],
  key: [],
  targets: [{ range: WHOLE_RANGE, hop: 1, server }],
});

/** Counts the switch entries for the rules of all chains and for returned addresses by lowering them. Errors: `OutOfTime`. */
export function tableBeforeHops(
  infrastructure: Infrastructure,
  abilities: AbilitiesOf,
  { classes, guards }: RulesBeforeHops,
  returned: readonly string[],
  time: Pick<Budget, 'expired'> = {},
): TableBeforeHops {
  const [server] = serversOfFabric(infrastructure);
  const returns = (server ? returned : []).map(
    (address): FabricRule => ({
      ...toward(server!.id),
      id: `return/${address}`,
      chain_id: null,
      kind: 'return',
      priority: PRIORITY.return,
      from_hosts: [],
      match: [{ field: 'ip.dst', prefix: `${address}/32`, not: false }],
    }),
  );
  const { tables, conflicts } = lowerFabric(
    infrastructure,
    abilities,
    server ? [...classes, ...guards, ...returns] : [],
    time,
  );
  const room = ({ entries, available }: TableUse) => available - entries;
  const tightest = tables.toSorted((a, b) => room(a) - room(b))[0];
  const { entries = 0, available = 0, id = 'infrastructure' } = tightest ?? {};
  return { table: { fixed: entries, available, where: id }, conflicts };
}

/**
 * Entries of every switch once the plan is applied, and the maximum during its application: old hops stay until no packet is
 * in transit to them, and drivers change when packets are steered anew. Conflicts name what does not fit or is not supported;
 * while the plan is applied, what is there already fits. Errors: `OutOfTime`.
 */
export function tableUse(
  infrastructure: Infrastructure,
  { abilities, before: abilitiesBefore }: { readonly abilities: AbilitiesOf; readonly before: AbilitiesOf },
  before: FabricSpec | null,
  planned: FabricSpec,
  time: Pick<Budget, 'expired'> = {},
): { readonly tables: Plan['tables']; readonly conflicts: readonly Constraint[] } {
  const places = new Set([...infrastructure.servers.map(({ id }) => id), ...linkedSlots(infrastructure).keys()]);
  const after = lowerFabric(infrastructure, abilities, planned.rules, time);
  const during = (phase: 'extend' | 'steer', running: FabricSpec) => {
    const then = phase === 'extend' ? abilitiesBefore : abilities;
    const { rules } = fabricIn(phase, running, planned, (id) => places.has(id));
    const lowered = lowerFabric(infrastructure, then, rules, time);
    if (lowered.conflicts.length === 0) return lowered;
    const held = heldRoom(lowerFabric(infrastructure, then, running.rules, time));
    const { conflicts } = lowerFabric(infrastructure, then, rules, time, held);
    return { ...lowered, conflicts: conflicts.map(meanwhile) };
  };
  const between = before ? [during('extend', before), during('steer', before)] : [];
  const changes = abilitiesBefore !== abilities;
  const now = changes ? lowerFabric(infrastructure, abilitiesBefore, before?.rules ?? [], time).tables : [];
  return {
    tables: after.tables.map(({ id, entries, available }, i) => ({
      switch: id,
      entries,
      most_entries: Math.max(entries, ...between.map(({ tables }) => tables[i]!.entries)),
      available,
      ...(now[i] ? { entries_before: now[i].entries } : {}),
    })),
    conflicts: [after, ...between].find(({ conflicts }) => conflicts.length > 0)?.conflicts ?? [],
  };
}

const meanwhile = (conflict: Constraint): Constraint =>
  conflict.constraint === 'switch-table' ? { ...conflict, meanwhile: true } : conflict;
