import { z } from 'zod';
import { type Bucket, type BucketRing, type Judged } from '../budget/bucket-ring.js';
import { COARSE_S, FINE_S, type SecondsHistory } from '../budget/seconds-history.js';

/** Buckets of one field of the stored hash: ten minutes of fine ones, a day of coarse ones. */
const BUCKETS = { f: 600 / FINE_S, c: 86_400 / COARSE_S } as const;
type Kind = keyof typeof BUCKETS;

const seconds = z.number().min(0);
/** Versions after this one may append to a row. */
const Rows = z.array(
  z.tuple([z.int().min(0), seconds, seconds, seconds, z.number().nullable(), z.number().nullable()]).rest(z.unknown()),
);

/** The field that has a bucket. */
export function fieldOf(kind: Kind, slot: number): string {
  return `${kind}${Math.floor(slot / BUCKETS[kind])}`;
}

/** What is known of the buckets of a field, as text. */
export function encodeField(history: SecondsHistory, field: string): string {
  const { ring, first, count } = partOf(history, field)!;
  const rows = Array.from({ length: count }, (_, n) => ring.bucket(first + n)).flatMap((bucket) =>
    bucket ? [rowOf(bucket)] : [],
  );
  return JSON.stringify(rows);
}

/** Puts back what was stored; returns the fields that this version cannot read. */
export function restore(history: SecondsHistory, stored: Readonly<Record<string, string>>): string[] {
  const unreadable: string[] = [];
  const buckets = { f: [] as Bucket[], c: [] as Bucket[] };
  for (const [field, text] of Object.entries(stored)) {
    const rows = rowsOf(text);
    if (!rows || !partOf(history, field)) unreadable.push(field);
    else
      buckets[field[0] as Kind].push(
        ...rows.map(([slot, good_s, bad_s, measured_s, mean, worst]) => ({
          slot,
          ...{ good_s, bad_s, measured_s, mean, worst },
        })),
      );
  }
  for (const [kind, ring] of [['f', history.fine] as const, ['c', history.coarse] as const])
    for (const bucket of buckets[kind].sort((a, b) => a.slot - b.slot)) ring.restore(bucket);
  complete(history, buckets.f);
  return unreadable;
}

/** Whether no bucket of a field is kept any more. */
export function hasPassed(history: SecondsHistory, field: string, nowMs: number): boolean {
  const part = partOf(history, field);
  return part !== null && part.first + part.count <= part.ring.slotOf(nowMs) - part.ring.capacity;
}

/** Coarse buckets are stored when they end: the fine ones know what the last of them had. */
function complete(history: SecondsHistory, fine: readonly Bucket[]): void {
  const of = new Map<number, Bucket[]>();
  for (const bucket of fine) {
    const slot = Math.floor((bucket.slot * FINE_S) / COARSE_S);
    of.set(slot, [...(of.get(slot) ?? []), bucket]);
  }
  const judged = ({ good_s, bad_s }: Judged) => good_s + bad_s;
  for (const [slot, parts] of [...of].sort(([a], [b]) => a - b)) {
    const sum = history.sumOf(slot, parts);
    const known = history.coarse.bucket(slot);
    if (!known || judged(known) < judged(sum)) history.coarse.restore(sum);
  }
}

function partOf(history: SecondsHistory, field: string): { ring: BucketRing; first: number; count: number } | null {
  const [, kind, number] = /^([fc])(\d{1,9})$/.exec(field) ?? [];
  if (kind === undefined) return null;
  const count = BUCKETS[kind as Kind];
  return { ring: kind === 'f' ? history.fine : history.coarse, first: Number(number) * count, count };
}

const milli = (value: number) => Math.round(value * 1000) / 1000;
const figure = (value: number | null) => (value === null ? null : Number(value.toPrecision(6)));

function rowOf({ slot, good_s, bad_s, measured_s, mean, worst }: Bucket) {
  return [slot, milli(good_s), milli(bad_s), milli(measured_s), figure(mean), figure(worst)];
}

function rowsOf(text: string): z.output<typeof Rows> | null {
  try {
    return Rows.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
