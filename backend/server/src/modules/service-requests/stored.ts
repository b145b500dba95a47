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
  created_ms: TimestampMs,
});
export type StoredPool = z.infer<typeof StoredPool>;

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
