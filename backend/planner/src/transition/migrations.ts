import type { NfDescriptor, Plan } from '@orrery/contract';

type Named = Pick<Plan['instances'][number], 'id' | 'pgraph_node' | 'nf' | 'driver'>;

/** For instances that take the place of exactly one other of another form: whose. */
export function predecessors(base: Plan | null, instances: readonly Named[]): Map<string, string> {
  const out = new Map<string, string>();
  for (const it of instances) {
    const before = base?.instances.filter(({ pgraph_node, nf }) => pgraph_node === it.pgraph_node && nf === it.nf);
    const now = instances.filter(({ pgraph_node }) => pgraph_node === it.pgraph_node);
    if (before?.length !== 1 || now.length !== 1 || before[0]!.id === it.id) continue;
    out.set(it.id, before[0]!.id);
  }
  return out;
}

/** Flow state that goes over from instances to those that take their place (HYPER III-A, migrate_instance). */
export function migrationsBetween(
  base: Plan | null,
  instances: Plan['instances'],
  descriptors: readonly NfDescriptor[],
): Plan['migrations'] {
  const stateful = new Set(descriptors.filter(({ state }) => state.kind !== 'none').map(({ id }) => id));
  const server = new Map(base?.instances.map((instance) => [instance.id, instance.server]));
  const from = predecessors(base, instances);
  return instances.flatMap((to) => {
    const old = from.get(to.id);
    if (old === undefined || !stateful.has(to.nf)) return [];
    return [{ from: old, from_server: server.get(old)!, to: to.id, to_server: to.server }];
  });
}
