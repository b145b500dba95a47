import type { ChainDefinition } from '@orrery/contract';

/** The comments of the YAML follow a part from one JSON Pointer to another; with `to` null they leave with it. */
export function moveComments(definition: ChainDefinition, from: string, to: string | null): ChainDefinition {
  const { comments } = definition;
  if (!comments) return definition;
  const within = (pointer: string) => pointer === from || pointer.startsWith(`${from}/`);
  const moved = Object.entries(comments).flatMap(([pointer, comment]) => {
    if (!within(pointer)) return [[pointer, comment] as const];
    return to === null ? [] : [[to + pointer.slice(from.length), comment] as const];
  });
  return { ...definition, comments: Object.fromEntries(moved) };
}
