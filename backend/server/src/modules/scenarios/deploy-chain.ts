import type { Stage } from './scenario.js';

/** Resolves when the chain runs. */
export async function deployChain({ api, until }: Stage, chainId: string): Promise<void> {
  const { id } = await api.call('createDeployment', { body: { chain_id: chainId } });
  await until('the end of the deployment', 30, async () => {
    const { state, error } = await api.call('getOperation', { params: { id } });
    if (state === 'FAILED' || state === 'ROLLED_BACK') throw new Error(error?.detail ?? 'the deployment failed');
    return state === 'COMPLETED' || state === 'PARTIALLY_COMPLETED' ? true : null;
  });
}
