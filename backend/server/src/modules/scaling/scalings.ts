import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type EventDraft, type NfRef, Scaling } from '@orrery/contract';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { conflict } from '../../platform/problem.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { chainResource, LEASES, type LeaseBook } from '../../ports/lease-book.js';

/** Older ones are deleted. */
const KEEP = 200;

/** Recent changes of numbers of instances, newest first; one at a time for each chain. */
@Injectable()
export class Scalings implements OnModuleInit {
  private readonly scalings: DurableCollection<Scaling>;

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(LEASES) private readonly leases: LeaseBook,
  ) {
    this.scalings = collections.open({
      key: KEYS.scalings,
      noun: 'scaling',
      schema: Scaling,
      version: 1,
      idOf: ({ id }) => id,
      order: (a, b) => b.started_ms - a.started_ms || (a.id < b.id ? 1 : -1),
      bound: { most: KEEP, policy: 'drop-last', keeps: ({ state }) => state === 'running' },
    });
  }

  onModuleInit(): Promise<void> {
    return this.scalings.load();
  }

  all(): readonly Scaling[] {
    return this.scalings.all();
  }

  /** Throws 404. */
  get(id: string): Scaling {
    return this.scalings.get(id);
  }

  running(): Scaling[] {
    return this.all().filter(({ state }) => state === 'running');
  }

  /** The one under way in the chain. */
  ofChain(chainId: string): Scaling | undefined {
    return this.running().find(({ nf }) => nf.chain_id === chainId);
  }

  /** Of the NF, newest first. */
  ofNf({ chain_id, node_id }: NfRef): Scaling[] {
    return this.all().filter(({ nf }) => nf.chain_id === chain_id && nf.node_id === node_id);
  }

  /** From now on to its end nothing else changes the chain by itself. Throws 409 that names what changes it already. */
  begin(scaling: Scaling): Promise<void> {
    return this.collections.commit((batch) => {
      const other = this.ofChain(scaling.nf.chain_id);
      if (other)
        throw conflict(`${other.nf.node_id} is being scaled to ${instancesText(other.to)}: one change at a time.`);
      const resources = [chainResource(scaling.nf.chain_id)];
      this.leases.acquireIn(batch, { ...leaseOf(scaling), by: scaling.by, resources });
      batch.put(this.scalings, scaling);
    });
  }

  /** That it has begun: its first operation was accepted. */
  tell(scaling: Scaling): Promise<void> {
    const { from, to, cause } = scaling;
    if (to === from) return Promise.resolve();
    const type = to > from ? 'scaling.out' : 'scaling.in';
    const text = `${scaling.nf.node_id} scales from ${from} to ${instancesText(to)}: ${cause}`;
    return this.collections.commit((batch) =>
      batch.also((transaction) =>
        this.events.appendIn(transaction, { type, ...told(scaling, text), data: begun(scaling) }),
      ),
    );
  }

  /** Stores how far it is, unless it has changed since it was `was` or is gone; one that is over now is told. Whether it was stored. */
  write(scaling: Scaling, was: Scaling): Promise<boolean> {
    return this.collections.commit((batch) => {
      const now = this.scalings.find(scaling.id);
      if (now?.state !== was.state || now.step !== was.step || now.steps.length !== was.steps.length) return false;
      batch.put(this.scalings, scaling);
      if (was.state !== 'running' || scaling.state === 'running') return true;
      this.release(batch, scaling);
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
      batch.remove(this.scalings, scaling.id, null);
      this.release(batch, scaling);
    });
  }

  private release(batch: Batch, scaling: Scaling): void {
    const { claim, holder } = leaseOf(scaling);
    this.leases.releaseIn(batch, claim, holder);
  }
}

function leaseOf({ id }: Scaling) {
  return { claim: 'change', holder: id, purpose: 'scaling' } as const;
}

export function instancesText(count: number): string {
  return `${count} instance${count === 1 ? '' : 's'}`;
}

function told({ id, by }: Scaling, message: string): Pick<EventDraft, 'subject' | 'message' | 'actor'> {
  return { subject: id, message, actor: by };
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
