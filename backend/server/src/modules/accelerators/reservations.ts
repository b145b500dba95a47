import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { SlotRef, SlotReservation } from '@orrery/contract';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';

export function slotKey({ board, slot }: SlotRef): string {
  return `${board}/${slot}`;
}

/** Slots that operators keep free, in memory as in Redis. */
@Injectable()
export class Reservations implements OnModuleInit {
  private readonly entries = new Map<string, SlotReservation>();
  private readonly listeners: (() => void)[] = [];

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {}

  async onModuleInit(): Promise<void> {
    for (const entry of await this.store.hashValues<SlotReservation>(KEYS.slotReservations))
      this.entries.set(slotKey(entry), entry);
  }

  all(): readonly SlotReservation[] {
    return [...this.entries.values()];
  }

  find(slot: SlotRef): SlotReservation | null {
    return this.entries.get(slotKey(slot)) ?? null;
  }

  async reserve(slot: SlotRef, by: string, reason: string): Promise<SlotReservation> {
    const entry: SlotReservation = { board: slot.board, slot: slot.slot, by, reason, since_ms: Date.now() };
    const key = slotKey(slot);
    await this.store.transact((transaction) => {
      transaction.hset(KEYS.slotReservations, key, JSON.stringify(entry));
      this.events.appendIn(transaction, {
        type: 'slot.reserved',
        subject: slot.board,
        message: `${slot.board} slot ${slot.slot} is reserved${reason ? `: ${reason}` : ''}`,
        actor: by,
        data: { ...slot, reason },
      });
    });
    this.entries.set(key, entry);
    this.changed();
    return entry;
  }

  /** False: there was none. */
  async release(slot: SlotRef, by: string): Promise<boolean> {
    const key = slotKey(slot);
    if (!this.entries.has(key)) return false;
    await this.store.transact((transaction) => {
      transaction.hdel(KEYS.slotReservations, key);
      this.events.appendIn(transaction, {
        type: 'slot.released',
        subject: slot.board,
        message: `${slot.board} slot ${slot.slot} is free to be used again`,
        actor: by,
        data: { ...slot },
      });
    });
    this.entries.delete(key);
    this.changed();
    return true;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}
