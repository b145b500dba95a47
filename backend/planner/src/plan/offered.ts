import type { PlanInput } from './input.js';

export type OfferedInput = PlanInput & Required<Pick<PlanInput, 'container_servers'>>;

/** The input restricted to existing offers: without containers on unknown servers, or at all if no server offers them. */
export function offeredBy(input: PlanInput): OfferedInput {
  const servers = new Set(input.infrastructure.servers.map(({ id }) => id));
  const container_servers = (input.container_servers ?? []).filter((id) => servers.has(id));
  if (container_servers.length > 0) return { ...input, container_servers };
  return { ...input, container_servers, descriptors: withoutContainers(input.descriptors) };
}

const KNOWN = new WeakMap<PlanInput['descriptors'], PlanInput['descriptors']>();

/** The same array for the same descriptors, so that what is known of it is found again. */
function withoutContainers(descriptors: PlanInput['descriptors']): PlanInput['descriptors'] {
  const known = KNOWN.get(descriptors);
  if (known) return known;
  const rest = descriptors.map((descriptor) => ({
    ...descriptor,
    implementations: descriptor.implementations.filter(({ kind }) => kind !== 'container'),
  }));
  KNOWN.set(descriptors, rest);
  return rest;
}
