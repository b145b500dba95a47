import { type Instance, type NfDescriptor, nfInstances, type Plan } from '@orrery/contract';
import { unmodifiedOf } from '../check/implementation.js';
import { grouped } from '../grouped.js';
import { predecessorsByMove } from './succession.js';

type Named = Pick<Instance, 'id' | 'pgraph_node' | 'nf' | 'driver'>;

/** For instances that moved, or replace exactly one instance with another implementation: the one that they follow. */
export function predecessors(base: Plan | null, instances: readonly Named[]): Map<string, string> {
  const ids = instances.map(({ id }) => id);
  const out = predecessorsByMove(base, ids);
  const ran = grouped(nfInstances(base?.graph), ({ pgraph_node }) => pgraph_node);
  for (const [node, now] of grouped(instances, ({ pgraph_node }) => pgraph_node)) {
    const [it] = now;
    if (now.length !== 1 || out.has(it!.id)) continue;
    const before = (ran.get(node) ?? []).filter(({ nf }) => nf === it!.nf);
    if (before.length === 1 && before[0]!.id !== it!.id) out.set(it!.id, before[0]!.id);
  }
  return out;
}

/**
 * Flow state migrations from instances to their replacements (HYPER III-A, migrate_instance). The state of an unmodified
 * program cannot be moved.
 */
export function migrationsBetween(
  base: Plan | null,
  instances: readonly Instance[],
  descriptors: readonly NfDescriptor[],
): Plan['migrations'] {
  const movable = descriptors.filter((it) => it.state.kind !== 'none' && unmodifiedOf(it) === null);
  const stateful = new Set(movable.map(({ id }) => id));
  const running = new Map(nfInstances(base?.graph).map((instance) => [instance.id, instance]));
  const before = predecessors(base, instances);
  return instances.flatMap((to) => {
    const old = before.get(to.id);
    if (old === undefined || !stateful.has(to.nf)) return [];
    const from = running.get(old)!;
    if (from.driver === 'process' || to.driver === 'process') return [];
    return [{ from: old, from_server: from.server, to: to.id, to_server: to.server }];
  });
}
