import { type Instance, type NfDescriptor, nfInstances, type Plan } from '@orrery/contract';

type Named = Pick<Instance, 'id' | 'pgraph_node' | 'nf' | 'driver'>;

/** For instances that replace exactly one instance with another implementation: the replaced one. */
export function predecessors(base: Plan | null, instances: readonly Named[]): Map<string, string> {
  const out = new Map<string, string>();
  for (const it of instances) {
    const before = nfInstances(base?.graph).filter(
      ({ pgraph_node, nf }) => pgraph_node === it.pgraph_node && nf === it.nf,
    );
    const now = instances.filter(({ pgraph_node }) => pgraph_node === it.pgraph_node);
    if (before.length !== 1 || now.length !== 1 || before[0]!.id === it.id) continue;
    out.set(it.id, before[0]!.id);
  }
  return out;
}

/** Flow state migrations from instances to their replacements (HYPER III-A, migrate_instance). */
export function migrationsBetween(
  base: Plan | null,
  instances: readonly Instance[],
  descriptors: readonly NfDescriptor[],
): Plan['migrations'] {
  const stateful = new Set(descriptors.filter(({ state }) => state.kind !== 'none').map(({ id }) => id));
  const server = new Map(nfInstances(base?.graph).map((instance) => [instance.id, instance.server]));
  const from = predecessors(base, instances);
  return instances.flatMap((to) => {
    const old = from.get(to.id);
    if (old === undefined || !stateful.has(to.nf)) return [];
    return [{ from: old, from_server: server.get(old)!, to: to.id, to_server: to.server }];
  });
}
