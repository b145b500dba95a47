import { Inject, Injectable } from '@nestjs/common';
import {
  type Deployment,
  type NfRef,
  type Operation,
  type Plan,
  PlanRequest,
  type ScaleRequest,
  type Scaling,
  type ScalingPreview,
  type ScalingStep,
  type StagedSplit,
  sampleKey,
} from '@orrery/contract';
import { leavesSwitches, numbersOf } from '@orrery/planner';
import { newId } from '../../platform/ids.js';
import { conflict, invalid, notFound, ProblemError } from '../../platform/problem.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { DEPLOYER, type Deployer, type PlanChange } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { DESCRIPTORS, type NfDescriptors } from '../../ports/descriptor-catalogue.js';
import { NOT_KEPT_CHAINS, type NotKeptChains } from '../../ports/not-kept-chains.js';
import { OPERATIONS, type OperationLog } from '../../ports/operation-log.js';
import { PLANS, type PlanStore } from '../../ports/plan-store.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { isDeployed, lostBoard, type RunningNf, runningNf, whyNotOfOthers, whyNotThere } from './running-nf.js';
import {
  idleTimeoutOf,
  keepsNothing,
  type ScaledWish,
  type ScalingWay,
  scalingWay,
  splitOfStep,
} from './scaling-way.js';
import { Scalings } from './scalings.js';
import { TrackedFlows } from './tracked-flows.js';

/** How long the latest figure of a split counts. */
const FRESH_MS = 3000;

/** Why a step would do harm, however often it is tried. */
export class ScalingRefusal extends ProblemError {
  constructor(why: string) {
    super(409, why);
  }
}

interface ScalingWish extends ScaledWish, Pick<ScaleRequest, 'drain_s'> {
  readonly nf: NfRef;
  readonly cause: string;
  readonly policy_id: string | null;
  readonly by: string;
}

/** Begins changes of numbers of instances, and makes the plan of each of their steps. */
@Injectable()
export class Scaler {
  /** Changes of which the first operation is being asked for. */
  private readonly beginning = new Set<string>();

  constructor(
    @Inject(Scalings) private readonly scalings: Scalings,
    @Inject(DEPLOYER) private readonly deployer: Deployer,
    @Inject(OPERATIONS) private readonly operations: OperationLog,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(DESCRIPTORS) private readonly catalogue: NfDescriptors,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(PLANS) private readonly plans: PlanStore,
    @Inject(NOT_KEPT_CHAINS) private readonly notKept: NotKeptChains,
    @Inject(TrackedFlows) private readonly trackedFlows: TrackedFlows,
  ) {}

  /** Whether flows of the NF may meet any instance, so that none has to stay. */
  keepsNothing(running: RunningNf): boolean {
    return keepsNothing(running, this.catalogue);
  }

  /** What `begin` would do; changes nothing. Throws as it does, but for a first step that no plan has room for. */
  async preview(wish: ScalingWish): Promise<ScalingPreview> {
    const { scaling, splits, idle_timeout_s } = this.drafted(wish);
    this.scalings.requireFree(scaling);
    const { from, to, steps } = scaling;
    const request = PlanRequest.parse(this.requestOf(scaling, steps[0]!));
    const plan = await this.plans.lookAhead(request, this.view.comingPlan, this.view.comingDrivers);
    const why = plan.feasible ? this.reasonAgainst(plan, scaling, steps[0]!) : null;
    if (why !== null) throw new ScalingRefusal(why);
    return { from, to, steps, splits, idle_timeout_s, feasible: plan.feasible };
  }

  /** Stores the change and begins its first step. Throws 404, 409 and 422; then nothing has been begun. */
  async begin(wish: ScalingWish): Promise<Operation> {
    const { scaling } = this.drafted(wish);
    this.beginning.add(scaling.id);
    try {
      await this.scalings.begin(scaling);
      return await this.firstOf(scaling);
    } finally {
      this.beginning.delete(scaling.id);
    }
  }

  /** The change before it has begun, and how it goes. Throws 404, 409 and 422. */
  private drafted(wish: ScalingWish): Pick<ScalingWay, 'splits' | 'idle_timeout_s'> & { readonly scaling: Scaling } {
    const { nf, flows, drain_s, cause, policy_id, by } = wish;
    const running = this.runningOf(nf);
    const owner = this.notKept.ownerOf(nf.chain_id);
    if (owner !== null) throw conflict(whyNotOfOthers(owner));
    const isUnsettled = !this.trackedFlows.areKnown(nf, idleTimeoutOf(running.asked));
    const circumstances = { catalogue: this.catalogue, isUnsettled };
    const { from, to, before, after, steps, splits, idle_timeout_s } = scalingWay(running, wish, circumstances);
    const full = flows === 'keep' && !this.keepsNothing(running) ? this.fullSwitch(nf, running) : null;
    if (full !== null) throw conflict(full);
    const lost = lostBoard(this.view.comingPlan, nf.chain_id, this.boards.broken());
    if (lost !== null) throw conflict(`${lost}.`);
    const scaling: Scaling = {
      id: newId('sc'),
      ...{ nf, from, to, flows, drain_s, policy_id, cause, by, steps, before, after },
      cancelled_by: null,
      base_operation: this.view.deployment(nf.chain_id)?.operation_id ?? null,
      state: 'running',
      step: 0,
      step_ms: Date.now(),
      left_flows: null,
      error: null,
      started_ms: Date.now(),
      ended_ms: null,
    };
    return { scaling, splits, idle_timeout_s };
  }

  /** Whether it is not known yet if there will be such a change: nothing else looks at it. */
  isBeginning({ id }: Pick<Scaling, 'id'>): boolean {
    return this.beginning.has(id);
  }

  private async firstOf(scaling: Scaling): Promise<Operation> {
    try {
      return await this.change(scaling, scaling.steps[0]!);
    } catch (error) {
      if (error instanceof ProblemError && error.status < 500 && !(await this.operations.get(operationOf(scaling))))
        await this.scalings.forget(scaling);
      throw ofInstances(error);
    }
  }

  /**
   * The operation of a step that changes the plan; the one that was accepted before, if there is one. With the first it is told.
   * `exceptions`: flows that switches are to keep elsewhere than their ranges say.
   */
  async change(scaling: Scaling, step: ScalingStep, exceptions: StagedSplit['exceptions'] = []): Promise<Operation> {
    const operation = await this.operationFor(scaling, step, exceptions);
    if (scaling.step === 0) await this.scalings.tell(scaling);
    return operation;
  }

  /** Whether the step needs to know which flows stay elsewhere than their ranges say, before switches share them out again. */
  async needsExceptions(scaling: Scaling, step: ScalingStep): Promise<boolean> {
    if (step !== 'resize' || scaling.to > scaling.from || scaling.to === 1) return false;
    const running = runningNf(this.view.comingPlan, scaling.nf);
    if (!leavesSwitches(running?.asked?.staged, scaling.to)) return false;
    return (await this.operations.get(operationOf(scaling))) === null;
  }

  private async operationFor(
    scaling: Scaling,
    step: ScalingStep,
    exceptions: StagedSplit['exceptions'],
  ): Promise<Operation> {
    const id = operationOf(scaling);
    const accepted = await this.operations.get(id);
    if (accepted) return this.deployer.operation(id) ?? accepted;
    const by = scaling.cancelled_by ?? scaling.by;
    // Ranges go back on whatever runs: else they would stay drained.
    const again: Pick<Operation, 'as_planned'> = step === 'restore' ? {} : { as_planned: true };
    const operation = { id, kind: 'deploy', by, ...again } as const;
    const asked = this.requestOf(scaling, step, exceptions);
    return this.deployer.change(asked, operation, (plan) => {
      const now = this.requestOf(scaling, step, exceptions);
      if (now.chains[0]!.version !== asked.chains[0]!.version)
        throw conflict('Another version was deployed meanwhile.');
      const why = this.reasonAgainst(plan, scaling, step);
      if (why !== null) throw new ScalingRefusal(why);
      return null;
    });
  }

  /** Why the deployment of a chain does not go on, for which changes of its instances wait. Null: it does, or there is none. */
  stuckDeployment(chainId: string): string | null {
    const deployment = this.view.deployment(chainId);
    if (deployment?.state !== 'deploying') return null;
    const operation = this.deployer.operation(deployment.operation_id);
    if (operation?.state !== 'FAILED_TEMP') return null;
    return `The chain is being deployed, which does not go on: ${operation.error?.detail ?? 'it waits'}`;
  }

  private requestOf(scaling: Scaling, step: ScalingStep, exceptions?: StagedSplit['exceptions']) {
    const { nf } = scaling;
    const deployment = this.view.deployment(nf.chain_id);
    if (!isDeployed(deployment)) throw new ScalingRefusal('The chain is not deployed any more.');
    requireAtRest(deployment);
    const split = splitOfStep(scaling, step, runningNf(this.view.comingPlan, nf), exceptions);
    return { chains: [{ chain_id: nf.chain_id, version: deployment.version, splits: [split] }] } satisfies PlanChange;
  }

  private reasonAgainst({ diff, problems }: Plan, scaling: Scaling, step: ScalingStep): string | null {
    const foreign = this.foreignChange(scaling, step);
    if (foreign !== null) return foreign;
    return diff.moved.length > 0
      ? `It would move ${diff.moved.join(', ')}, which would disturb what runs.`
      : this.lossOf(problems, scaling, step);
  }

  /** Why the step would overwrite what others have deployed since the step before; null: what that made still stands. */
  private foreignChange(scaling: Scaling, step: ScalingStep): string | null {
    const why = whyNotThere(this.view.deployment(scaling.nf.chain_id), scaling);
    if (why !== null) return why;
    const running = runningNf(this.view.comingPlan, scaling.nf);
    const { instances, ranges = [] } = numbersOf(scaling, madeBefore(scaling, step));
    const isSame =
      running !== null &&
      running.instances.length === instances &&
      running.ranges.length === ranges.length &&
      running.ranges.every(({ lo, hi }, i) => lo === ranges[i]!.lo && hi === ranges[i]!.hi);
    if (!isSame) return `Somebody else changed the instances of ${scaling.nf.node_id} or their ranges meanwhile.`;
    const mustKnow = scaling.flows === 'keep' && (step === 'drain' || step === 'resize');
    return mustKnow && !running.tracked && !this.keepsNothing(running)
      ? `Flows of ${scaling.nf.node_id} in progress are not known any more: nobody tracks them.`
      : null;
  }

  /**
   * What the plan says of flows of the chain that would lose their state, as a reason against it; null: none that the change
   * does not imply. What is left at an instance when it goes is counted instead.
   */
  private lossOf(problems: Plan['problems'], { nf, flows, from, to }: Scaling, step: ScalingStep): string | null {
    if (step === 'restore') return null;
    const running = runningNf(this.view.comingPlan, nf);
    const mayLose = flows === 'migrate' || (step === 'resize' && to < from) || !running || this.keepsNothing(running);
    const lost = problems.filter(
      ({ code, chain_id, node }) =>
        code === 'flow-state-lost' && chain_id === nf.chain_id && !(mayLose && node === nf.node_id),
    );
    return lost.length === 0 ? null : `Flows would lose their state: ${lost.map(({ message }) => message).join('; ')}.`;
  }

  private runningOf(nf: NfRef): RunningNf {
    const deployment = this.view.deployment(nf.chain_id);
    if (!deployment) throw notFound('deployment of chain', nf.chain_id);
    if (deployment.state === 'undeploying') throw conflict('The chain is being taken down.');
    // Of one that is being scaled, that is said: its operations deploy it, too.
    if (!this.scalings.ofChain(nf.chain_id)) requireAtRest(deployment);
    const running = runningNf(this.view.comingPlan, nf);
    if (!running)
      throw invalid([{ pointer: '/node_id', detail: `the chain runs no NF ${nf.node_id}`, code: 'unknown-node' }]);
    return running;
  }

  /** Why flows would not stay by the entries of switches, or that it is not known; null: they would, or engines keep them. */
  private fullSwitch({ node_id }: NfRef, { at, tracked, chain }: RunningNf): string | null {
    if (at !== 'switch' || !tracked) return null;
    const key = sampleKey('nf', `${chain?.definition.name}.${node_id}`, 'untracked_pps');
    const untracked = this.telemetry.newest(key, FRESH_MS);
    if (untracked === null)
      return `It is not known whether switches have entries left for flows of ${node_id} that begin: they have told nothing of them lately.`;
    return untracked > 0
      ? `A switch has no entries left for flows of ${node_id} that begin: they would follow other ranges without their state.`
      : null;
  }
}

/** Id of the operation of the step that it is at: the same after a restart. */
export function operationOf({ id, step }: Pick<Scaling, 'id' | 'step'>): string {
  return `${id}.${step}`;
}

/** What asks for a version that is being deployed would bring it also where its deployment comes to nothing. */
function requireAtRest({ state }: Deployment): void {
  if (state === 'deploying') throw conflict('The chain is being deployed: its instances can change once that is over.');
}

/** Where no plan has room: what the request named was the number. */
function ofInstances(error: unknown): unknown {
  if (!(error instanceof ProblemError) || error.status !== 422) return error;
  const errors = error.errors.map((each) => (each.pointer === '' ? { ...each, pointer: '/instances' } : each));
  return new ProblemError(422, error.message, errors, error.headers);
}

/** The step that made what there is before a step. */
function madeBefore({ steps, step: index }: Scaling, step: ScalingStep): ScalingStep {
  // A step after `drain` that was refused made nothing.
  if (step === 'restore') return 'drain';
  return steps.slice(0, index).findLast((it) => it === 'drain' || it === 'resize') ?? 'track';
}
