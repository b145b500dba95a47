import type { SlotRef } from '@orrery/contract';
import type { Batch } from '../platform/durable-collection/collections.js';

export const LEASES = Symbol('LeaseBook');

/** Something that one holder at a time may lease. A path covers everything below it: a board covers its slots. */
export type Resource = `chain/${string}` | `board/${string}` | `accelerator/${string}`;

export const chainResource = (chainId: string): Resource => `chain/${chainId}`;
export const boardResource = (board: string): Resource => `board/${board}`;
export const slotResource = ({ board, slot }: SlotRef): Resource => `board/${board}/${slot}`;

/** `name`: of an accelerator that is lent, e.g. `server-1/instructions` or `board-1/slot-0`. */
export const acceleratorResource = (name: string): Resource => `accelerator/${name}`;

/** Null if the resource is not a slot. */
export function slotOfResource(resource: string): SlotRef | null {
  const [kind, board, slot] = resource.split('/');
  return kind === 'board' && board !== undefined && slot !== undefined ? { board, slot: Number(slot) } : null;
}

/** `change`: the holder is changing it. `reserve`: plans that do not name it leave it alone. `lend`: it is lent to a VNF. */
export type Claim = 'change' | 'reserve' | 'lend';

export interface Lease {
  readonly resource: string;
  readonly claim: Claim;
  readonly holder: string;
  readonly purpose: string;
  /** Requester. */
  readonly by: string;
  readonly since_ms: number;
  /** Null: until it is released. */
  readonly until_ms: number | null;
}

export interface LeaseRequest extends Pick<Lease, 'claim' | 'holder' | 'purpose' | 'by'> {
  readonly resources: readonly Resource[];
  readonly until_ms?: number | null;
}

/**
 * Exclusive leases: two with the same claim do not overlap unless their holder is the same. A holder is a record of this
 * server, which acquires and releases in the transactions that begin and end it, so no holder acts on a lease that it has lost.
 */
export interface LeaseBook {
  /** Those that have not expired. */
  all(): readonly Lease[];
  find(claim: Claim, resource: Resource): Lease | null;
  /** A conflicting lease of another holder; null: none. */
  conflictOf(request: Pick<LeaseRequest, 'claim' | 'holder' | 'resources'>): Lease | null;
  /** Throws 409 that names the holder. */
  requireFree(request: Pick<LeaseRequest, 'claim' | 'holder' | 'resources'>): void;
  /** Leases all resources or none, in the same batch. Throws 409 that names the holder. */
  acquireIn(batch: Batch, request: LeaseRequest): void;
  /** Absent `resources`: everything that the holder has. */
  releaseIn(batch: Batch, claim: Claim, holder: string, resources?: readonly Resource[]): void;
  onChange(listener: () => void): void;
}
