import { createHash } from 'node:crypto';
import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { Id, SplitReading } from '@orrery/contract';
import { z } from 'zod';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { ProblemError } from '../../platform/problem.js';
import { KEYS } from '../../platform/redis-keys.js';
import { DEPLOYER, type Deployer } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { isOver } from '../../ports/operation-log.js';
import { handedOver, type SplitAtServers, splitsAtServers } from './staged-splits.js';

const PERIOD_MS = 1000;
/** A switch gets at most as many exceptions for a split. */
export const FEW_EXCEPTIONS = 64;
/** Looks, one a second, after which a split stays at the engines. */
export const MOST_LOOKS = 1800;
/** Looks between two attempts that were refused. */
const PAUSE = 30;
/** What is stored of the looks is at most so old. */
const STORED_EVERY = 10;
const MOST_STORED = 4096;

/** How far a split of a plan is. */
const Handover = z.strictObject({
  id: z.string(),
  chain_id: Id,
  node_id: z.string(),
  plan_id: Id,
  looks: z.int(),
  /** Operations that did not come about. */
  failed: z.int(),
  /** Why it was not handed over, as it was told last; null: nothing was told. */
  why: z.string().nullable(),
  given_up: z.boolean(),
});
type Handover = z.infer<typeof Handover>;

/** Hands splits of first NFs over to the switches once few flows are left that stay elsewhere (E2 3.4.4). */
@Injectable()
export class SplitHandover implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  private readonly stored: DurableCollection<Handover>;
  /** The latest of those that are stored now and then. */
  private readonly latest = new Map<string, Handover>();

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(DEPLOYER) private readonly deployer: Deployer,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {
    this.stored = collections.open({
      key: KEYS.splitHandovers,
      noun: 'hand-over of a split',
      schema: Handover,
      version: 1,
      idOf: ({ id }) => id,
      bound: { most: MOST_STORED, policy: 'refuse' },
    });
    this.loop = loops.add({
      id: 'split-handover',
      title: 'Hand-over of splits',
      purpose: 'Hands the split of a first NF over to the switches once few flows are left that stay elsewhere.',
      tickMs: PERIOD_MS,
      backoff: { firstMs: PERIOD_MS, mostMs: 10_000 },
      deadlineMs: 60_000,
      run: (run) => this.look(run),
    });
  }

  onModuleInit(): Promise<void> {
    return this.stored.load();
  }

  onApplicationBootstrap(): void {
    this.loop.wake();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  private async look(run: LoopRun): Promise<undefined> {
    const { plan } = this.view;
    const splits = plan ? splitsAtServers(plan) : [];
    const ids = new Set(splits.map(({ id }) => id));
    const gone = this.stored.all().filter(({ id }) => !ids.has(id));
    for (const { id } of gone) this.latest.delete(id);
    if (gone.length > 0)
      await run.step(this.collections.commit((batch) => gone.forEach(({ id }) => void batch.remove(this.stored, id))));
    // While something changes, what is there is not what was planned.
    if (plan?.id !== this.view.comingPlan?.id || this.deployer.underWay().length > 0) return;
    for (const split of splits) await this.lookAt(split, run);
  }

  private async lookAt(split: SplitAtServers, run: LoopRun): Promise<void> {
    const { plan } = this.view;
    const { chain, asked, id, instances } = split;
    const about = { chain_id: chain.chain_id, node_id: asked.node_id };
    const known = this.latest.get(id) ?? this.stored.find(id);
    const blank = { id, ...about, plan_id: plan!.id, looks: 0, failed: 0, why: null, given_up: false };
    const before: Handover = known?.plan_id === plan!.id ? known : blank;
    if (before.given_up) return;
    if (!known) {
      const message = `${asked.node_id} is split at the server of its old instance; flows in progress stay there`;
      this.events.append({ type: 'split.staged', subject: about.chain_id, message, data: { ...about, instances } });
    }
    const now = { ...before, looks: before.looks + 1 };
    const { total, why, failed = now.failed } = await this.attempt(split, now, run);
    const isLast = why !== null && now.looks >= MOST_LOOKS;
    const after: Handover = { ...now, failed, why: why ?? now.why, given_up: isLast };
    this.latest.set(id, after);
    if (why !== null && (why !== before.why || isLast)) {
      const message = isLast
        ? `The split of ${asked.node_id} stays at the engine: ${why}`
        : `The hand-over of the split of ${asked.node_id} waits: ${why}`;
      const data = { ...about, exceptions: total, given_up: isLast };
      this.events.append({ type: 'split.handover-waits', subject: about.chain_id, message, data });
    }
    if (!known || isLast || after.why !== before.why || failed !== before.failed || after.looks % STORED_EVERY === 0)
      await run.step(this.collections.commit((batch) => batch.put(this.stored, after)));
  }

  /** `why`: it is not handed over; null: it is, or nothing new is known. */
  private async attempt(
    split: SplitAtServers,
    { looks, failed, why: told }: Handover,
    { step, decide, signal }: LoopRun,
  ): Promise<{ total: number | null; why: string | null; failed?: number }> {
    const { plan } = this.view;
    const { chain, asked, nodes, id } = split;
    const readings = new Map<string, SplitReading>();
    for (const node of nodes) {
      const answer = this.fleet.call(node.server, 'read_split', node.id, { limit: FEW_EXCEPTIONS + 1 }, signal);
      const reading = await step(answer.then((it) => SplitReading.parse(it))).catch((error: Error) => error.message);
      if (typeof reading === 'string')
        return { total: null, why: `${node.server} does not tell its flows: ${reading}` };
      readings.set(node.id, reading);
    }
    const all = [...readings.values()];
    const total = all.reduce((sum, it) => sum + it.total, 0);
    const listed = all.reduce((sum, it) => sum + it.exceptions.length, 0);
    if (total > FEW_EXCEPTIONS)
      return { total, why: `more than ${FEW_EXCEPTIONS} flows stay elsewhere than their ranges say` };
    if (listed < total)
      return { total, why: 'some of the flows that stay elsewhere are none that a switch tells apart' };
    // A refusal holds for some time.
    if (looks % PAUSE !== 1 && told?.startsWith('refused')) return { total, why: null };
    const { chain_id, version } = chain;
    const change = { chains: [{ chain_id, version, splits: [handedOver(split, readings, plan!.graph)] }] };
    const operation = { id: operationOf(plan!.id, id, failed), kind: 'deploy', by: 'split hand-over' } as const;
    try {
      const accepted = await step(this.deployer.change(change, operation));
      if (isOver(accepted) && accepted.state !== 'COMPLETED')
        return { total, why: `refused: operation ${accepted.id} did not complete`, failed: failed + 1 };
      const inputs = { exceptions: total, chain: chain_id };
      decide({
        subject: asked.node_id,
        what: 'Hand over to the switch',
        why: 'few flows stay elsewhere',
        inputs,
        told: true,
      });
      this.events.append({
        type: 'split.handed-over',
        subject: chain_id,
        message: `The switch takes over the split of ${asked.node_id}, with ${total} flows that stay elsewhere until they end`,
        actor: operation.by,
        data: { chain_id, node_id: asked.node_id, exceptions: total, operation_id: accepted.id },
      });
      return { total, why: null };
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      return { total, why: `refused: ${error.message}` };
    }
  }
}

/** The same for the same plan and attempt, so that a restart asks for it once. */
function operationOf(planId: string, split: string, failed: number): string {
  return `op-${createHash('sha256').update(`${planId} ${split} ${failed}`).digest('hex').slice(0, 16)}`;
}
