import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { EventDraft } from '@orrery/contract';
import { Chain, ChainDefinition, type ChainProblem, type ChainVersion, type PlannedChain } from '@orrery/contract';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { newId } from '../../platform/ids.js';
import { Mutex } from '../../platform/mutex.js';
import { type Precondition, requireRead } from '../../platform/precondition.js';
import { changedSince, conflict, invalid, notFound } from '../../platform/problem.js';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS, PROJECT } from '../../platform/redis-keys.js';
import type { Urgency } from '../../platform/worker-thread/worker-thread.js';
import type { ChainStore, Publication } from '../../ports/chain-store.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { DESCRIPTORS, type DescriptorCatalogue, type NfUse } from '../../ports/descriptor-catalogue.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { ChainChecker } from './chain-checker.js';

/** As stored: the deployment state is added on reading. */
const StoredChain = Chain.omit({ deployed_version: true, deployment_state: true });
type StoredChain = Omit<Chain, 'deployed_version' | 'deployment_state'>;

interface NewVersion {
  readonly version: ChainVersion;
  /** The chain that includes the version. */
  readonly chain: StoredChain;
}

const MAX_CHAINS = 1000;
/** Versions of a chain that the server keeps itself: an operation that waits, or is asked for again, may name one of them. */
const KEEP_NEWEST = 4;

/** Adds the defaults of fields that the contract has gained since the definition was stored. */
function withCurrentDefinition(version: ChainVersion): ChainVersion {
  return { ...version, definition: ChainDefinition.parse(version.definition) };
}

/** Chains are in memory; their versions, which only grow, are read from Redis when they are asked for. */
@Injectable()
export class ChainsService implements ChainStore, OnModuleInit {
  private readonly mutex = new Mutex();
  private readonly chains: DurableCollection<StoredChain>;
  /** The newest version of each chain that the server keeps itself: it is planned at once, and may be large. */
  private readonly kept = new Map<string, ChainVersion>();

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(DESCRIPTORS) private readonly catalogue: DescriptorCatalogue,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(ChainChecker) private readonly checker: ChainChecker,
  ) {
    this.chains = collections.open<StoredChain>({
      key: KEYS.chains,
      noun: 'chain',
      schema: StoredChain,
      version: 1,
      idOf: ({ id }) => id,
      order: (a, b) => a.created_ms - b.created_ms,
      bound: { most: MAX_CHAINS, policy: 'refuse' },
    });
  }

  onModuleInit(): Promise<void> {
    this.catalogue.askUse((nf) => this.useOf(nf));
    return this.chains.load();
  }

  private useOf(nf: string): NfUse {
    const uses = ({ nodes }: ChainDefinition) => nodes.some((node) => node.kind === 'nf' && node.nf === nf);
    const running = [...(this.view.comingPlan?.chains ?? []), ...(this.view.plan?.chains ?? [])];
    return {
      deployed: [
        ...new Set(running.filter(({ definition }) => uses(definition)).map(({ definition }) => definition.title)),
      ],
      drafted: this.chains
        .all()
        .filter(({ draft }) => uses(draft))
        .map(({ draft }) => draft.title),
    };
  }

  /** In order of creation. */
  async list(): Promise<Chain[]> {
    await this.collections.certain();
    return this.chains.all().map((chain) => this.withDeployment(chain));
  }

  async get(id: string): Promise<Chain> {
    return this.withDeployment(await this.stored(id));
  }

  async versions(id: string): Promise<ChainVersion[]> {
    await this.stored(id);
    const versions = await this.store.hashValues<ChainVersion>(KEYS.versions(id));
    return versions.map(withCurrentDefinition).sort((a, b) => b.version - a.version);
  }

  async version(id: string, version: number): Promise<ChainVersion> {
    const kept = this.kept.get(id);
    if (kept?.version === version) return kept;
    const found = await this.store.hashJson<ChainVersion>(KEYS.versions(id), String(version));
    if (!found) throw notFound('version', `${id} ${version}`);
    return withCurrentDefinition(found);
  }

  problemsOf(definition: ChainDefinition, urgency: Urgency = 'normal'): Promise<ChainProblem[]> {
    const hosts = this.infrastructure.current.infrastructure.hosts;
    return this.checker.problemsOf(definition, { descriptors: this.catalogue.all(), hosts }, urgency);
  }

  create(draft: ChainDefinition, by: string): Promise<Chain> {
    return this.mutex.run(async () => {
      await this.requireFreeName(draft.name, null);
      if (this.chains.size >= MAX_CHAINS) throw conflict(`There are ${MAX_CHAINS} chains; delete some first.`);
      const now = Date.now();
      const chain: StoredChain = {
        id: newId('ch'),
        project: PROJECT,
        draft,
        revision: 1,
        draft_differs: true,
        versions: [],
        created_ms: now,
        updated_ms: now,
      };
      await this.write(chain, { type: 'chain.created', message: `${draft.title} was created`, by });
      return this.withDeployment(chain);
    });
  }

  save(id: string, draft: ChainDefinition, ifMatch: Precondition, by: string): Promise<Chain> {
    return this.mutex.run(async () => {
      const before = await this.stored(id);
      requireRevision(before, requireRead(ifMatch, 'draft', before.revision));
      if (draft.name !== before.draft.name) {
        if (this.view.deployment(id))
          throw conflict('A deployed chain keeps its name.', [
            { pointer: '/name', detail: 'cannot change while the chain is deployed', code: 'in-use' },
          ]);
        if (this.view.isGuarded(id))
          throw conflict('A chain that was left out keeps its name while its packets are dropped.', [
            { pointer: '/name', detail: 'cannot change while packets of the chain are dropped', code: 'in-use' },
          ]);
        await this.requireFreeName(draft.name, id);
      }
      const chain: StoredChain = {
        ...before,
        draft,
        revision: before.revision + 1,
        draft_differs: !(await this.equalsNewest(before, draft)),
        updated_ms: Date.now(),
      };
      await this.write(chain, { type: 'chain.saved', message: `${draft.title} was saved`, by });
      return this.withDeployment(chain);
    });
  }

  delete(id: string, ifMatch: string | null, by: string): Promise<void> {
    return this.mutex.run(async () => {
      const chain = await this.stored(id);
      requireRevision(chain, ifMatch);
      if (this.view.deployment(id)) throw conflict('The chain is deployed; take it down first.');
      if (this.view.isGuarded(id))
        throw conflict('The chain was left out, and its packets are dropped until it is given up: do that first.');
      await this.collections.commit((batch) => {
        batch.remove(this.chains, id);
        batch.also((transaction) => {
          transaction.del(KEYS.versions(id));
          this.events.appendIn(transaction, {
            type: 'chain.deleted',
            subject: id,
            message: `${chain.draft.title} was deleted`,
            actor: by,
            data: { name: chain.draft.name, title: chain.draft.title },
          });
        });
      });
      this.kept.delete(id);
    });
  }

  async keep(id: string, definition: ChainDefinition, by: string): Promise<number> {
    await this.requireNoErrors(definition);
    return this.mutex.run(async () => {
      await this.requireFreeName(definition.name, id);
      const before = this.chains.find(id) ?? (await this.begin(id, definition, by));
      if (await this.equalsNewest(before, definition)) return before.versions.at(-1)!.version;
      const next = nextVersion({ ...before, draft: definition, revision: before.revision + 1 }, '', by);
      const gone = this.unused(before);
      const versions = next.chain.versions.filter(({ version }) => !gone.includes(version));
      await this.collections.commit((batch) => {
        this.putVersionIn(batch, { ...next, chain: { ...next.chain, versions } });
        if (gone.length > 0) batch.also((transaction) => transaction.hdel(KEYS.versions(id), ...gone.map(String)));
      });
      this.kept.set(id, next.version);
      return next.version.version;
    });
  }

  /** Versions that do not run and are not about to, but for the newest. */
  private unused({ id, versions }: StoredChain): number[] {
    const planned = [this.view.plan, this.view.comingPlan].flatMap((plan) => plan?.chains ?? []);
    const used = planned.flatMap(({ chain_id, version }) => (chain_id === id ? version : []));
    const deployed = this.view.deployment(id)?.version;
    const old = versions.slice(0, -KEEP_NEWEST).map(({ version }) => version);
    return old.filter((version) => version !== deployed && !used.includes(version));
  }

  async drop(id: string, by: string): Promise<void> {
    await this.collections.certain();
    if (this.chains.find(id)) await this.delete(id, null, by);
  }

  async isNamed(name: string): Promise<boolean> {
    await this.collections.certain();
    return this.chains.all().some(({ draft }) => draft.name === name);
  }

  private async begin(id: string, draft: ChainDefinition, by: string): Promise<StoredChain> {
    const now = Date.now();
    const times = { created_ms: now, updated_ms: now };
    const chain = { id, project: PROJECT, draft, revision: 1, draft_differs: true, versions: [], ...times };
    await this.write(chain, { type: 'chain.created', message: `${draft.title} was created`, by });
    return chain;
  }

  /** The draft is checked first: meanwhile others can write chains. */
  async publish(id: string, note: string, ifMatch: string | null, by: string): Promise<ChainVersion> {
    const checked = (await this.publishable(id, ifMatch)).draft;
    await this.requireNoErrors(checked);
    return this.mutex.run(async () => {
      const before = await this.publishable(id, ifMatch);
      if (!isDeepStrictEqual(before.draft, checked))
        throw conflict(`The draft of ${before.draft.title} has changed while it was checked; publish it again.`);
      const next = nextVersion(before, note, by);
      await this.collections.commit((batch) => this.putVersionIn(batch, next));
      return next.version;
    });
  }

  async publishing<T>(
    planned: readonly PlannedChain[],
    by: string,
    work: (publication: Publication) => Promise<T>,
  ): Promise<T> {
    for (const each of planned) if (each.version === 0) await this.requireNoErrors((await this.asPlanned(each)).draft);
    return this.mutex.run(async () => {
      const versions = new Map<string, number>();
      const added: NewVersion[] = [];
      for (const each of planned) {
        const { chain_id: id, version } = each;
        const before = version > 0 ? await this.stored(id) : await this.asPlanned(each);
        if (version > 0) {
          versions.set(id, version);
          continue;
        }
        const newest = before.versions.at(-1);
        if (newest && !before.draft_differs) {
          versions.set(id, newest.version);
          continue;
        }
        const next = nextVersion(before, '', by);
        added.push(next);
        versions.set(id, next.version.version);
      }
      return work({
        versions,
        isNew: added.length > 0,
        putIn: (batch) => {
          for (const each of added) this.putVersionIn(batch, each);
        },
      });
    });
  }

  /** Throws 404, 412, or 409 if the draft is published already. */
  private async publishable(id: string, ifMatch: string | null): Promise<StoredChain> {
    const chain = await this.stored(id);
    requireRevision(chain, ifMatch);
    const newest = chain.versions.at(-1);
    if (newest && !chain.draft_differs) throw conflict(`Version ${newest.version} is already equal to the draft.`);
    return chain;
  }

  /** Throws 404, or 409 if the draft is not the planned one. */
  private async asPlanned({ chain_id, definition }: PlannedChain): Promise<StoredChain> {
    const chain = await this.stored(chain_id);
    if (!isDeepStrictEqual(chain.draft, definition))
      throw conflict(`The draft of ${chain.draft.title} has changed since it was planned; plan again.`);
    return chain;
  }

  private putVersionIn(batch: Batch, { version, chain }: NewVersion): void {
    batch.put(this.chains, chain);
    batch.also((transaction) => {
      transaction.hset(KEYS.versions(chain.id), String(version.version), JSON.stringify(version));
      this.events.appendIn(transaction, {
        type: 'chain.published',
        subject: chain.id,
        message: `${chain.draft.title} was published as version ${version.version}`,
        actor: version.by,
        data: { version: version.version, note: version.note },
      });
    });
  }

  private async requireNoErrors(definition: ChainDefinition): Promise<void> {
    const problems = await this.problemsOf(definition, 'urgent');
    const errors = problems.filter(({ severity }) => severity === 'error');
    if (errors.length > 0)
      throw invalid(errors.map(({ pointer, message, code }) => ({ pointer, detail: message, code })));
  }

  private write(
    chain: StoredChain,
    event: Pick<EventDraft<'chain.created' | 'chain.saved'>, 'type' | 'message'> & { by: string },
  ): Promise<void> {
    return this.collections.commit((batch) => {
      batch.put(this.chains, chain);
      batch.also((transaction) =>
        this.events.appendIn(transaction, {
          type: event.type,
          subject: chain.id,
          message: event.message,
          actor: event.by,
          data: { revision: chain.revision, name: chain.draft.name },
        }),
      );
    });
  }

  /** As it is stored, also after a transaction that was not answered. Throws 404. */
  private async stored(id: string): Promise<StoredChain> {
    await this.collections.certain();
    return this.chains.get(id);
  }

  private async requireFreeName(name: string, except: string | null): Promise<void> {
    await this.collections.certain();
    if (this.chains.all().some(({ id, draft }) => draft.name === name && id !== except))
      throw conflict(`There is a chain named "${name}" already.`, [
        { pointer: '/name', detail: 'is the name of another chain', code: 'duplicate-name' },
      ]);
  }

  private async equalsNewest(chain: StoredChain, draft: ChainDefinition): Promise<boolean> {
    const newest = chain.versions.at(-1);
    if (!newest) return false;
    return isDeepStrictEqual((await this.version(chain.id, newest.version)).definition, draft);
  }

  private withDeployment(chain: StoredChain): Chain {
    const deployment = this.view.deployment(chain.id);
    return {
      ...chain,
      deployed_version: deployment?.version ?? null,
      deployment_state: deployment?.state ?? 'none',
    };
  }
}

function requireRevision(chain: StoredChain, ifMatch: string | null): void {
  if (ifMatch !== null && ifMatch !== String(chain.revision)) throw changedSince('draft', chain.revision);
}

function nextVersion(before: StoredChain, note: string, by: string): NewVersion {
  const version: ChainVersion = {
    chain_id: before.id,
    version: (before.versions.at(-1)?.version ?? 0) + 1,
    definition: before.draft,
    at_ms: Date.now(),
    by,
    note,
  };
  const { definition: _definition, chain_id: _id, ...entry } = version;
  const chain: StoredChain = {
    ...before,
    draft_differs: false,
    versions: [...before.versions, entry],
    updated_ms: version.at_ms,
  };
  return { version, chain };
}
