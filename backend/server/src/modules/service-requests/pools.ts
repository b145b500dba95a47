import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import {
  type EventDraft,
  type FieldError,
  MAX_POOL_INSTANCES,
  type ServicePoolDefinition,
  type SlotRef,
} from '@orrery/contract';
import { firstInstances, poolChain } from '@orrery/planner';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { newId } from '../../platform/ids.js';
import { conflict, invalid } from '../../platform/problem.js';
import { KEYS } from '../../platform/redis-keys.js';
import { CHAINS, type ChainStore } from '../../ports/chain-store.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { releasedBy, StoredPool } from './stored.js';

const MAX_POOLS = 8;

const TOLD = {
  'service-pool.created': 'was created',
  'service-pool.removing': 'is to go',
  'service-pool.removed': 'was removed',
} as const;
type PoolEvent = keyof typeof TOLD;

/** Pools as they are declared. */
@Injectable()
export class Pools implements OnModuleInit {
  private readonly pools: DurableCollection<StoredPool>;

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(CHAINS) private readonly chains: ChainStore,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {
    this.pools = collections.open<StoredPool>({
      key: KEYS.servicePools,
      noun: 'service pool',
      schema: StoredPool,
      version: 1,
      idOf: ({ definition }) => definition.name,
      bound: { most: MAX_POOLS, policy: 'refuse' },
    });
  }

  onModuleInit(): Promise<void> {
    return this.pools.load();
  }

  all(): readonly StoredPool[] {
    return this.pools.all();
  }

  find(id: string): StoredPool | undefined {
    return this.pools.find(id);
  }

  /** Throws 404. */
  get(id: string): StoredPool {
    return this.pools.get(id);
  }

  /** Slots that instances of pools have, or are to get. */
  slots(): SlotRef[] {
    return this.pools.all().flatMap(({ instances }) => instances.flatMap(({ slot }) => slot ?? []));
  }

  onChange(listener: (ids: readonly string[]) => void): void {
    this.pools.onChange(({ put, removed }) => listener([...put, ...removed].map(({ definition }) => definition.name)));
  }

  /** Throws 409 if the name is taken, 422 if it could not run. */
  async create(definition: ServicePoolDefinition, by: string): Promise<StoredPool> {
    const errors = await this.errorsOf(definition);
    if (errors.length > 0) throw invalid(errors);
    const taken = [{ pointer: '/name', detail: 'is the name of a chain or pool', code: 'duplicate-name' }];
    if (await this.chains.isNamed(definition.name)) throw conflict(`"${definition.name}" is taken.`, taken);
    return this.collections.commit((batch) => {
      if (this.pools.find(definition.name)) throw conflict(`"${definition.name}" is taken.`, taken);
      const pool: StoredPool = {
        definition,
        chain_id: newId('ch'),
        instances: firstInstances(definition),
        operation_id: null,
        operations: 0,
        ready: false,
        failed: null,
        removing: false,
        by,
        created_ms: Date.now(),
      };
      batch.put(this.pools, pool);
      this.tellIn(batch, 'service-pool.created', pool, by);
      return pool;
    });
  }

  putIn(batch: Batch, pool: StoredPool): void {
    batch.put(this.pools, pool);
  }

  /** Its next operation is asked for by who releases requests of it. */
  releasedIn(batch: Batch, id: string, by: string): void {
    const pool = this.pools.find(id);
    if (pool) batch.put(this.pools, { ...pool, released_by: releasedBy(pool, by) });
  }

  removeIn(batch: Batch, pool: StoredPool, by: string): void {
    if (batch.remove(this.pools, pool.definition.name)) this.tellIn(batch, 'service-pool.removed', pool, by);
  }

  tellIn(batch: Batch, type: PoolEvent, { definition: { name }, chain_id }: StoredPool, actor: string): void {
    const draft: EventDraft<PoolEvent> = {
      type,
      subject: chain_id,
      message: `Service pool "${name}" ${TOLD[type]}`,
      actor,
      data: { pool: name, chain_id },
    };
    batch.also((transaction) => this.events.appendIn(transaction, draft));
  }

  private async errorsOf(definition: ServicePoolDefinition): Promise<FieldError[]> {
    const { hosts, nfs } = definition;
    const errors: FieldError[] = [];
    const known = new Set(this.infrastructure.current.infrastructure.hosts.map(({ id }) => id));
    hosts.forEach((host, i) => {
      const pointer = `/hosts/${i}`;
      if (!known.has(host)) errors.push({ pointer, detail: `there is no host ${host}`, code: 'unknown-host' });
      else if (hosts.indexOf(host) < i)
        errors.push({ pointer, detail: `${host} is named twice`, code: 'duplicate-id' });
    });
    nfs.forEach(({ nf }, i) => {
      if (nfs.findIndex((it) => it.nf === nf) < i)
        errors.push({ pointer: `/nfs/${i}/nf`, detail: `${nf} is named twice`, code: 'duplicate-id' });
    });
    const count = nfs.reduce((sum, it) => sum + it.count, 0);
    if (count > MAX_POOL_INSTANCES)
      errors.push({
        pointer: '/nfs',
        detail: `ask for ${count} instances; ${MAX_POOL_INSTANCES} are the most`,
        code: 'too-many',
      });
    if (errors.length > 0) return errors;
    const instances = firstInstances(definition);
    const problems = await this.chains.problemsOf(poolChain(definition, instances, []));
    return problems
      .filter(({ severity }) => severity === 'error')
      .map(({ node, message, code }) => {
        const at = nfs.findIndex(({ nf }) => nf === instances.find(({ id }) => id === node)?.nf);
        return { pointer: at < 0 ? '' : `/nfs/${at}`, detail: message, code };
      });
  }
}
