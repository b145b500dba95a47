import { Inject, Injectable } from '@nestjs/common';
import {
  FLOW_SPACE,
  type Instance,
  type MigrateRequest,
  type Operation,
  type Scaling,
  type ScalingStep,
  sampleKey,
} from '@orrery/contract';
import { rangeMoves } from '@orrery/planner';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { isRefusal, prospectOf } from '../../platform/problem.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
import { DEPLOYER, type Deployer } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { FLOW_MOVER, type FlowMover } from '../../ports/flow-mover.js';
import { isOver, OPERATIONS, type OperationLog } from '../../ports/operation-log.js';
import { SPLIT_HANDOVERS, type SplitHandovers } from '../../ports/split-handovers.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { isDeployed, lostBoard, runningNf, whyNotThere } from './running-nf.js';
import { operationOf, Scaler, ScalingRefusal } from './scaler.js';
import { idleTimeoutOf } from './scaling-way.js';
import { Scalings } from './scalings.js';

/** An operation that cannot go on for so long is taken back. */
const PATIENCE_MS = 10_000;
/** How long a step waits where something passing is in the way of its operation, such as a full queue or an agent that is away. */
const WAY_FREE_MS = 60_000;
/** The same for ranges that go back, without which instances stay drained. */
const WAY_BACK_FREE_MS = 600_000;
/** A board that has not worked for so long is lost, as for the board watcher. */
const LOST_MS = 1000;
/** How long the latest figure of a split counts. */
const FRESH_MS = 3000;
const WHOLE = [{ lo: 0, hi: FLOW_SPACE }];

/**
 * What this server has seen of a step, by its monotonic clock; null: not, or no longer. It begins anew with each server: how long
 * none ran is known by the wall clock only, and flows would be lost where that is wrong.
 */
interface Watch {
  readonly step: number;
  readonly sinceMs: number;
  /** Since when what goes has had no packets, and when that was seen last. */
  quiet: { readonly sinceMs: number; readonly seenMs: number } | null;
  /** Since when an NF of its chain has been without its board. */
  lostMs: number | null;
  /** Since when its operation cannot go on. */
  stuckMs: number | null;
  /** Since when something passing has been in the way of its operation. */
  refusedMs: number | null;
}

/** Takes changes of numbers of instances from step to step. What it waits for is stored, so any server can go on with it. */
@Injectable()
export class ScalingConductor {
  /** Of changes that are under way, by their ids. */
  private readonly watches = new Map<string, Watch>();

  constructor(
    @Inject(Scalings) private readonly scalings: Scalings,
    @Inject(Scaler) private readonly scaler: Scaler,
    @Inject(DEPLOYER) private readonly deployer: Deployer,
    @Inject(OPERATIONS) private readonly operations: OperationLog,
    @Inject(FLOW_MOVER) private readonly mover: FlowMover,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(SPLIT_HANDOVERS) private readonly handovers: SplitHandovers,
  ) {}

  async look(scaling: Scaling, { step, signal }: Pick<LoopRun, 'step' | 'signal'>): Promise<void> {
    if (this.scaler.isBeginning(scaling)) return;
    const next = await step(this.next(scaling, signal));
    // What was changed meanwhile, such as by a cancellation, is looked at anew.
    if (next !== null) await step(this.write(next, scaling));
  }

  /** Stops one that waits; the ranges go back. Null: it does not wait, or no longer. */
  async cancel(scaling: Scaling, by: string): Promise<Scaling | null> {
    if (scaling.state !== 'running' || !isWaiting(scaling)) return null;
    const stopped = { ...scaling, cancelled_by: by };
    const next = scaling.steps[scaling.step] === 'settle' ? ended(stopped, 'cancelled') : goingBack(stopped, null);
    return (await this.write(next, scaling)) ? next : null;
  }

  private write(next: Scaling, was: Scaling): Promise<boolean> {
    if (next.state !== 'running') this.watches.delete(was.id);
    return this.scalings.write(next, was);
  }

  /** How it is after this look; null: as it was. */
  private async next(scaling: Scaling, signal: AbortSignal): Promise<Scaling | null> {
    const overtaken = await this.overtaken(scaling);
    if (overtaken !== null) return overtaken;
    const name = scaling.steps[scaling.step];
    const urgent = isWaiting(scaling) ? this.urgent(scaling) : null;
    if (urgent !== null) return failed(scaling, urgent);
    const age = performance.now() - this.watchOf(scaling).sinceMs;
    switch (name) {
      case undefined:
        return ended(scaling, 'completed');
      case 'settle':
        return age >= this.idleTimeoutOf(scaling) * 1000 ? further(scaling) : null;
      case 'empty':
        return this.emptied(scaling, age);
      case 'move':
        return this.moved(scaling);
      default:
        return this.change(scaling, name, signal);
    }
  }

  /**
   * How it goes on where its chain was undeployed, or deployed anew by somebody else since its last step; null: neither, or its
   * step is an operation already, whose end decides.
   */
  private async overtaken(scaling: Scaling): Promise<Scaling | null> {
    const deployment = this.view.deployment(scaling.nf.chain_id);
    const why = whyNotThere(deployment, scaling);
    if (why === null || (await this.operations.get(operationOf(scaling)))) return null;
    if (isDeployed(deployment)) return failed(scaling, why);
    return ended({ ...scaling, error: scaling.error ?? why }, 'failed');
  }

  private async change(scaling: Scaling, name: ScalingStep, signal: AbortSignal): Promise<Scaling | null> {
    const { chain_id, node_id } = scaling.nf;
    const exceptions = (await this.scaler.needsExceptions(scaling, name))
      ? await this.handovers.exceptionsOf(chain_id, node_id, signal)
      : [];
    if (typeof exceptions === 'string')
      return this.isPatient(scaling, scaling.drain_s * 1000)
        ? null
        : failed(scaling, `switches cannot take over: ${exceptions}`);
    const patience = name === 'restore' ? WAY_BACK_FREE_MS : WAY_FREE_MS;
    const operation = await this.scaler.change(scaling, name, exceptions).catch((error: unknown) => {
      if (isPassing(error) && this.isPatient(scaling, patience)) return null;
      return asFailure(error);
    });
    if (operation === null) return null;
    this.watchOf(scaling).refusedMs = null;
    return 'failed' in operation ? failed(scaling, operation.failed) : this.changed(scaling, operation);
  }

  /** Whether what is in the way now has not been there for so long. */
  private isPatient(scaling: Scaling, forMs: number): boolean {
    const watch = this.watchOf(scaling);
    const nowMs = performance.now();
    watch.refusedMs ??= nowMs;
    return nowMs - watch.refusedMs < forMs;
  }

  /** What has to change the chain before it, which only waits; null: nothing. */
  private urgent(scaling: Scaling): string | null {
    const watch = this.watchOf(scaling);
    const lost = lostBoard(this.view.plan, scaling.nf.chain_id, this.boards.broken());
    if (lost === null) {
      watch.lostMs = null;
      return null;
    }
    const nowMs = performance.now();
    watch.lostMs ??= nowMs;
    return nowMs - watch.lostMs >= LOST_MS ? lost : null;
  }

  private async changed(scaling: Scaling, operation: Operation): Promise<Scaling | null> {
    const { state, error, id } = operation;
    if (state === 'COMPLETED' || state === 'PARTIALLY_COMPLETED') return further({ ...scaling, base_operation: id });
    if (isOver(operation)) return failed(scaling, error?.detail ?? `its operation ended as ${state}`);
    const watch = this.watchOf(scaling);
    if (state !== 'FAILED_TEMP') {
      watch.stuckMs = null;
      return null;
    }
    const nowMs = performance.now();
    watch.stuckMs ??= nowMs;
    const { by, cancelled_by } = scaling;
    if (nowMs - watch.stuckMs > PATIENCE_MS)
      await this.deployer.takeBack(id, error?.detail ?? 'it could not go on', cancelled_by ?? by);
    return null;
  }

  /** Flows that are left when the time is over are lost with their instance. */
  private emptied(scaling: Scaling, age: number): Scaling | null {
    const running = runningNf(this.view.plan, scaling.nf);
    const leaving = running?.instances.filter(({ ordinal }) => ordinal >= scaling.to) ?? [];
    const flows = leaving.map(({ id }) => this.telemetry.newest(sampleKey('instance', id, 'flows'), FRESH_MS));
    const known = running?.tracked === true && flows.every((count) => count !== null);
    const quiet = this.quietFor(scaling, leaving) >= this.idleTimeoutOf(scaling) * 1000;
    const left = known ? flows.reduce<number>((sum, count) => sum + count!, 0) : quiet ? 0 : null;
    if (left !== 0 && age < scaling.drain_s * 1000) return null;
    return further({ ...scaling, left_flows: left });
  }

  /** For how long no packet has come, where nobody counts flows: those of a switch that only has ranges. */
  private quietFor(scaling: Scaling, leaving: readonly Instance[]): number {
    const watch = this.watchOf(scaling);
    const nowMs = performance.now();
    const still = leaving.every(({ id }) => this.telemetry.newest(sampleKey('instance', id, 'pps'), FRESH_MS) === 0);
    if (!still) {
      watch.quiet = null;
      return 0;
    }
    const known = watch.quiet;
    // Packets may have come while nobody looked.
    const sinceMs = known && nowMs - known.seenMs <= FRESH_MS ? known.sinceMs : nowMs;
    watch.quiet = { sinceMs, seenMs: nowMs };
    return nowMs - sinceMs;
  }

  /** All moves at once: each of its own instances. One that cannot be made leaves its flows where they are. */
  private async moved(scaling: Scaling): Promise<Scaling | null> {
    const running = runningNf(this.view.plan, scaling.nf);
    if (!running) return failed(scaling, 'the NF does not run any more');
    const { before, after, by } = scaling;
    const or = (ranges: Scaling['before']) => (ranges.length > 0 ? ranges : WHOLE);
    const troubles: string[] = [];
    let waits = false;
    for (const [i, { from, to, lo, hi }] of rangeMoves(or(before), or(after)).entries()) {
      const [source, target] = [running.instances[from], running.instances[to]];
      if (!source || !target || !running.split) continue;
      const steer = running.at === 'engine';
      const flows = { match: [], hash: { key: [...running.split.key], lo, hi } };
      const request: MigrateRequest = { to: target.id, flows, steer, release: true };
      const id = `${operationOf(scaling)}-${i}`;
      const known = await this.operations.get(id);
      // The moves of one instance take turns.
      if (waits && !known) continue;
      const operation = known ?? (await this.mover.begin(source.id, request, by, id).catch(asFailure));
      if ('failed' in operation) troubles.push(operation.failed);
      else if (!isOver(operation)) waits = true;
      else if (operation.state !== 'COMPLETED')
        troubles.push(operation.error?.detail ?? `a move ended as ${operation.state}`);
    }
    if (waits) return null;
    const error = troubles.length === 0 ? scaling.error : `flows stayed where they were: ${troubles[0]}`.slice(0, 500);
    return further({ ...scaling, error });
  }

  private idleTimeoutOf({ nf }: Scaling): number {
    const chain = this.view.plan?.chains.find(({ chain_id }) => chain_id === nf.chain_id);
    return idleTimeoutOf(chain?.splits?.find(({ node_id }) => node_id === nf.node_id));
  }

  private watchOf({ id, step }: Scaling): Watch {
    const known = this.watches.get(id);
    if (known?.step === step) return known;
    const nowMs = performance.now();
    const watch: Watch = { step, sinceMs: nowMs, quiet: null, lostMs: null, stuckMs: null, refusedMs: null };
    this.watches.set(id, watch);
    return watch;
  }
}

function isWaiting({ steps, step }: Scaling): boolean {
  return steps[step] === 'settle' || steps[step] === 'empty';
}

function ended(scaling: Scaling, state: Scaling['state']): Scaling {
  return { ...scaling, state, ended_ms: Date.now() };
}

function further(scaling: Scaling): Scaling {
  const step = scaling.step + 1;
  if (step < scaling.steps.length) return { ...scaling, step, step_ms: Date.now() };
  const wentBack = scaling.steps.at(-1) === 'restore';
  const state = !wentBack ? 'completed' : scaling.error === null ? 'cancelled' : 'failed';
  return ended({ ...scaling, step, step_ms: Date.now() }, state);
}

/** Ranges that were drained before go back. */
function goingBack(scaling: Scaling, error: string | null): Scaling {
  const steps = [...scaling.steps.slice(0, scaling.step + 1), 'restore' as const];
  return { ...scaling, steps, step: scaling.step + 1, step_ms: Date.now(), error };
}

function failed(scaling: Scaling, why: string): Scaling {
  if (scaling.steps[scaling.step] === 'restore') {
    const first = scaling.error ?? 'it was cancelled';
    const error = `${first}; its ranges stay drained, unless somebody else changed them: ${why}`;
    return ended({ ...scaling, error }, 'failed');
  }
  const done = scaling.steps.slice(0, scaling.step);
  if (done.includes('drain') && !scaling.steps.includes('restore')) return goingBack(scaling, why);
  return ended({ ...scaling, error: why }, 'failed');
}

/** Whether what refused it may be over in a moment. */
function isPassing(error: unknown): boolean {
  return isRefusal(error) && !(error instanceof ScalingRefusal) && prospectOf(error) !== 'final';
}

/** The detail of a refusal; rethrows any other error, which is worth a retry. */
function asFailure(error: unknown): { readonly failed: string } {
  if (isRefusal(error)) return { failed: error.message };
  throw error;
}
