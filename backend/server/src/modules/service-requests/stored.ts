import { Id, PoolInstance, RequestWay, ServicePoolDefinition, ServiceRequest, TimestampMs } from '@orrery/contract';
import { z } from 'zod';

/** A pool as it is kept. */
export const StoredPool = z.strictObject({
  definition: ServicePoolDefinition,
  chain_id: Id,
  instances: z.array(PoolInstance),
  /** The operation that enforces requests; null: none. It may not be accepted yet. */
  operation_id: Id.nullable(),
  /** Operations so far. */
  operations: z.int().min(0),
  /** Its instances have been deployed. */
  ready: z.boolean(),
  /** Why the last operation came to nothing; null: it did not. */
  failed: z.string().nullable(),
  removing: z.boolean(),
  /** It had no room and is not deployed again; absent: it is. */
  given_up: z.literal(true).optional(),
  by: z.string(),
  /** Who asked for what the last operation enforces; absent: who declared the pool. */
  asked_by: z.string().optional(),
  /** Who has released requests that no operation has taken from it yet: one, or two of several; absent: nobody. */
  released_by: z.array(z.string()).max(2).optional(),
  /** Who asked for its removal last; absent: nobody, or who declared it. */
  removed_by: z.string().optional(),
  created_ms: TimestampMs,
});
export type StoredPool = z.infer<typeof StoredPool>;

/** `released_by` with one more. */
export function releasedBy({ released_by = [] }: StoredPool, by: string): string[] {
  return released_by.includes(by) ? released_by : [...released_by, by].slice(0, 2);
}

/** A request as it is kept. */
export const StoredRequest = ServiceRequest.extend({
  /** Keeps the order of those in bulk. */
  place: z.int().min(0),
  /** The way that its packets take until they take a better one, to which it goes back where that does not come about. */
  former: RequestWay.nullable().default(null),
});
export type StoredRequest = z.infer<typeof StoredRequest>;

const HOLDING = ['requested', 'deploying', 'active', 'late'] as const;

/** A request that holds capacity. */
export type HoldingRequest = StoredRequest & {
  readonly state: (typeof HOLDING)[number];
  readonly way: NonNullable<StoredRequest['way']>;
};

export function holds(request: StoredRequest): request is HoldingRequest {
  return request.way !== null && HOLDING.some((state) => state === request.state);
}

/** Whether packets of the request take its way. */
export function isUnderWay({ state }: StoredRequest): boolean {
  return state === 'active' || state === 'late';
}

/** Whether the request holds capacity or, broken, waits for some. */
export function claims(request: StoredRequest): boolean {
  return holds(request) || request.state === 'broken';
}
