/**
 * An instance that moves becomes a new one, so that both run until traffic and flow state have gone over: `fw.0`, then
 * `fw.0-2`, `fw.0-3`. What runs in a slot of a board stays with the slot.
 */
const SUCCESSION = /^(.*\.(?:container-|parallel-|scheduled-)*\d+)-(\d+)$/;

/** The id of the first of the instances that followed each other; of anything else its id. */
export function lineageOf(id: string): string {
  return SUCCESSION.exec(id)?.[1] ?? id;
}

/** Of the instances that followed each other, from 1. */
export function generationOf(id: string): number {
  return Number(SUCCESSION.exec(id)?.[2] ?? 1);
}
