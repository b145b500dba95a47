import type { NodeSpec, Observed } from '@orrery/contract';

/**
 * The instance because of which its server does not converge or has failed: one outside the engine, or one that was refused.
 * Null: none, or the engine may lack something, too. Its graph may be of an earlier desired state: `AppliedForms` tells.
 */
export function lackingInstance(
  { engine, state, error, instances }: Observed,
  spec: Pick<NodeSpec, 'instances'>,
): string | null {
  if (engine !== 'running') return null;
  const idle = instances.filter((instance) => instance.state !== 'running');
  if (state === 'failed') return idle.find(({ detail }) => detail !== null && detail === error)?.id ?? null;
  // One graph makes all NFs of an engine run: it has not got it if one of them does not.
  const ofEngine = new Set(spec.instances.filter(({ driver }) => driver === 'engine').map(({ id }) => id));
  if (idle.some(({ id }) => ofEngine.has(id))) return null;
  return idle[0]?.id ?? null;
}
