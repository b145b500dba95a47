import type { PlanInput } from './input.js';

export type OfferedInput = PlanInput &
  Required<Pick<PlanInput, 'container_servers'>> & {
    /** Servers that nothing may stand on, with why, as `which ...`. */
    readonly exclusions: ReadonlyMap<string, string>;
    /** Servers that nothing but what runs there may stand on, with why. */
    readonly closed: ReadonlyMap<string, string>;
  };

/** The input restricted to existing offers: without containers on unknown servers, or at all if no server offers them. */
export function offeredBy(asked: PlanInput): OfferedInput {
  const exclusions = exclusionsOf(asked);
  const closed = new Map(
    asked.closed_servers?.flatMap((id) => (exclusions.has(id) ? [] : [[id, 'is closed'] as const])),
  );
  const input = { ...asked, exclusions, closed };
  const servers = new Set(input.infrastructure.servers.map(({ id }) => id));
  const container_servers = (input.container_servers ?? []).filter((id) => servers.has(id));
  if (container_servers.length > 0) return { ...input, container_servers };
  return { ...input, container_servers, descriptors: withoutContainers(input.descriptors) };
}

function exclusionsOf({ without_servers = [], lost_servers = [] }: PlanInput): ReadonlyMap<string, string> {
  return new Map([
    ...without_servers.map((id) => [id, 'the plan must not use'] as const),
    ...lost_servers.map((id) => [id, 'is lost'] as const),
  ]);
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
