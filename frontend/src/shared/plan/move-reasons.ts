import type { Plan } from '@orrery/contract';

/** Why the plan runs each NF that the move names where it does, with what that carries and costs; a line each. */
export function moveReasons({ request, chains, reasons }: Plan): string[] {
  const chainName = new Map(chains.map(({ chain_id, definition }) => [chain_id, definition.name]));
  const moved = new Set(
    request.implementations.map(({ chain_id, node_id }) => `${chainName.get(chain_id)}.${node_id}`),
  );
  return reasons.flatMap(({ part, subject, because }) =>
    part === 'infrastructure' && moved.has(subject) ? [`${subject}: ${because}`] : [],
  );
}
