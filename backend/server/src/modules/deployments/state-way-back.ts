import type { Plan } from '@orrery/contract';

/** The flow state that the plan moved, on its way back. */
export function stateWayBack(plan: Plan, inForce: Plan | null): Plan | null {
  const { migrations = [] } = plan;
  if (!inForce || migrations.length === 0) return null;
  const reversed = migrations.map(({ from, from_server, to, to_server }) => ({
    from: to,
    from_server: to_server,
    to: from,
    to_server: from_server,
  }));
  return { ...inForce, id: wayBackId(plan), migrations: reversed };
}

/** Under which the flow state that is moved back is remembered. */
export function wayBackId({ id }: Plan): string {
  return `${id}-back`;
}
