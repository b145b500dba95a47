import { Inject, Injectable } from '@nestjs/common';
import type { SlotRef, SlotReservation } from '@orrery/contract';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import { type Precondition, requireRead } from '../../platform/precondition.js';
import { changedSince, conflict, notFound } from '../../platform/problem.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { LEASES, type Lease, type LeaseBook, slotOfResource, slotResource } from '../../ports/lease-book.js';

/** Every operator may renew or end a reservation. */
const OPERATORS = 'operators';

export function slotKey({ board, slot }: SlotRef): string {
  return `${board}/${slot}`;
}

/** Slots reserved by operators, and by lending groups for themselves: leases with the claim `reserve`. */
@Injectable()
export class Reservations {
  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(LEASES) private readonly leases: LeaseBook,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {}

  all(): readonly SlotReservation[] {
    return this.leases.all().flatMap((lease) => reservationOf(lease) ?? []);
  }

  find(slot: SlotRef): SlotReservation | null {
    const lease = this.leases.find('reserve', slotResource(slot));
    return lease && reservationOf(lease);
  }

  /** Throws 404. */
  get(slot: SlotRef): SlotReservation {
    const reservation = this.find(slot);
    if (!reservation) throw notFound('reservation of slot', `${slot.board} ${slot.slot}`);
    return reservation;
  }

  /** Renewing one requires that it was read. */
  async reserve({ board, slot }: SlotRef, given: Precondition, by: string, reason: string): Promise<SlotReservation> {
    const resources = [slotResource({ board, slot })];
    await this.collections.commit((batch) => {
      this.requireOperators({ board, slot });
      const before = this.find({ board, slot });
      if (before) requireRead(given, `reservation of ${board} slot ${slot}`, before.since_ms);
      if (given) requireSame(this.get({ board, slot }), given);
      this.leases.acquireIn(batch, { claim: 'reserve', holder: OPERATORS, purpose: reason, by, resources });
      batch.also((transaction) =>
        this.events.appendIn(transaction, {
          type: 'slot.reserved',
          subject: board,
          message: `${board} slot ${slot} is reserved${reason ? `: ${reason}` : ''}`,
          actor: by,
          data: { board, slot, reason },
        }),
      );
    });
    return this.find({ board, slot })!;
  }

  /** Throws 404 if there is none. */
  release({ board, slot }: SlotRef, ifMatch: string | null, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      requireSame(this.get({ board, slot }), ifMatch);
      this.requireOperators({ board, slot });
      this.leases.releaseIn(batch, 'reserve', OPERATORS, [slotResource({ board, slot })]);
      batch.also((transaction) =>
        this.events.appendIn(transaction, {
          type: 'slot.released',
          subject: board,
          message: `The reservation of ${board} slot ${slot} ended`,
          actor: by,
          data: { board, slot },
        }),
      );
    });
  }

  /** Throws 409 if a lending group has reserved it. */
  private requireOperators(slot: SlotRef): void {
    const lease = this.leases.find('reserve', slotResource(slot));
    if (lease && lease.holder !== OPERATORS)
      throw conflict(
        `The ${lease.purpose} has reserved ${slot.board} slot ${slot.slot}; take it out of the group, or disable that.`,
      );
  }

  onChange(listener: () => void): void {
    this.leases.onChange(listener);
  }
}

/** Its time is its ETag, which a slot that is released and reserved again does not repeat. */
function requireSame({ board, slot, since_ms }: SlotReservation, ifMatch: string | null): void {
  if (ifMatch !== null && ifMatch !== String(since_ms))
    throw changedSince(`reservation of ${board} slot ${slot}`, since_ms);
}

function reservationOf({ claim, resource, by, purpose, since_ms }: Lease): SlotReservation | null {
  const slot = claim === 'reserve' ? slotOfResource(resource) : null;
  return slot && { ...slot, by, reason: purpose, since_ms };
}
