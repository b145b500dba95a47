import type { Deployment, Health, NfInstance } from '@orrery/contract';

export interface Trouble {
  readonly name: string;
  readonly status: 'degraded' | 'failed';
  readonly detail: string;
}

/** Problems: failed parts of the server, failed NFs, and degraded chains whose NFs all run. */
export function troublesOf(
  health: Health | undefined,
  instances: readonly NfInstance[],
  deployments: readonly Deployment[],
  titleOf: (chainId: string) => string,
): Trouble[] {
  const parts = (health?.parts ?? []).flatMap(({ name, status, detail }): Trouble[] =>
    status === 'degraded' || status === 'failed' ? [{ name, status, detail }] : [],
  );
  const failed = instances.filter(({ state }) => state === 'failed');
  const nfs = failed.map(
    ({ id, detail }): Trouble => ({ name: id, status: 'degraded', detail: detail ?? 'The NF failed.' }),
  );
  const chains = deployments.flatMap(({ chain_id, state, reason }): Trouble[] => {
    const told = failed.some((instance) => instance.chain_id === chain_id);
    if (told || (state !== 'degraded' && state !== 'failed')) return [];
    const detail = state === 'failed' ? 'Its deployment failed.' : (reason ?? 'Its events tell why.');
    return [{ name: titleOf(chain_id), status: 'degraded', detail }];
  });
  return [...parts, ...nfs, ...chains];
}

/** The server's own status, lowered by any problem in the network. */
export function systemState(health: Health, troubles: readonly Trouble[]): Health['status'] {
  return health.status === 'ok' && troubles.length > 0 ? 'degraded' : health.status;
}
