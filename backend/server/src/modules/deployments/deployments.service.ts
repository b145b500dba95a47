import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import type { EventDraft } from '@orrery/contract';
import {
  type DeployRequest,
  type NfSplit,
  nfInstances,
  type Operation,
  type Plan,
  type PlannedChain,
  PlanRequest,
  type SessionInfo,
  type SplitRequest,
} from '@orrery/contract';
import { planRefusal } from '@orrery/planner';
import { mayAct } from '../../platform/auth.js';
import { newId } from '../../platform/ids.js';
import { Mutex } from '../../platform/mutex.js';
import { type Precondition, requireRead } from '../../platform/precondition.js';
import { conflict, invalid, notFound, ProblemError } from '../../platform/problem.js';
import { PROJECT } from '../../platform/redis-keys.js';
import { CHAINS, type ChainStore, type Publication } from '../../ports/chain-store.js';
import type { Deployer, PlanChange } from '../../ports/deployer.js';
import { FABRIC, type FabricDriver } from '../../ports/fabric-driver.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { LENDERS, type Lenders } from '../../ports/lenders.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { OPERATIONS, type OperationLog } from '../../ports/operation-log.js';
import { PLANS, type PlanStore } from '../../ports/plan-store.js';
import { TWIN, type TwinView } from '../../ports/twin-view.js';
import { DesiredStore } from './desired-store.js';
import { ending } from './endings.js';
import { OperationControl } from './operation-control.js';
import { OPERATION_NOUN, stepsOf } from './operation-steps.js';
import { queueRefusal } from './queue-limits.js';
import { planErrors } from './refusals.js';
import { splitRevision } from './split-revision.js';
import { changesBetween, deploymentOf, subjectsOf } from './versions.js';

const MAX_PLANNINGS = 3;

/** The plan does not build on what is to run. */
class StalePlan extends ProblemError {
  constructor() {
    super(409, 'Something else was deployed meanwhile: plan again.', [
      { pointer: '/plan_id', detail: 'was planned before something else was deployed: plan again', code: 'stale-plan' },
    ]);
  }
}

/** What a control loop says of its operation. */
type About = Pick<Operation, 'id' | 'kind' | 'subject' | 'as_planned'>;
type Caller = Pick<SessionInfo, 'name' | 'role'>;

/** Accepts deployments: checks, then stores the operation; the reconciler does the rest. */
@Injectable()
export class DeploymentsService implements Deployer {
  private readonly mutex = new Mutex();

  constructor(
    @Inject(DesiredStore) private readonly state: DesiredStore,
    @Inject(CHAINS) private readonly chains: ChainStore,
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(TWIN) private readonly twin: TwinView,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(FABRIC) private readonly fabric: FabricDriver,
    @Inject(OPERATIONS) private readonly operations: OperationLog,
    @Inject(OperationControl) private readonly control: OperationControl,
    @Inject(LENDERS) private readonly lenders: Lenders,
  ) {}

  /** Plans a change and accepts it as one operation of the kind. Throws like `deploy`. */
  change(
    request: PlanChange,
    { id, kind, by, as_planned }: Pick<Operation, 'id' | 'kind' | 'by' | 'as_planned'>,
    refusal: (plan: Plan) => string | null = () => null,
  ): Promise<Operation> {
    return this.mutex.run(async () => {
      const accepted = await this.operations.get(id);
      if (accepted) return accepted;
      return this.planAndAccept(request, async (plan) => {
        const why = plan.feasible ? refusal(plan) : null;
        if (why !== null) throw conflict(why);
        const about = { id, kind, subject: subjectOf(request, plan), ...(as_planned ? { as_planned } : {}) };
        return this.accept(plan, null, { name: by, role: 'operator' }, about);
      });
    });
  }

  deploy(request: DeployRequest, caller: Caller): Promise<Operation> {
    return this.mutex.run(async () => {
      if ('plan_id' in request) return this.accept(await this.plans.get(request.plan_id), null, caller);
      const accept = (plan: Plan) => this.accept(plan, request.chain_id, caller);
      return this.planAndAccept({ chains: [request] }, accept, '/chains/0');
    });
  }

  /** Changes how the flows of an NF are split over its instances. `ifMatch`: of the split that is to run. */
  split(
    chainId: string,
    nodeId: string,
    { plan_id, ...split }: SplitRequest,
    ifMatch: Precondition,
    caller: Caller,
  ): Promise<Operation> {
    return this.mutex.run(async () => {
      const deployment = this.state.deployment(chainId);
      if (!deployment) throw notFound('deployment of chain', chainId);
      if (deployment.state === 'undeploying') throw conflict('The chain is being taken down.');
      const { ranges } = split;
      const coming = this.state.comingPlan;
      const instances = nfInstances(coming?.graph).filter((it) => it.chain_id === chainId && it.node_id === nodeId);
      if (instances.length === 0) throw notFound('NF of the chain', nodeId);
      if (instances.length === 1) throw conflict(`${nodeId} has one instance, which takes all flows.`);
      if (ranges && ranges.length !== instances.length) {
        const detail = `has ${ranges.length} ranges for ${instances.length} instances`;
        throw invalid([{ pointer: '/ranges', detail, code: 'wrong-number' }]);
      }
      const running = coming?.splits.find((it) => it.chain_id === chainId && it.node_id === nodeId);
      const chain = coming?.chains.find(({ chain_id }) => chain_id === chainId);
      const staged = chain?.splits?.find(({ node_id }) => node_id === nodeId)?.staged;
      if (running) requireSplit(splitRevision(running, staged), ifMatch, nodeId);
      const asked = { node_id: nodeId, ...split };
      if (plan_id !== undefined) {
        const plan = await this.plans.get(plan_id);
        if (!isPlanOf(plan, chainId, asked))
          throw invalid([{ pointer: '/plan_id', detail: 'is not a plan of this change alone', code: 'other-plan' }]);
        return this.accept(plan, null, caller);
      }
      const change = { chain_id: chainId, version: deployment.version, splits: [asked] };
      return this.planAndAccept(
        { chains: [change] },
        (plan) => this.accept(plan, chainId, caller),
        '/chains/0/splits/0',
      );
    });
  }

  /**
   * Plans again where an operation ended in between and the plan builds on it. `within`: where the request to plan has what the
   * caller asked for; errors point into that.
   */
  private async planAndAccept(
    request: Partial<PlanRequest>,
    accept: (plan: Plan) => Promise<Operation>,
    within = '',
  ): Promise<Operation> {
    for (let attempt = 1; ; attempt++) {
      const { comingPlan, comingDrivers } = this.state;
      const making = this.plans.make(PlanRequest.parse(request), comingPlan, comingDrivers);
      const plan = await making.catch((error: unknown) => Promise.reject(pointingInto(within, error)));
      try {
        return await accept(plan);
      } catch (error) {
        if (!(error instanceof StalePlan) || attempt === MAX_PLANNINGS) throw error;
      }
    }
  }

  underWay(): readonly Operation[] {
    return this.state.queue.map(({ operation }) => operation);
  }

  takeBack(id: string, why: string, by: string): Promise<void> {
    return this.control.takeBack(id, why, by);
  }

  operation(id: string): Operation | undefined {
    return this.state.operation(id);
  }

  undeploy(chainId: string, caller: Caller): Promise<Operation> {
    return this.mutex.run(async () => {
      const deployment = this.state.deployment(chainId);
      if (!deployment) throw notFound('deployment of chain', chainId);
      if (deployment.state === 'undeploying') throw conflict('The chain is already being taken down.');
      return this.planAndAccept({ remove: [chainId] }, (plan) => this.accept(plan, chainId, caller));
    });
  }

  /** Stores operation, deployments and the published versions atomically. */
  private accept(plan: Plan, asked: string | null, caller: Caller, about?: About): Promise<Operation> {
    if (driversIn(plan).length > 0 && !mayAct(caller.role, 'admin'))
      throw new ProblemError(
        403,
        `The driver of a switch is changed by the role admin; the session has ${caller.role}.`,
      );
    this.requireDeployable(plan, about ? '' : asked === null ? '/plan_id' : '/chain_id');
    return this.chains.publishing(this.withRunningVersions(plan), caller.name, async (publication) => {
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

  private acceptance(plan: Plan, asked: string | null, { versions, putIn }: Publication, by: string, about?: About) {
    const named = new Set([...plan.request.chains.map(({ chain_id }) => chain_id), ...(asked ? [asked] : [])]);
    const chains = changesBetween(this.state.comingVersions, versions, named);
    const [first] = chains;
    const isRemoval = chains.length > 0 && chains.every(({ to_version }) => to_version === null);
    const drivers = driversIn(plan);
    const kind = isRemoval ? 'undeploy' : drivers.length > 0 && chains.length === 0 ? 'infrastructure' : 'deploy';
    const now = Date.now();
    const operation: Operation = {
      ...about,
      id: about?.id ?? newId('op'),
      project: PROJECT,
      kind: about?.kind ?? kind,
      state: 'PROCESSING',
      subject: about?.subject ?? asked ?? first?.chain_id ?? drivers[0]?.switch ?? touchedBy(plan) ?? plan.id,
      plan_id: plan.id,
      request: withVersions(plan.request, versions),
      chains,
      drivers,
      set_aside: null,
      by,
      cancelled_by: null,
      steps: stepsOf(plan),
      error: null,
      started_ms: now,
      updated_ms: now,
      first_packet_ms: null,
    };
    const deployments = new Map(
      chains.map(({ chain_id: id }) => [id, deploymentOf(id, this.state.desired.in_force, [operation], now)]),
    );
    const known = [...plan.chains, ...(this.state.comingPlan?.chains ?? [])];
    const subjects = chains.length > 0 ? chains.map(({ chain_id }) => chain_id) : [operation.subject];
    const titles = subjects.flatMap(
      (id) => known.find(({ chain_id }) => chain_id === id)?.definition.title ?? (id === plan.id ? [] : id),
    );
    const started: EventDraft = {
      type: 'operation.started',
      subject: operation.id,
      message: `${OPERATION_NOUN[operation.kind]} of ${titles.join(', ') || 'nothing new'}`,
      actor: by,
      data: { chain_id: operation.subject, plan_id: plan.id, chains: chains.map(({ chain_id }) => chain_id) },
    };
    const putAllIn: Publication['putIn'] = (batch) => {
      // Again here: infrastructure and catalogue may have changed since the plan was accepted.
      this.requireResources(plan);
      this.requireDescriptors(plan);
      this.requireLent(plan);
      putIn(batch);
    };
    const superseded = this.superseded(operation, now);
    this.requireRoom(superseded.over);
    return {
      accept: { operation, plan },
      ...superseded,
      deployments,
      putIn: putAllIn,
      events: [...superseded.events, started],
    };
  }

  private requireRoom(leaving: readonly Operation[]): void {
    const ids = new Set(leaving.map(({ id }) => id));
    const refusal = queueRefusal(this.underWay().filter(({ id }) => !ids.has(id)));
    if (refusal !== null) throw conflict(refusal);
  }

  /** Operations that are set aside and wanted something else for the same chains. */
  private superseded(by: Operation, nowMs: number) {
    const chains = subjectsOf(by);
    const ended = this.state.queue.flatMap(({ operation }) => {
      if (operation.set_aside === null || ![...subjectsOf(operation)].some((chain) => chains.has(chain))) return [];
      const why = `Superseded by another operation of ${by.by}`;
      return [ending(this.state, operation, { state: 'ROLLED_BACK', why }, nowMs)];
    });
    const operations = ended.flatMap((change) => change.operations ?? []);
    return { operations, over: operations, events: ended.flatMap(({ events = [] }) => events) };
  }

  /** The plan's chains; one that was planned as a draft and has been deployed since is not published again. */
  private withRunningVersions(plan: Plan): PlannedChain[] {
    const coming = new Map(this.state.comingPlan?.chains.map((each) => [each.chain_id, each.definition]));
    return plan.chains.map((chain) => {
      const { chain_id: id, version, definition } = chain;
      const running = version === 0 && isDeepStrictEqual(coming.get(id), definition) && this.state.deployment(id);
      return running ? { ...chain, version: running.version } : chain;
    });
  }

  /** `pointer`: what the request named the plan by. */
  private requireDeployable(plan: Plan, pointer: string): void {
    const coming = this.state.comingPlan;
    if (plan.base_plan !== (coming?.id ?? null)) throw new StalePlan();
    if (!plan.feasible) throw invalid(planErrors(plan, pointer), planRefusal(plan));
    this.requireDescriptors(plan);
    this.requireResources(plan);
    this.requireLent(plan);
    if (!this.twin.enabled && driversIn(plan).length > 0)
      throw conflict('The twin is off (ORRERY_TWIN=off): the drivers of its switches can be planned but not changed.');
    const { servers } = this.infrastructure.current.infrastructure;
    const emulated = new Set(servers.filter(({ origin }) => origin === 'twin').map(({ id }) => id));
    if (!this.twin.enabled && serversOf(plan).some((server) => emulated.has(server)))
      throw conflict('The twin is off (ORRERY_TWIN=off): chains can be planned but not run on emulated servers.');
    const [absent] = this.absentNodes(plan);
    if (absent !== undefined)
      throw conflict(`The agent of ${absent} is not connected: start it, or enrol it with a join token.`);
  }

  /** The servers, hosts and switches of the plan still exist. */
  private requireResources(plan: Plan): void {
    const { graph, fabric } = plan;
    const { servers, hosts, switches } = this.infrastructure.current.infrastructure;
    const gone = driversIn(plan).find((change) => !switches.some(({ id }) => id === change.switch));
    if (gone) throw conflict(`The infrastructure has no switch "${gone.switch}" any more; plan again.`);
    const server = serversOf({ graph }).find((used) => !servers.some(({ id }) => id === used));
    if (server !== undefined) throw conflict(`The infrastructure has no server "${server}" any more; plan again.`);
    const sources = fabric.rules.flatMap(({ from_hosts }) => from_hosts);
    const host = sources.find((source) => !hosts.some(({ id }) => id === source));
    if (host !== undefined) throw conflict(`The infrastructure has no host "${host}" any more; plan again.`);
  }

  /** The plan leaves to lending groups what they lend. */
  private requireLent(plan: Plan): void {
    const why = this.lenders.refusalOf(this.state.comingPlan, plan);
    if (why !== null) throw conflict(why);
  }

  /** The NFs of the plan are described as they were when it was made. */
  private requireDescriptors(plan: Plan): void {
    const why = this.plans.outdatedBy(plan);
    if (why !== null) throw conflict(`${why} Plan again.`);
  }

  /** Live nodes that the plan changes and whose agents are away; agents of emulated nodes are started by the twin. */
  private absentNodes({ steps, fabric }: Plan): string[] {
    const { servers, switches } = this.infrastructure.current.infrastructure;
    const prepared = new Set(steps.filter(({ kind }) => kind === 'prepare-node').map(({ subject }) => subject));
    if (prepared.size === 0) return [];
    const before = this.state.comingPlan?.fabric.rules ?? [];
    const carriers = this.fabric.carriersOf({ before, after: fabric.rules });
    return [...servers.filter(({ id }) => prepared.has(id)), ...switches.filter(({ id }) => carriers.has(id))]
      .filter(({ id, origin }) => origin === 'live' && !this.fleet.isConnected(id))
      .map(({ id }) => id);
  }
}

/** A refused field of a request, as who wrote only the part `within` names it. */
function pointingInto(within: string, error: unknown): unknown {
  if (!(error instanceof ProblemError) || error.status !== 422 || within === '') return error;
  return invalid(
    error.errors.map((each) =>
      each.pointer.startsWith(`${within}/`) ? { ...each, pointer: each.pointer.slice(within.length) } : each,
    ),
  );
}

/** Throws 412 and 428. */
function requireSplit(revision: string, given: Precondition, nodeId: string): void {
  const ifMatch = requireRead(given, `split of ${nodeId}`, revision);
  if (ifMatch === null || ifMatch === revision) return;
  throw new ProblemError(412, `The split of ${nodeId} is at revision ${revision}, no longer at ${ifMatch}.`);
}

/** Whether a plan was asked for this split of one chain, and nothing else. */
function isPlanOf({ request: { chains, remove, implementations } }: Plan, chainId: string, split: NfSplit): boolean {
  const [chain] = chains;
  return (
    chains.length === 1 &&
    remove.length + implementations.length === 0 &&
    chain!.chain_id === chainId &&
    isDeepStrictEqual(chain!.splits, [split])
  );
}

/** Plans of earlier versions change none. */
function driversIn({ drivers = [] }: Plan): Operation['drivers'] {
  return drivers;
}

/** The chain whose instances a plan changes without a version change. */
function touchedBy({ graph, diff: { added, moved, reconfigured } }: Plan): string | undefined {
  const touched = new Set([...added, ...moved, ...reconfigured]);
  return graph.nodes.find(({ id }) => touched.has(id))?.chain_id;
}

/** Servers that run NFs, mirrors, merges or queues. */
function serversOf({ graph }: Pick<Plan, 'graph'>): string[] {
  return graph.nodes.flatMap((node) => (node.kind === 'exit' ? [] : node.server));
}

/** The chain that is the subject of a change. */
function subjectOf({ chains = [], remove = [], implementations = [] }: PlanChange, plan: Plan): string {
  const { abandoned, graph, id } = plan;
  const named = chains[0]?.chain_id ?? implementations[0]?.chain_id ?? remove[0];
  if (named !== undefined) return named;
  const lost = abandoned[0]?.slice(0, abandoned[0].lastIndexOf('.'));
  return nfInstances(graph).find(({ pgraph_node }) => pgraph_node === lost)?.chain_id ?? touchedBy(plan) ?? id;
}

/** The request with the versions that were chosen, so that planning it again gives the same. */
function withVersions(request: Plan['request'], versions: ReadonlyMap<string, number>): Plan['request'] {
  return {
    ...request,
    chains: request.chains.map((chain) => ({ ...chain, version: versions.get(chain.chain_id) ?? chain.version })),
  };
}
