import { Inject, Injectable } from '@nestjs/common';
import {
  KeepFlows,
  type NfRef,
  type Operation,
  type Plan,
  type ScaleRequest,
  type Scaling,
  type ScalingStep,
  type StagedSplit,
  sampleKey,
} from '@orrery/contract';
import { flawOfSteps, leavesSwitches, numbersOf, scaledRanges, stagedBy, whyNotInSteps } from '@orrery/planner';
import { newId } from '../../platform/ids.js';
import { conflict, invalid, notFound, ProblemError } from '../../platform/problem.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { DEPLOYER, type Deployer } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { DESCRIPTORS, type NfDescriptors } from '../../ports/descriptor-catalogue.js';
import { OPERATIONS, type OperationLog } from '../../ports/operation-log.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { lostBoard, type RunningNf, runningNf } from './running-nf.js';
import { instancesText, Scalings } from './scalings.js';

/** How long the latest figure of a split counts. */
const FRESH_MS = 3000;
/** Entries that a switch spends on flows in progress, of the 2,048 that E2 3.6.2 assumes. */
const SWITCH_FLOWS = 1024;

/** Why a step would do harm, however often it is tried. */
export class ScalingRefusal extends ProblemError {
  constructor(why: string) {
    super(409, why);
  }
}

interface ScalingWish extends Pick<ScaleRequest, 'instances' | 'flows' | 'drain_s'> {
  readonly nf: NfRef;
  /** Ordinal of the instance whose range is halved first; absent: the widest. */
  readonly split?: number;
  /** Switches are to keep flows, by an entry each. */
  readonly bySwitches?: boolean;
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
  ) {}

  /** Whether flows of the NF may meet any instance, so that none has to stay. */
  keepsNothing({ instances }: RunningNf): boolean {
    return (this.catalogue.find(instances[0]!.nf)?.affinity ?? []).length === 0;
  }

  /** Why the flows of a first NF cannot become known to engines in front of its instances; null: they can. */
  whyNotInSteps({ chain_id, node_id }: NfRef, { instances }: RunningNf): string | null {
    const chain = this.view.comingPlan?.chains.find((it) => it.chain_id === chain_id);
    if (!chain) return `${node_id} does not run`;
    if (instances.some(({ driver }) => driver === 'board')) return `${node_id} runs on a board, with one instance`;
    return whyNotInSteps(chain, node_id, chain.execution);
  }

  /** Stores the change and begins its first step. Throws 404, 409 and 422; then nothing has been begun. */
  async begin(wish: ScalingWish): Promise<Operation> {
    const { nf, instances: to, flows, drain_s, cause, policy_id, by } = wish;
    const running = this.runningOf(nf);
    const from = running.instances.length;
    const before = [...running.ranges];
    const after = to === 1 ? [] : scaledRanges(before, to, wish.split);
    const steps = this.stepsOf(running, wish, { from, to, before, after });
    const full = flows === 'keep' && !this.keepsNothing(running) ? this.fullSwitch(nf, running) : null;
    if (full !== null) throw conflict(full);
    const lost = lostBoard(this.view.comingPlan, nf.chain_id, this.boards.broken());
    if (lost !== null) throw conflict(`${lost}.`);
    const scaling: Scaling = {
      id: newId('sc'),
      ...{ nf, from, to, flows, drain_s, policy_id, cause, by, steps, before, after },
      state: 'running',
      step: 0,
      step_ms: Date.now(),
      left_flows: null,
      error: null,
      started_ms: Date.now(),
      ended_ms: null,
    };
    this.beginning.add(scaling.id);
    try {
      await this.scalings.begin(scaling);
      return await this.firstOf(scaling);
    } finally {
      this.beginning.delete(scaling.id);
    }
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
      throw error;
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
    const { nf, by } = scaling;
    const id = operationOf(scaling);
    const accepted = await this.operations.get(id);
    if (accepted) return this.deployer.operation(id) ?? accepted;
    const deployment = this.view.deployment(nf.chain_id);
    if (!deployment || deployment.state === 'undeploying')
      throw new ScalingRefusal('The chain is not deployed any more.');
    const running = runningNf(this.view.comingPlan, nf);
    const bySwitches = step === 'track' && running?.at === 'switch';
    const keep_flows = bySwitches ? { keep_flows: KeepFlows.parse({ capacity: SWITCH_FLOWS }) } : {};
    const staged = stagedBy(scaling, step, running?.asked, exceptions);
    const split = {
      node_id: nf.node_id,
      ...numbersOf(scaling, step),
      ...keep_flows,
      ...(staged ? { staged } : {}),
    };
    const chains = [{ chain_id: nf.chain_id, version: deployment.version, splits: [split] }];
    const operation = { id, kind: 'deploy', by } as const;
    return this.deployer.change({ chains }, operation, (plan) => {
      const why = this.reasonAgainst(plan, scaling, step);
      if (why !== null) throw new ScalingRefusal(why);
      return null;
    });
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
    const running = runningNf(this.view.comingPlan, nf);
    if (!running)
      throw invalid([{ pointer: '/node_id', detail: `the chain runs no NF ${nf.node_id}`, code: 'unknown-node' }]);
    return running;
  }

  /** Why flows would not stay by the entries of switches, or that it is not known; null: they would, or engines keep them. */
  private fullSwitch({ chain_id, node_id }: NfRef, { at, tracked }: RunningNf): string | null {
    if (at !== 'switch' || !tracked) return null;
    const chain = this.view.comingPlan?.chains.find((it) => it.chain_id === chain_id);
    const key = sampleKey('nf', `${chain?.definition.name}.${node_id}`, 'untracked_pps');
    const untracked = this.telemetry.newest(key, FRESH_MS);
    if (untracked === null)
      return `It is not known whether switches have entries left for flows of ${node_id} that begin: they have told nothing of them lately.`;
    return untracked > 0
      ? `A switch has no entries left for flows of ${node_id} that begin: they would follow other ranges without their state.`
      : null;
  }

  private stepsOf(
    running: RunningNf,
    { nf, instances: to, flows, bySwitches }: ScalingWish,
    change: Pick<Scaling, 'from' | 'to' | 'before' | 'after'>,
  ): ScalingStep[] {
    const { from } = change;
    const { tracked, at, waived, asked } = running;
    const name = nf.node_id;
    const isStaged = asked?.staged !== undefined;
    const free = this.keepsNothing(running) && !isStaged;
    const refused = (pointer: string, detail: string, code: string) => invalid([{ pointer, detail, code }]);
    const most = this.catalogue.find(running.instances[0]!.nf)?.scaling.max_instances ?? to;
    if (to > most) throw refused('/instances', `is above ${most}, the most that ${name} allows`, 'above-limit');
    if (bySwitches && (at === 'engine' || isStaged))
      throw conflict(
        isStaged
          ? `${name} is split in steps: engines keep its flows, and no switch does by an entry each.`
          : `An engine shares out the flows of ${name}, no switch: none can keep them.`,
      );
    if (waived && !free && (at === 'engine' || flows === 'keep')) {
      const waiver = `flows of ${name} follow its ranges, as \`keep_flows: null\` of its split asks`;
      // They would follow an engine's new ranges before their state has moved.
      const instead = at === 'engine' ? 'ask for `keep_flows` first' : 'they could only migrate';
      throw refused('/flows', `${waiver}: ${instead}`, 'not-tracked');
    }
    if (isStaged && flows === 'migrate')
      throw refused('/flows', `${name} is split in steps: its flows stay until they end, and none moves`, 'in-steps');
    const isUnknown = at === 'switch' && flows === 'keep' && !tracked && !free && !bySwitches;
    const why = isUnknown ? this.whyNotInSteps(nf, running) : null;
    const inSteps = isStaged || (isUnknown && why === null);
    const mayTrack = at === 'engine' || bySwitches === true || inSteps;
    const knows = tracked || mayTrack || free;
    if (!knows && flows === 'keep')
      throw refused(
        '/flows',
        `switches share out the flows of ${name} and know none of those in progress: these could only migrate. ${why}`,
        'not-tracked',
      );
    const flaw = inSteps ? flawOfSteps(change, asked?.staged) : null;
    if (flaw !== null) throw refused('/instances', flaw, 'in-steps');
    const known = (tracked && !this.isUnsettled(nf)) || free || !mayTrack;
    const track: ScalingStep[] = known ? [] : [inSteps ? 'stage' : 'track', 'settle'];
    if (to === from) {
      if (track.length === 0) throw refused('/instances', `${name} has ${instancesText(from)} already`, 'unchanged');
      return track;
    }
    if (free) return ['resize'];
    const move: ScalingStep[] = flows === 'migrate' ? ['move'] : [];
    return to > from ? [...track, 'resize', ...move] : [...track, 'drain', ...move, 'empty', 'resize'];
  }

  /** Whether the flows became tracked by a change that did not wait until all were known. */
  private isUnsettled(nf: NfRef): boolean {
    const last = this.scalings.ofNf(nf).find(({ steps }) => steps.includes('settle'));
    return last !== undefined && last.state !== 'completed' && last.step <= last.steps.indexOf('settle');
  }
}

/** Id of the operation of the step that it is at: the same after a restart. */
export function operationOf({ id, step }: Pick<Scaling, 'id' | 'step'>): string {
  return `${id}.${step}`;
}

/** The step that made what there is before a step. */
function madeBefore({ steps, step: index }: Scaling, step: ScalingStep): ScalingStep {
  // A step after `drain` that was refused made nothing.
  if (step === 'restore') return 'drain';
  return steps.slice(0, index).findLast((it) => it === 'drain' || it === 'resize') ?? 'track';
}
