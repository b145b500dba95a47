import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Deployment, FabricSpec, NodeSpec, Operation } from '@orrery/contract';
import {
  fabricIn,
  isEmptyNode,
  isFabricPhase,
  nodesIn,
  PHASES,
  type Phase,
  STEP_KIND,
} from '@orrery/planner/transition/phases';
import { CONFIG, type Config } from '../../platform/config.js';
import { LOG, type Log } from '../../platform/log.js';
import { Signal } from '../../platform/signal.js';
import type { EventDraft } from '../../ports/event-log.js';
import { FABRIC, type FabricDriver } from '../../ports/fabric-driver.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { TWIN, type TwinView } from '../../ports/twin-view.js';
import { type Accepted, type Desired, type DesiredChange, DesiredStore } from './desired-store.js';
import { ended, OPERATION_NOUN, resumed, stuck, withSteps } from './operation-steps.js';
import { StateMigration } from './state-migration.js';

const RETRY_MS = 1000;
/** A failure that an agent reports right after it was told something new may still be the old one. */
const FAILURE_GRACE_MS = 500;

/**
 * Makes nodes and fabric follow the accepted plans, one operation after the other. What it tells them is stored first, so
 * a restart goes on where it was; a step that does not come about is tried for as long as it is desired.
 */
@Injectable()
export class Reconciler implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly signal = new Signal();
  private closed = false;
  private worker: Promise<void> = Promise.resolve();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Log,
    @Inject(DesiredStore) private readonly state: DesiredStore,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(FABRIC) private readonly fabric: FabricDriver,
    @Inject(TWIN) private readonly twin: TwinView,
    @Inject(StateMigration) private readonly migration: StateMigration,
  ) {}

  onApplicationBootstrap(): void {
    this.tellNodes();
    this.fleet.onChange(() => this.signal.wake());
    this.state.onChange(() => this.signal.wake());
    void this.restoreFabric();
    this.worker = this.work();
  }

  async onApplicationShutdown(): Promise<void> {
    this.closed = true;
    this.signal.wake();
    await this.worker;
  }

  private async work(): Promise<void> {
    while (!this.closed) {
      try {
        await this.state.certain();
        this.tellNodes();
        const head = this.state.queue[0];
        if (head) await this.advance(head);
        else await this.signal.wait();
      } catch (error) {
        this.log.warn({ error: (error as Error).message }, 'the reconciler tries again');
        await this.signal.wait(RETRY_MS / 5);
      }
    }
  }

  private async advance(head: Accepted): Promise<void> {
    const { desired } = this.state;
    if (desired.operation_id !== head.operation.id) return this.enter('prepare', head);
    const { phase } = desired;
    if (phase === 'settled') return this.complete(head);
    const outcome = isFabricPhase(phase) ? await this.applyFabric(head) : await this.awaitNodes(head);
    if (outcome === 'reached') await this.enter(PHASES[PHASES.indexOf(phase) + 1]!, head);
    if (outcome === 'superseded') await this.giveUp(head);
  }

  /** Enters the first phase from `wanted` on in which something changes. */
  private async enter(wanted: Phase, head: Accepted): Promise<void> {
    await this.state.commit(() => {
      const before = this.state.desired;
      const index = PHASES.slice(PHASES.indexOf(wanted)).findIndex((phase) => this.changes(before, phase, head));
      const phase = PHASES[PHASES.indexOf(wanted) + index]!;
      const desired = desiredIn(before, phase, head);
      const now = Date.now();
      let operation = resumed(this.current(head), now);
      for (const over of PHASES.slice(0, PHASES.indexOf(phase)))
        if (over !== 'settled') operation = withSteps(operation, STEP_KIND[over], 'done', now);
      if (phase !== 'settled') operation = withSteps(operation, STEP_KIND[phase], 'running', now);
      return { desired, operation, plan: head.plan, events: [stepEvent(operation, phase)] };
    });
  }

  private changes(before: Desired, phase: Phase, head: Accepted): boolean {
    if (phase === 'settled') return true;
    const after = desiredIn(before, phase, head);
    if (isFabricPhase(phase)) return after.fabric !== before.fabric;
    return after.waiting_for.length > 0;
  }

  private tellNodes(): void {
    for (const [node, spec] of Object.entries(this.state.desired.nodes)) this.fleet.setDesired(node, spec);
  }

  private async awaitNodes(head: Accepted): Promise<'reached' | 'superseded' | 'closed'> {
    const began = Date.now();
    let deadline = began + this.config.timing.stepTimeoutMs;
    let progress = '';
    while (!this.closed) {
      const waiting = this.state.desired.waiting_for.filter((node) => this.exists(node) && !this.hasReached(node));
      if (waiting.length === 0) return 'reached';
      const operation = this.current(head);
      if (operation.state === 'FAILED_TEMP' && this.state.queue.length > 1) return 'superseded';
      const settled = Date.now() - began >= FAILURE_GRACE_MS;
      const failed = settled ? waiting.flatMap((node) => this.failureOf(node) ?? []) : [];
      const loaded = waiting.map((node) => this.loadedBytes(node)).join();
      if (loaded !== progress) deadline = Date.now() + this.config.timing.stepTimeoutMs;
      progress = loaded;
      const late = Date.now() >= deadline;
      if (failed.length > 0 || late) {
        const detail = (failed.length > 0 ? failed : waiting.map((node) => this.lag(node))).join('; ');
        await this.report(head, detail);
        deadline = Number.POSITIVE_INFINITY;
      }
      await this.signal.wait(Math.min(Math.max(deadline - Date.now(), 1), FAILURE_GRACE_MS));
    }
    return 'closed';
  }

  private async applyFabric(head: Accepted): Promise<'reached' | 'superseded' | 'closed'> {
    while (!this.closed) {
      try {
        const steers = this.state.desired.phase === 'steer';
        if (steers) await this.migration.copy(head.plan, 'before');
        await this.fabric.apply(this.state.desired.fabric);
        if (steers) await this.migration.copy(head.plan, 'after');
        return 'reached';
      } catch (error) {
        await this.report(head, `fabric: ${(error as Error).message}`);
        if (this.state.queue.length > 1) return 'superseded';
        await this.signal.wait(RETRY_MS);
      }
    }
    return 'closed';
  }

  /** Makes the operation FAILED_TEMP, or tells a new reason. */
  private report(head: Accepted, detail: string): Promise<void> {
    return this.state.commit(() => {
      const before = this.current(head);
      if (before.state === 'FAILED_TEMP' && before.error?.detail === detail) return null;
      const operation = stuck(before, detail, Date.now());
      const event: EventDraft = {
        type: 'operation.waiting',
        severity: 'warning',
        subject: operation.id,
        message: `The operation waits: ${detail}`,
        data: { pipeline_id: operation.subject },
      };
      return { operation, events: [event] };
    });
  }

  private async complete(head: Accepted): Promise<void> {
    await this.state.commit(() => {
      const now = Date.now();
      const operation = ended(this.current(head), 'COMPLETED', null, now);
      const { entries, events } = this.settledDeployments(head, operation, now);
      const message = `${OPERATION_NOUN[operation.kind]} took ${now - operation.started_ms} ms`;
      events.push({
        type: 'operation.completed',
        subject: operation.id,
        message,
        actor: operation.by,
        data: { pipeline_id: operation.subject, plan_id: operation.plan_id },
      });
      return { operation, over: operation.id, deployments: entries, events };
    });
  }

  /** Entries of operations that still wait are theirs; those of this one, and of any that was given up, are settled. */
  private settledDeployments(head: Accepted, operation: Operation, now: number) {
    const entries = new Map<string, Deployment | null>();
    const events: EventDraft[] = [];
    const planned = new Set(head.plan.pipelines.map(({ pipeline_id }) => pipeline_id));
    const waiting = new Set(this.state.queue.map((accepted) => accepted.operation.id));
    waiting.delete(operation.id);
    for (const deployment of this.state.deployments()) {
      const id = deployment.pipeline_id;
      if (waiting.has(deployment.operation_id)) continue;
      if (!planned.has(id)) {
        entries.set(id, null);
        events.push({ type: 'deployment.removed', subject: id, message: `${id} was taken down`, actor: operation.by });
      } else if (deployment.state === 'deploying' || deployment.state === 'undeploying') {
        entries.set(id, { ...deployment, plan_id: head.plan.id, state: 'running', since_ms: now });
        events.push({
          type: 'deployment.running',
          subject: id,
          message: `Version ${deployment.version} runs`,
          actor: operation.by,
          data: { version: deployment.version, plan_id: head.plan.id },
        });
      } else {
        entries.set(id, { ...deployment, plan_id: head.plan.id });
      }
    }
    return { entries, events };
  }

  /** A newer operation takes the place of one that cannot come about. */
  private giveUp(head: Accepted): Promise<void> {
    return this.state.commit((): DesiredChange => {
      const before = this.current(head);
      const detail = `${before.error?.detail ?? 'not finished'} (another operation took its place)`;
      const operation = ended(before, 'FAILED', detail, Date.now());
      const event: EventDraft = {
        type: 'operation.failed',
        severity: 'error',
        subject: operation.id,
        message: detail,
        data: { pipeline_id: operation.subject },
      };
      return { operation, over: operation.id, events: [event] };
    });
  }

  /** After a restart the fabric may have been lost with the twin. */
  private async restoreFabric(): Promise<void> {
    const { fabric } = this.state.desired;
    while (!this.closed && fabric.generation > 0 && this.state.desired.fabric === fabric) {
      try {
        return await this.fabric.apply(fabric);
      } catch (error) {
        this.log.debug({ error: (error as Error).message }, 'the fabric is not restored yet');
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
      }
    }
  }

  private current(head: Accepted): Operation {
    return this.state.operation(head.operation.id) ?? head.operation;
  }

  /** Emulated servers are not there when the twin is off. */
  private exists(node: string): boolean {
    if (!this.fleet.status(node)) return false;
    return this.twin.enabled || this.fleet.originOf(node) !== 'twin';
  }

  private hasReached(node: string): boolean {
    const observed = this.fleet.observed(node);
    const wanted = this.state.desired.nodes[node]?.generation;
    return this.fleet.isConnected(node) && observed?.generation === wanted && observed?.state === 'converged';
  }

  private failureOf(node: string): string | null {
    const observed = this.fleet.observed(node);
    return this.fleet.isConnected(node) && observed?.state === 'failed'
      ? `${node}: ${observed.error ?? 'failed'}`
      : null;
  }

  /** A bitstream takes seconds; nobody waits for it in vain as long as it comes. */
  private loadedBytes(node: string): number {
    if (!this.fleet.isConnected(node)) return 0;
    const slots = this.fleet.observed(node)?.boards.flatMap((board) => board.slots) ?? [];
    return slots.reduce((sum, { load }) => sum + (load?.bytes ?? 0), 0);
  }

  private lag(node: string): string {
    if (!this.fleet.isConnected(node)) return `${node}: its agent is not connected`;
    const observed = this.fleet.observed(node);
    return `${node}: is at generation ${observed?.generation ?? 0} of ${this.state.desired.nodes[node]?.generation}`;
  }
}

/** Desired state in a phase, derived from what nodes and fabric were last told. */
function desiredIn(before: Desired, phase: Phase, { plan, operation }: Accepted): Desired {
  const generation = before.generation + 1;
  const base: Desired = {
    ...before,
    operation_id: operation.id,
    plan_id: plan.id,
    phase,
    generation,
    waiting_for: [],
  };
  if (isFabricPhase(phase)) {
    const fabric = fabricIn(phase, before.fabric, plan.fabric);
    return { ...base, fabric: numbered(before.fabric, fabric, generation) };
  }
  if (phase === 'settled') return { ...base, generation: before.generation };
  const nodes = Object.fromEntries(
    Object.entries(nodesIn(phase, before.nodes, plan.nodes, new Set(plan.abandoned))).map(([name, spec]) => [
      name,
      numbered(before.nodes[name], spec, generation),
    ]),
  );
  const waiting = Object.entries(nodes).filter(([name, spec]) => {
    const old = before.nodes[name];
    return spec !== old && !(isEmptyNode(spec) && (!old || isEmptyNode(old)));
  });
  return { ...base, nodes, waiting_for: waiting.map(([name]) => name) };
}

/** What changed gets the generation; the rest keeps its own. */
function numbered<S extends NodeSpec | FabricSpec>(before: S | undefined, next: S, generation: number): S {
  return next === before ? next : { ...next, generation };
}

function stepEvent(operation: Operation, phase: Phase): EventDraft {
  const titles: Record<Phase, string> = {
    prepare: 'Nodes get what is new',
    steer: 'The fabric leads traffic to it',
    switch: 'Instances that stay change over',
    clean: 'Nodes drop what is not needed',
    settle: 'The fabric drops old hops',
    settled: 'Everything is as planned',
  };
  return {
    type: 'operation.step',
    subject: operation.id,
    message: titles[phase],
    actor: operation.by,
    data: { phase, pipeline_id: operation.subject },
  };
}
