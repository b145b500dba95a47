import type { ChainDefinition } from '@orrery/contract';
import { backoffMs, type Ending } from './endings.js';
import { Searches } from './searches.js';

/** Between attempts to enforce what something else was in the way of. */
const RETRY = { firstMs: 500, mostMs: 30_000 };

/** What is known of a pool since the server began; times are monotonic. */
export interface Memory {
  /** Attempts in a row that came to nothing, and when the next one is due. */
  failures: number;
  notBeforeMs: number;
  /** Of these, operations that were accepted. */
  ended: number;
  /** Plans in a row that took too long, and the surroundings in which they did; null: the last one did not. */
  late: { readonly surroundings: string; readonly times: number } | null;
  /** Why it is tried again. */
  waitsFor: string | null;
  /** It is decided on waiting requests anew before the next attempt. */
  crowded: boolean;
  /** The surroundings in which all of them had room when that was done. */
  roomIn: string | null;
  /** The operation that was begun last, with the chain that it is to bring about. */
  begun: { readonly id: string; readonly chain: ChainDefinition } | null;
  /** What does not pass: it is not tried again while all of this is the same. */
  refused: { readonly chain: ChainDefinition; readonly surroundings: string } | null;
  /** Attempts in a row that found no way for broken requests, and when the next one is due. */
  vain: number;
  anewMs: number;
  /** For late requests. */
  readonly searches: Searches;
}

const NOTHING: Omit<Memory, 'searches'> = {
  failures: 0,
  notBeforeMs: 0,
  ended: 0,
  late: null,
  waitsFor: null,
  crowded: false,
  roomIn: null,
  begun: null,
  refused: null,
  vain: 0,
  anewMs: 0,
};

export class Memories {
  private readonly all = new Map<string, Memory>();

  /** `periodMs`: between comparisons of latencies with bounds. */
  constructor(private readonly periodMs: number) {}

  of(pool: string): Memory {
    const known = this.all.get(pool) ?? { ...NOTHING, searches: new Searches(this.periodMs) };
    this.all.set(pool, known);
    return known;
  }

  forget(pool: string): void {
    this.all.delete(pool);
  }
}

/** A plan took too long; how many did before it, in a row and in the same surroundings. */
export function takeLate(memory: Memory, surroundings: string): number {
  const before = memory.late?.surroundings === surroundings ? memory.late.times : 0;
  memory.late = { surroundings, times: before + 1 };
  return before;
}

/** How an attempt to enforce ended. */
export function takeNote(memory: Memory, ending: Ending, nowMs: number): void {
  const isOver = ending.is === 'done' || ending.is === 'final';
  memory.failures = isOver ? 0 : memory.failures + 1;
  if (isOver) {
    memory.ended = 0;
    memory.late = null;
  }
  memory.waitsFor = isOver ? null : ending.why;
  memory.notBeforeMs = isOver ? 0 : nowMs + backoffMs(memory.failures - 1, RETRY.firstMs, RETRY.mostMs);
  memory.crowded = ending.is === 'crowded';
  if (isOver) memory.roomIn = null;
  // What it has brought may be what broken requests lack.
  if (ending.is === 'done') memory.anewMs = 0;
}
