import { Inject, Injectable } from '@nestjs/common';
import type { SlotRef, SlotReservation } from '@orrery/contract';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { LEASES, type Lease, type LeaseBook, slotOfResource, slotResource } from '../../ports/lease-book.js';

/** Every operator may renew or end a reservation. */
const OPERATORS = 'operators';

export function slotKey({ board, slot }: SlotRef): string {
  return `${board}/${slot}`;
}

/** Slots reserved by operators: leases with the claim `reserve`. */
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

  async reserve({ board, slot }: SlotRef, by: string, reason: string): Promise<SlotReservation> {
    const resources = [slotResource({ board, slot })];
    await this.collections.commit((batch) => {
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

  /** False if there was none. */
  release({ board, slot }: SlotRef, by: string): Promise<boolean> {
    const resource = slotResource({ board, slot });
    return this.collections.commit((batch) => {
      if (!this.leases.find('reserve', resource)) return false;
      this.leases.releaseIn(batch, 'reserve', OPERATORS, [resource]);
      batch.also((transaction) =>
        this.events.appendIn(transaction, {
          type: 'slot.released',
          subject: board,
          message: `The reservation of ${board} slot ${slot} ended`,
          actor: by,
          data: { board, slot },
        }),
      );
      return true;
    });
  }

  onChange(listener: () => void): void {
    this.leases.onChange(listener);
  }
}

function reservationOf({ claim, resource, by, purpose, since_ms }: Lease): SlotReservation | null {
  const slot = claim === 'reserve' ? slotOfResource(resource) : null;
  return slot && { ...slot, by, reason: purpose, since_ms };
}
