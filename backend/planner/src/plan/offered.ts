import type { PlanInput } from './input.js';

export type OfferedInput = PlanInput & Required<Pick<PlanInput, 'container_servers'>>;

/** The input without what nobody offers: containers on servers that are not there, and containers as a form where none has them. */
export function offeredBy(input: PlanInput): OfferedInput {
  const servers = new Set(input.infrastructure.servers.map(({ id }) => id));
  const container_servers = (input.container_servers ?? []).filter((id) => servers.has(id));
  if (container_servers.length > 0) return { ...input, container_servers };
  const descriptors = input.descriptors.map((descriptor) => ({
    ...descriptor,
    implementations: descriptor.implementations.filter(({ kind }) => kind !== 'container'),
  }));
  return { ...input, container_servers, descriptors };
}
