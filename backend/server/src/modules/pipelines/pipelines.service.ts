import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import {
  type Pipeline,
  PipelineDefinition,
  type PipelineProblem,
  type PipelineVersion,
  type PlannedPipeline,
} from '@orrery/contract';
import { validatePipeline } from '@orrery/planner/pipeline/validate';
import { newId } from '../../platform/ids.js';
import { Mutex } from '../../platform/mutex.js';
import { conflict, invalid, notFound, ProblemError } from '../../platform/problem.js';
import { STORE, type Store, type Transaction } from '../../platform/redis.js';
import { KEYS, PROJECT } from '../../platform/redis-keys.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { DESCRIPTORS, type DescriptorCatalogue } from '../../ports/descriptor-catalogue.js';
import { EVENT_LOG, type EventDraft, type EventLog } from '../../ports/event-log.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import type { PipelineStore, Publication } from '../../ports/pipeline-store.js';

/** As stored: what is deployed is added when it is read. */
type StoredPipeline = Omit<Pipeline, 'deployed_version' | 'deployment_state'>;

interface NewVersion {
  readonly version: PipelineVersion;
  /** The pipeline with it. */
  readonly pipeline: StoredPipeline;
}

const MAX_PIPELINES = 1000;

/** Definitions that an earlier release stored get the defaults of what the contract has added since. */
function withCurrentDraft(pipeline: StoredPipeline): StoredPipeline {
  return { ...pipeline, draft: PipelineDefinition.parse(pipeline.draft) };
}

function withCurrentDefinition(version: PipelineVersion): PipelineVersion {
  return { ...version, definition: PipelineDefinition.parse(version.definition) };
}

@Injectable()
export class PipelinesService implements PipelineStore {
  private readonly mutex = new Mutex();

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(DESCRIPTORS) private readonly catalogue: DescriptorCatalogue,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
  ) {}

  /** In the order in which they were made. */
  async list(): Promise<Pipeline[]> {
    const stored = await this.store.hashValues<StoredPipeline>(KEYS.pipelines);
    return stored
      .map(withCurrentDraft)
      .sort((a, b) => a.created_ms - b.created_ms || (a.id < b.id ? -1 : 1))
      .map((pipeline) => this.withDeployment(pipeline));
  }

  async get(id: string): Promise<Pipeline> {
    return this.withDeployment(await this.stored(id));
  }

  async versions(id: string): Promise<PipelineVersion[]> {
    await this.stored(id);
    const versions = await this.store.hashValues<PipelineVersion>(KEYS.versions(id));
    return versions.map(withCurrentDefinition).sort((a, b) => b.version - a.version);
  }

  async version(id: string, version: number): Promise<PipelineVersion> {
    const found = await this.store.hashJson<PipelineVersion>(KEYS.versions(id), String(version));
    if (!found) throw notFound('version', `${id} ${version}`);
    return withCurrentDefinition(found);
  }

  problemsOf(definition: PipelineDefinition): PipelineProblem[] {
    const hosts = this.infrastructure.current.infrastructure.hosts;
    return validatePipeline(definition, { descriptors: this.catalogue.all(), hosts });
  }

  create(draft: PipelineDefinition, by: string): Promise<Pipeline> {
    return this.mutex.run(async () => {
      await this.requireFreeName(draft.name, null);
      if ((await this.store.redis.hlen(KEYS.pipelines)) >= MAX_PIPELINES)
        throw conflict(`There are ${MAX_PIPELINES} pipelines; delete some first.`);
      const now = Date.now();
      const pipeline: StoredPipeline = {
        id: newId('pl'),
        project: PROJECT,
        draft,
        revision: 1,
        draft_differs: true,
        versions: [],
        created_ms: now,
        updated_ms: now,
      };
      await this.write(pipeline, null, { type: 'pipeline.created', message: `${draft.title} was created`, by });
      return this.withDeployment(pipeline);
    });
  }

  save(id: string, draft: PipelineDefinition, ifMatch: string | null, by: string): Promise<Pipeline> {
    return this.mutex.run(async () => {
      const before = await this.stored(id);
      requireRevision(before, ifMatch);
      if (draft.name !== before.draft.name) {
        if (this.view.deployment(id))
          throw conflict('A deployed pipeline keeps its name.', [
            { pointer: '/name', detail: 'cannot change while the pipeline is deployed', code: 'in-use' },
          ]);
        await this.requireFreeName(draft.name, id);
      }
      const pipeline: StoredPipeline = {
        ...before,
        draft,
        revision: before.revision + 1,
        draft_differs: !(await this.equalsNewest(before, draft)),
        updated_ms: Date.now(),
      };
      await this.write(pipeline, before, { type: 'pipeline.saved', message: `${draft.title} was saved`, by });
      return this.withDeployment(pipeline);
    });
  }

  delete(id: string, ifMatch: string | null, by: string): Promise<void> {
    return this.mutex.run(async () => {
      const pipeline = await this.stored(id);
      requireRevision(pipeline, ifMatch);
      if (this.view.deployment(id)) throw conflict('The pipeline is deployed; take it down first.');
      await this.store.transact((transaction) => {
        transaction.hdel(KEYS.pipelines, id);
        transaction.hdel(KEYS.pipelineNames, pipeline.draft.name);
        transaction.del(KEYS.versions(id));
        this.events.appendIn(transaction, {
          type: 'pipeline.deleted',
          subject: id,
          message: `${pipeline.draft.title} was deleted`,
          actor: by,
        });
      });
    });
  }

  publish(id: string, note: string, ifMatch: string | null, by: string): Promise<PipelineVersion> {
    return this.mutex.run(async () => {
      const before = await this.stored(id);
      requireRevision(before, ifMatch);
      const next = this.nextVersion(before, note, by);
      await this.store.transact((transaction) => this.writeVersionIn(transaction, next));
      return next.version;
    });
  }

  publishing<T>(
    planned: readonly PlannedPipeline[],
    by: string,
    work: (publication: Publication) => Promise<T>,
  ): Promise<T> {
    return this.mutex.run(async () => {
      const versions = new Map<string, number>();
      const added: NewVersion[] = [];
      for (const { pipeline_id: id, version, definition } of planned) {
        const before = await this.stored(id);
        if (version > 0) {
          versions.set(id, version);
          continue;
        }
        if (!isDeepStrictEqual(before.draft, definition))
          throw conflict(`The draft of ${before.draft.title} has changed since it was planned; plan again.`);
        this.requireNoErrors(before.draft);
        const newest = before.versions.at(-1);
        if (newest && !before.draft_differs) {
          versions.set(id, newest.version);
          continue;
        }
        const next = this.nextVersion(before, '', by);
        added.push(next);
        versions.set(id, next.version.version);
      }
      return work({
        versions,
        isNew: added.length > 0,
        writeIn: (transaction) => {
          for (const each of added) this.writeVersionIn(transaction, each);
        },
      });
    });
  }

  private nextVersion(before: StoredPipeline, note: string, by: string): NewVersion {
    this.requireNoErrors(before.draft);
    const version: PipelineVersion = {
      pipeline_id: before.id,
      version: (before.versions.at(-1)?.version ?? 0) + 1,
      definition: before.draft,
      at_ms: Date.now(),
      by,
      note,
    };
    const { definition: _definition, pipeline_id: _id, ...entry } = version;
    const pipeline: StoredPipeline = {
      ...before,
      draft_differs: false,
      versions: [...before.versions, entry],
      updated_ms: version.at_ms,
    };
    return { version, pipeline };
  }

  private writeVersionIn(transaction: Transaction, { version, pipeline }: NewVersion): void {
    transaction.hset(KEYS.versions(pipeline.id), String(version.version), JSON.stringify(version));
    transaction.hset(KEYS.pipelines, pipeline.id, JSON.stringify(pipeline));
    this.events.appendIn(transaction, {
      type: 'pipeline.published',
      subject: pipeline.id,
      message: `${pipeline.draft.title} was published as version ${version.version}`,
      actor: version.by,
      data: { version: version.version, note: version.note },
    });
  }

  private requireNoErrors(definition: PipelineDefinition): void {
    const errors = this.problemsOf(definition).filter(({ severity }) => severity === 'error');
    if (errors.length > 0)
      throw invalid(errors.map(({ pointer, message, code }) => ({ pointer, detail: message, code })));
  }

  private async write(
    pipeline: StoredPipeline,
    before: StoredPipeline | null,
    event: Pick<EventDraft, 'type' | 'message'> & { by: string },
  ): Promise<void> {
    await this.store.transact((transaction) => {
      transaction.hset(KEYS.pipelines, pipeline.id, JSON.stringify(pipeline));
      if (before?.draft.name !== pipeline.draft.name) {
        if (before) transaction.hdel(KEYS.pipelineNames, before.draft.name);
        transaction.hset(KEYS.pipelineNames, pipeline.draft.name, pipeline.id);
      }
      this.events.appendIn(transaction, {
        type: event.type,
        subject: pipeline.id,
        message: event.message,
        actor: event.by,
        data: { revision: pipeline.revision, name: pipeline.draft.name },
      });
    });
  }

  private async stored(id: string): Promise<StoredPipeline> {
    const pipeline = await this.store.hashJson<StoredPipeline>(KEYS.pipelines, id);
    if (!pipeline) throw notFound('pipeline', id);
    return withCurrentDraft(pipeline);
  }

  private async requireFreeName(name: string, except: string | null): Promise<void> {
    const owner = await this.store.redis.hget(KEYS.pipelineNames, name);
    if (owner !== null && owner !== except)
      throw conflict(`There is a pipeline named "${name}" already.`, [
        { pointer: '/name', detail: 'is the name of another pipeline', code: 'duplicate-name' },
      ]);
  }

  private async equalsNewest(pipeline: StoredPipeline, draft: PipelineDefinition): Promise<boolean> {
    const newest = pipeline.versions.at(-1);
    if (!newest) return false;
    return isDeepStrictEqual((await this.version(pipeline.id, newest.version)).definition, draft);
  }

  private withDeployment(pipeline: StoredPipeline): Pipeline {
    const deployment = this.view.deployment(pipeline.id);
    return {
      ...pipeline,
      deployed_version: deployment?.version ?? null,
      deployment_state: deployment?.state ?? 'none',
    };
  }
}

function requireRevision(pipeline: StoredPipeline, ifMatch: string | null): void {
  if (ifMatch !== null && ifMatch !== String(pipeline.revision))
    throw new ProblemError(412, `The draft is at revision ${pipeline.revision}.`);
}
