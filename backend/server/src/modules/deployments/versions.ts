import type { Deployment, Operation, VersionChange } from '@orrery/contract';

/** Version of each running chain, and the operation that deployed it. */
export type RunningVersions = Readonly<Record<string, { readonly version: number; readonly operation_id: string }>>;

/** Versions once the operation has come about. */
export function afterOperation(
  before: RunningVersions,
  { id, chains }: Pick<Operation, 'id' | 'chains'>,
): RunningVersions {
  const after = { ...before };
  for (const { chain_id, to_version } of chains)
    if (to_version === null) delete after[chain_id];
    else after[chain_id] = { version: to_version, operation_id: id };
  return after;
}

/** What leads from `before` to the versions of a plan; `asked` are listed even if they keep their version. */
export function changesBetween(
  before: RunningVersions,
  planned: ReadonlyMap<string, number>,
  asked: ReadonlySet<string>,
): VersionChange[] {
  const from = (id: string) => before[id]?.version ?? null;
  const deployed = [...planned].filter(([id, version]) => asked.has(id) || from(id) !== version);
  const removed = Object.keys(before).filter((id) => !planned.has(id));
  return [
    ...deployed.map(([chain_id, to_version]) => ({ chain_id, from_version: from(chain_id), to_version })),
    ...removed.map((chain_id) => ({ chain_id, from_version: from(chain_id), to_version: null })),
  ];
}

/** Chains and switches that the operation changes or was asked to change. */
export function subjectsOf({ chains, request }: Pick<Operation, 'chains' | 'request'>): Set<string> {
  return new Set([
    ...chains.map(({ chain_id }) => chain_id),
    ...request.chains.map(({ chain_id }) => chain_id),
    ...request.implementations.map(({ chain_id }) => chain_id),
    ...request.remove,
    ...(request.switch_drivers ?? []).map((choice) => `switch ${choice.switch}`),
  ]);
}

/**
 * The deployment of a chain as the operations that are left make it: the latest one under way that changes it, else what is
 * in force; null: it is not deployed.
 */
export function deploymentOf(
  chainId: string,
  inForce: { readonly plan_id: string | null; readonly chains: RunningVersions },
  coming: readonly Pick<Operation, 'id' | 'plan_id' | 'chains'>[],
  nowMs: number,
): Deployment | null {
  const common = { chain_id: chainId, since_ms: nowMs };
  for (const { id, plan_id, chains } of coming.toReversed()) {
    const change = chains.find(({ chain_id }) => chain_id === chainId);
    const version = change?.to_version ?? change?.from_version;
    if (!change || !version || !plan_id) continue;
    const state = change.to_version === null ? 'undeploying' : 'deploying';
    return { ...common, version, plan_id, operation_id: id, state };
  }
  const running = inForce.chains[chainId];
  return running && inForce.plan_id ? { ...common, ...running, plan_id: inForce.plan_id, state: 'running' } : null;
}
