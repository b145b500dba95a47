import { z } from 'zod';
import type { TableEntry } from '../board-port.js';
import { stateRows } from './state-rows.js';

/** Entries of a module's flow table. */
export const TABLE_FLOWS = 4096;

/** `max_flows` of a module that fills its table by itself: no register can lower the limit. */
export const TableFlows = z
  .literal(TABLE_FLOWS, `must be ${TABLE_FLOWS} on a board: the size of its table is fixed`)
  .default(TABLE_FLOWS);

/** Limit of a board's idle time counters, in seconds. */
export const MOST_IDLE_S = 43_200;

export const Word32 = z.int().min(0).max(0xffffffff);
export const Word16 = z.int().min(0).max(0xffff);
export const AgeMs = z.number().min(0).max(86_400_000_000);

/** The first four words of an entry, as in a row of the software NF: src, dst, src port, dst port, proto. */
export type FlowKey = [number, number, number, number, number];

export function keyOf([src, dst, ports, proto]: TableEntry): FlowKey {
  return [src!, dst!, ports! >>> 16, ports! & 0xffff, proto! & 0xff];
}

export function keyWords([src, dst, src_port, dst_port, proto]: readonly number[]): [number, number, number, number] {
  return [src!, dst!, src_port! * 0x10000 + dst_port!, proto!];
}

/** Boards count idle time in whole seconds, up to a limit. */
export const idleSeconds = (idle_ms: number): number => Math.min(Math.round(idle_ms / 1000), MOST_IDLE_S);

/** Rows of an export, least idle first, so that the flows that do not fit are those idle longest. */
export function youngestFirst<R extends readonly number[]>(rows: R[]): R[] {
  return rows.sort((a, b) => a.at(-1)! - b.at(-1)!);
}

export function readRows<R extends z.ZodType>(row: R, state: Record<string, unknown>): z.infer<R>[] {
  return stateRows(z.strictObject({ flows: z.array(row).max(200_000) }), state).flows;
}
