import type { Deployment, Health, NfInstance } from '@orrery/contract';

export interface Trouble {
  readonly name: string;
  readonly status: 'degraded' | 'failed';
  readonly detail: string;
}

/** What is not well: parts of the server, NFs that failed, and chains that suffer although each of their NFs runs. */
export function troublesOf(
  health: Health | undefined,
  instances: readonly NfInstance[],
  deployments: readonly Deployment[],
  titleOf: (pipelineId: string) => string,
): Trouble[] {
  const parts = (health?.parts ?? []).flatMap(({ name, status, detail }): Trouble[] =>
    status === 'degraded' || status === 'failed' ? [{ name, status, detail }] : [],
  );
  const failed = instances.filter(({ state }) => state === 'failed');
  const nfs = failed.map(
    ({ id, detail }): Trouble => ({ name: id, status: 'degraded', detail: detail ?? 'The NF failed.' }),
  );
  const chains = deployments.flatMap(({ pipeline_id, state }): Trouble[] => {
    const told = failed.some((instance) => instance.pipeline_id === pipeline_id);
    if (told || (state !== 'degraded' && state !== 'failed')) return [];
    const detail = state === 'failed' ? 'It was not deployed as asked for.' : 'Its events say what it suffers from.';
    return [{ name: titleOf(pipeline_id), status: 'degraded', detail }];
  });
  return [...parts, ...nfs, ...chains];
}

/** The server's own word, lowered by whatever of the network is not well. */
export function systemState(health: Health, troubles: readonly Trouble[]): Health['status'] {
  return health.status === 'ok' && troubles.length > 0 ? 'degraded' : health.status;
}
