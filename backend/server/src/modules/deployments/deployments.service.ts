import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import {
  type Deployment,
  type DeployRequest,
  type FieldError,
  type Operation,
  type Plan,
  type PlannedPipeline,
  PlanRequest,
  type SessionInfo,
} from '@orrery/contract';
import { mayAct } from '../../platform/auth.guard.js';
import { newId } from '../../platform/ids.js';
import { Mutex } from '../../platform/mutex.js';
import { conflict, invalid, notFound, ProblemError } from '../../platform/problem.js';
import { PROJECT } from '../../platform/redis-keys.js';
import type { Deployer, PlanChange } from '../../ports/deployer.js';
import type { EventDraft } from '../../ports/event-log.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { OPERATIONS, type OperationLog } from '../../ports/operation-log.js';
import { PIPELINES, type PipelineStore, type Publication } from '../../ports/pipeline-store.js';
import { PLANS, type PlanStore } from '../../ports/plan-store.js';
import { TWIN, type TwinView } from '../../ports/twin-view.js';
import { DesiredStore } from './desired-store.js';
import { OPERATION_NOUN, stepsOf } from './operation-steps.js';

const MAX_QUEUE = 16;

type Caller = Pick<SessionInfo, 'name' | 'role'>;

/** Accepts deployments: checks, then stores the operation; the reconciler does the rest. */
@Injectable()
export class DeploymentsService implements Deployer {
  private readonly mutex = new Mutex();

  constructor(
    @Inject(DesiredStore) private readonly state: DesiredStore,
    @Inject(PIPELINES) private readonly pipelines: PipelineStore,
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(TWIN) private readonly twin: TwinView,
    @Inject(OPERATIONS) private readonly operations: OperationLog,
  ) {}

  /** Plans a change of what runs and accepts it as one operation of the kind. Throws like `deploy`. */
  change(
    request: PlanChange,
    { id, kind, by }: Pick<Operation, 'id' | 'kind' | 'by'>,
    before: Plan | null = null,
  ): Promise<Operation> {
    return this.mutex.run(async () => {
      const accepted = await this.operations.get(id);
      if (accepted) return accepted;
      const plan = await this.plans.make(PlanRequest.parse(request), this.state.comingPlan, before);
      return this.accept(plan, null, { name: by, role: 'operator' }, { id, kind, subject: subjectOf(request, plan) });
    });
  }

  deploy(request: DeployRequest, caller: Caller): Promise<Operation> {
    return this.mutex.run(async () => {
      if ('plan_id' in request) return this.accept(await this.plans.get(request.plan_id), null, caller);
      const plan = await this.plans.make(PlanRequest.parse({ pipelines: [request] }), this.state.comingPlan);
      return this.accept(plan, request.pipeline_id, caller);
    });
  }

  operation(id: string): Operation | undefined {
    return this.state.operation(id);
  }

  undeploy(pipelineId: string, caller: Caller): Promise<Operation> {
    return this.mutex.run(async () => {
      const deployment = this.state.deployment(pipelineId);
      if (!deployment) throw notFound('deployment of pipeline', pipelineId);
      if (deployment.state === 'undeploying') throw conflict('The pipeline is being taken down already.');
      const plan = await this.plans.make(PlanRequest.parse({ remove: [pipelineId] }), this.state.comingPlan);
      return this.accept(plan, pipelineId, caller);
    });
  }

  /** Stores operation, deployments and the versions that it publishes at once, or nothing. */
  private accept(
    plan: Plan,
    asked: string | null,
    caller: Caller,
    about?: Pick<Operation, 'id' | 'kind' | 'subject'>,
  ): Promise<Operation> {
    this.requireDeployable(plan);
    return this.pipelines.publishing(this.withRunningVersions(plan), caller.name, async (publication) => {
      if (publication.isNew && !mayAct(caller.role, 'designer'))
        throw new ProblemError(403, `Publishing a draft needs the role designer; the session has ${caller.role}.`);
      let accepted: Operation | undefined;
      await this.state.commit(() => {
        const change = this.acceptance(plan, asked, publication, caller.name, about);
        accepted = change.accept.operation;
        return change;
      });
      return accepted!;
    });
  }

  private acceptance(
    plan: Plan,
    asked: string | null,
    { versions, writeIn }: Publication,
    by: string,
    about?: Pick<Operation, 'id' | 'kind' | 'subject'>,
  ) {
    const changed = plan.pipelines.filter(
      ({ pipeline_id: id }) => id === asked || this.state.deployment(id)?.version !== versions.get(id),
    );
    const removed = this.state.deployments().filter(({ pipeline_id }) => !versions.has(pipeline_id));
    const now = Date.now();
    const operation: Operation = {
      id: about?.id ?? newId('op'),
      project: PROJECT,
      kind: about?.kind ?? (changed.length === 0 && removed.length > 0 ? 'undeploy' : 'deploy'),
      state: 'PROCESSING',
      subject:
        about?.subject ?? asked ?? changed[0]?.pipeline_id ?? removed[0]?.pipeline_id ?? touchedBy(plan) ?? plan.id,
      plan_id: plan.id,
      by,
      steps: stepsOf(plan),
      error: null,
      started_ms: now,
      updated_ms: now,
      first_packet_ms: null,
    };
    const entry = (id: string, version: number, state: Deployment['state']): [string, Deployment] => [
      id,
      { pipeline_id: id, version, plan_id: plan.id, operation_id: operation.id, state, since_ms: now },
    ];
    const deployments = new Map([
      ...changed.map(({ pipeline_id: id }) => entry(id, versions.get(id)!, 'deploying')),
      ...removed.map(({ pipeline_id: id, version }) => entry(id, version, 'undeploying')),
    ]);
    const known = [...plan.pipelines, ...(this.state.comingPlan?.pipelines ?? [])];
    const pipelines = deployments.size > 0 ? [...deployments.keys()] : [operation.subject];
    const titles = pipelines.flatMap(
      (id) => known.find(({ pipeline_id }) => pipeline_id === id)?.definition.title ?? (id === plan.id ? [] : id),
    );
    const started: EventDraft = {
      type: 'operation.started',
      subject: operation.id,
      message: `${OPERATION_NOUN[operation.kind]} of ${titles.join(', ') || 'nothing new'}`,
      actor: by,
      data: { pipeline_id: operation.subject, plan_id: plan.id, pipelines: [...deployments.keys()] },
    };
    return { accept: { operation, plan }, deployments, writeIn, events: [started] };
  }

  /** The plan's pipelines; one that was planned as a draft and runs since is not published again. */
  private withRunningVersions(plan: Plan): PlannedPipeline[] {
    const coming = new Map(this.state.comingPlan?.pipelines.map((each) => [each.pipeline_id, each.definition]));
    return plan.pipelines.map((pipeline) => {
      const { pipeline_id: id, version, definition } = pipeline;
      const running = version === 0 && isDeepStrictEqual(coming.get(id), definition) && this.state.deployment(id);
      return running ? { ...pipeline, version: running.version } : pipeline;
    });
  }

  private requireDeployable(plan: Plan): void {
    const coming = this.state.comingPlan;
    if (plan.base_plan !== (coming?.id ?? null))
      throw conflict('Something else was deployed since this was planned; plan again.', [
        {
          pointer: '/plan_id',
          detail: `builds on ${plan.base_plan ?? 'nothing'}, not on what runs`,
          code: 'stale-plan',
        },
      ]);
    if (!plan.feasible) throw invalid(planErrors(plan), planRefusal(plan));
    const { servers } = this.infrastructure.current.infrastructure;
    const gone = plan.instances.find(({ server }) => !servers.some(({ id }) => id === server));
    if (gone) throw conflict(`The infrastructure has no server "${gone.server}" any more; plan again.`);
    const emulated = new Set(servers.filter(({ origin }) => origin === 'twin').map(({ id }) => id));
    if (!this.twin.enabled && plan.instances.some(({ server }) => emulated.has(server)))
      throw conflict('The twin is off (ORRERY_TWIN=off): pipelines can be planned but not run on emulated servers.');
    if (this.state.queue.length >= MAX_QUEUE) throw conflict(`${MAX_QUEUE} operations wait already.`);
  }
}

/** The pipeline whose instances a plan changes, where no version does. */
function touchedBy({ instances, diff: { added, moved, reconfigured } }: Plan): string | undefined {
  const touched = new Set([...added, ...moved, ...reconfigured]);
  return instances.find(({ id }) => touched.has(id))?.pipeline_id;
}

/** The pipeline that a change is about. */
function subjectOf({ implementations = [] }: PlanChange, { abandoned, instances, id }: Plan): string {
  const [first] = implementations;
  if (first) return first.pipeline_id;
  const lost = abandoned[0]?.slice(0, abandoned[0].lastIndexOf('.'));
  return instances.find(({ pgraph_node }) => pgraph_node === lost)?.pipeline_id ?? id;
}

function planErrors(plan: Plan): FieldError[] {
  return plan.problems
    .filter(({ severity }) => severity === 'error')
    .map(({ pointer, message, code }) => ({ pointer, detail: message, code }));
}

function planRefusal(plan: Plan): string {
  const [problem] = plan.problems.filter(({ severity }) => severity === 'error');
  if (problem) return `${problem.pointer}: ${problem.message}`;
  const [conflict] = plan.conflicts;
  if (!conflict) return 'The plan is not feasible.';
  const { constraint, needed, available, unit, where } = conflict;
  return `The plan is not feasible: ${constraint} at ${where} needs ${needed} ${unit}, there is ${available} ${unit}.`;
}
