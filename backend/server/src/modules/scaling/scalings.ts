import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type EventDraft, type NfRef, Scaling } from '@orrery/contract';
import { grouped } from '@orrery/planner';
import { z } from 'zod';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { conflict } from '../../platform/problem.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { chainResource, LEASES, type LeaseBook } from '../../ports/lease-book.js';

/** Beyond this number the oldest are deleted of which nothing is looked up. */
const KEEP = 200;
/** Of each NF, at least: as many failures in turn count when it is tried again. */
const KEEP_OF_NF = 10;
/** Beyond this number the oldest are deleted, whatever their NFs have. */
const MOST = 4000;

/** `told`: that it has begun. */
const StoredScaling = z.strictObject({ scaling: Scaling, told: z.boolean() });
type StoredScaling = z.infer<typeof StoredScaling>;

/** Recent changes of numbers of instances, newest first; one at a time for each chain. */
@Injectable()
export class Scalings implements OnModuleInit {
  private readonly stored: DurableCollection<StoredScaling>;
  /** Of the list that was looked through. */
  private looked: {
    readonly at: readonly StoredScaling[] | null;
    readonly all: readonly Scaling[];
    readonly running: readonly Scaling[];
    readonly byNf: ReadonlyMap<string, readonly Scaling[]>;
  } = { at: null, all: [], running: [], byNf: new Map() };

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(LEASES) private readonly leases: LeaseBook,
  ) {
    this.stored = collections.open({
      key: KEYS.scalings,
      noun: 'scaling',
      schema: StoredScaling,
      version: 2,
      // Those of the first version were told when they began.
      migrate: (scaling) => ({ scaling, told: true }),
      idOf: ({ scaling }) => scaling.id,
      numbered: 'newest-first',
      order: ({ scaling: a }, { scaling: b }) => b.started_ms - a.started_ms || (a.id < b.id ? 1 : -1),
      bound: { most: MOST, policy: 'drop-last', keeps: ({ scaling }) => scaling.state === 'running' },
    });
  }

  onModuleInit(): Promise<void> {
    return this.stored.load();
  }

  all(): readonly Scaling[] {
    return this.look().all;
  }

  /** Throws 404. */
  get(id: string): Scaling {
    return this.stored.get(id).scaling;
  }

  running(): readonly Scaling[] {
    return this.look().running;
  }

  /** The one under way in the chain. */
  ofChain(chainId: string): Scaling | undefined {
    return this.running().find(({ nf }) => nf.chain_id === chainId);
  }

  /** Of the NF, newest first. */
  ofNf(nf: NfRef): readonly Scaling[] {
    return this.look().byNf.get(nameOf(nf)) ?? [];
  }

  /**
   * From now on to its end reconfiguration, upkeep and hand-overs of splits wait; healing and deployments do not. Throws 409
   * that names what changes the chain already.
   */
  begin(scaling: Scaling): Promise<void> {
    return this.collections.commit((batch) => {
      this.requireOnly(scaling);
      const resources = [chainResource(scaling.nf.chain_id)];
      this.leases.acquireIn(batch, { ...leaseOf(scaling), by: scaling.by, resources });
      batch.put(this.stored, { scaling, told: false });
    });
  }

  /** Throws 409 where `begin` would. */
  requireFree(scaling: Scaling): void {
    this.requireOnly(scaling);
    this.leases.requireFree({ ...leaseOf(scaling), resources: [chainResource(scaling.nf.chain_id)] });
  }

  private requireOnly({ nf }: Scaling): void {
    const other = this.ofChain(nf.chain_id);
    if (other)
      throw conflict(`${other.nf.node_id} is being scaled to ${instancesText(other.to)}: one change at a time.`);
  }

  /** Whether something changes the chain, for which another change has to wait. */
  isHeld(chainId: string): boolean {
    const resources = [chainResource(chainId)];
    return this.leases.conflictOf({ claim: 'change', holder: '', resources }) !== null;
  }

  /** That it has begun, once: its first operation was accepted. */
  tell(scaling: Scaling): Promise<void> {
    const { id, from, to, cause } = scaling;
    const type = to > from ? 'scaling.out' : 'scaling.in';
    const text = `${scaling.nf.node_id} scales from ${from} to ${instancesText(to)}: ${cause}`;
    return this.collections.commit((batch) => {
      const now = this.stored.find(id);
      if (to === from || now?.told !== false) return;
      batch.put(this.stored, { ...now, told: true });
      batch.also((transaction) =>
        this.events.appendIn(transaction, { type, ...told(scaling, text), data: begun(scaling) }),
      );
    });
  }

  /** Stores how far it is, unless it has changed since it was `was` or is gone; one that is over now is told. Whether it was stored. */
  write(scaling: Scaling, was: Scaling): Promise<boolean> {
    return this.collections.commit((batch) => {
      const known = this.stored.find(scaling.id);
      const now = known?.scaling;
      if (now?.state !== was.state || now.step !== was.step || now.steps.length !== was.steps.length) return false;
      batch.put(this.stored, { ...known!, scaling });
      if (was.state !== 'running' || scaling.state === 'running') return true;
      this.release(batch, scaling);
      this.dropOld(batch);
      const { state, left_flows } = scaling;
      const data = { ...begun(scaling), state, left_flows };
      batch.also((transaction) =>
        this.events.appendIn(transaction, { type: 'scaling.ended', ...told(scaling, endText(scaling)), data }),
      );
      return true;
    });
  }

  /** Forgets one of which nothing was begun. */
  forget(scaling: Scaling): Promise<void> {
    return this.collections.commit((batch) => {
      batch.remove(this.stored, scaling.id, null);
      this.release(batch, scaling);
    });
  }

  private release(batch: Batch, scaling: Scaling): void {
    const { claim, holder } = leaseOf(scaling);
    this.leases.releaseIn(batch, claim, holder);
  }

  private dropOld(batch: Batch): void {
    const { all, byNf } = this.look();
    let excess = all.length - KEEP;
    if (excess <= 0) return;
    const needed = new Set([...byNf.values()].flatMap(neededOf));
    for (const scaling of all.toReversed()) {
      if (scaling.state === 'running' || needed.has(scaling)) continue;
      batch.remove(this.stored, scaling.id, null);
      if (--excess === 0) return;
    }
  }

  private look() {
    const at = this.stored.all();
    if (this.looked.at !== at) {
      const all = at.map(({ scaling }) => scaling);
      const running = all.filter(({ state }) => state === 'running');
      this.looked = { at, all, running, byNf: grouped(all, ({ nf }) => nameOf(nf)) };
    }
    return this.looked;
  }
}

/** Those of an NF by which its next change is decided: the latest that are over, and the last that changed the number. */
function neededOf(ofNf: readonly Scaling[]): Scaling[] {
  const over = ofNf.filter(({ state }) => state !== 'running');
  const changed = over.find(({ from, to }) => from !== to);
  return [...over.slice(0, KEEP_OF_NF), ...(changed ? [changed] : [])];
}

export function nameOf({ chain_id, node_id }: NfRef): string {
  return `${chain_id}/${node_id}`;
}

function leaseOf({ id }: Scaling) {
  return { claim: 'change', holder: id, purpose: 'scaling' } as const;
}

export function instancesText(count: number): string {
  return `${count} instance${count === 1 ? '' : 's'}`;
}

/** What a change does once it was cancelled is done by who did that. */
function told({ id, by, cancelled_by }: Scaling, message: string): Pick<EventDraft, 'subject' | 'message' | 'actor'> {
  return { subject: id, message, actor: cancelled_by ?? by };
}

function begun({ id, nf, from, to, policy_id }: Scaling) {
  return { id, ...nf, from, to, policy_id };
}

function endText({ nf: { node_id }, from, to, state, left_flows, error }: Scaling): string {
  if (state === 'cancelled') return `Scaling of ${node_id} to ${instancesText(to)} was cancelled`;
  if (state === 'failed') return `Scaling of ${node_id} to ${instancesText(to)} failed: ${error}`;
  const lost = left_flows ? `, ${left_flows} flows in progress lost their instance` : '';
  const note = error === null ? '' : `; ${error}`;
  if (to === from) return `Flows of ${node_id} are tracked${note}`;
  return `${node_id} has ${instancesText(to)}${lost}${note}`;
}
