import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import {
  type HandoverProgress,
  Id,
  type KeptFlowKey,
  type Operation,
  type Plan,
  SplitReading,
  type StagedSplit,
} from '@orrery/contract';
import { z } from 'zod';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { newId } from '../../platform/ids.js';
import { conflict, notFound, ProblemError } from '../../platform/problem.js';
import { KEYS } from '../../platform/redis-keys.js';
import { DEPLOYER, type Deployer } from '../../ports/deployer.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { FABRIC_VIEW, type FabricView } from '../../ports/fabric-driver.js';
import { chainResource, LEASES, type LeaseBook } from '../../ports/lease-book.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { isOver, OPERATIONS, type OperationLog } from '../../ports/operation-log.js';
import type { SplitHandovers } from '../../ports/split-handovers.js';
import { SWITCH_FLEET, type SwitchFleet } from '../../ports/switch-fleet.js';
import { classRulesOf, handedOver, revisionOf, type SplitAtServers, splitsAtServers } from './staged-splits.js';

const PERIOD_MS = 1000;
/** A switch gets at most as many exceptions for a split. */
const FEW_EXCEPTIONS = 64;
/** Looks, one a second, after which a split stays at the engines. */
export const MOST_LOOKS = 1800;
/** Looks between two attempts that were refused. */
const PAUSE = 30;
/** What is stored of the looks is at most so old. */
const STORED_EVERY = 10;
const MOST_STORED = 4096;
const ACTOR = 'split hand-over';
/** What begins the reason of a change that was refused. */
const REFUSED = 'refused: ';

/** How far a split of a plan is. */
const Handover = z.strictObject({
  id: z.string(),
  chain_id: Id,
  node_id: z.string(),
  /** Of what is split: another one begins anew. */
  revision: z.string(),
  /** Part of the ids of its operations. */
  name: Id,
  /** The operation that hands it over, with the exceptions that go with it; null: none is under way. */
  asked: z.strictObject({ operation_id: Id, exceptions: z.int() }).nullable(),
  looks: z.int(),
  /** Operations that did not come about. */
  failed: z.int(),
  /** Why it was not handed over, as it was told last; null: nothing was told. */
  why: z.string().nullable(),
  given_up: z.boolean(),
});
type Handover = z.infer<typeof Handover>;

type Asking = Pick<LoopRun, 'step' | 'signal'>;

/** Hands splits of first NFs over to the switches once few flows are left that stay elsewhere (E2 3.4.4). */
@Injectable()
export class SplitHandover implements SplitHandovers, OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  private readonly stored: DurableCollection<Handover>;
  /** The latest of those that are stored now and then. */
  private readonly latest = new Map<string, Handover>();
  /** The split that was looked at last: one whose engine does not answer is not always the first. */
  private lookedAt = '';

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(DEPLOYER) private readonly deployer: Deployer,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(OPERATIONS) private readonly operations: OperationLog,
    @Inject(LEASES) private readonly leases: LeaseBook,
    @Inject(FABRIC_VIEW) private readonly fabric: FabricView,
    @Inject(SWITCH_FLEET) private readonly switches: SwitchFleet,
  ) {
    this.stored = collections.open({
      key: KEYS.splitHandovers,
      noun: 'hand-over of a split',
      schema: Handover,
      version: 2,
      migrate: (value) => anew(value as Record<string, unknown>),
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

  progressOf(chainId: string, nodeId: string): HandoverProgress | null {
    const id = `${chainId}/${nodeId}`;
    const known = this.latest.get(id) ?? this.stored.find(id);
    return known ? progressOf(known) : null;
  }

  async exceptionsOf(
    chainId: string,
    nodeId: string,
    signal: AbortSignal,
  ): Promise<StagedSplit['exceptions'] | string> {
    const { plan } = this.view;
    const split = plan && splitsAtServers(plan).find(({ id }) => id === `${chainId}/${nodeId}`);
    if (!plan || !split || !this.isStill(plan)) return 'something is being changed';
    const asking: Asking = { signal, step: (work) => work };
    const { readings, why } = await this.readingsOf(split, asking);
    if (why !== null) return why;
    const kept = await this.keptBySwitches(split, plan, asking);
    if (typeof kept === 'string') return kept;
    const wanted = handedOver(split, readings, kept, plan.graph);
    return typeof wanted === 'string' ? wanted : wanted.staged.exceptions;
  }

  /** Tries one again that was given up. Throws 404 and 409. */
  async retry(chainId: string, nodeId: string): Promise<HandoverProgress> {
    const id = `${chainId}/${nodeId}`;
    const again = await this.collections.commit((batch) => {
      const known = this.latest.get(id) ?? this.stored.find(id);
      if (!known) throw notFound('hand-over of the split of NF', nodeId);
      if (!known.given_up) throw conflict('It was not given up: it goes on by itself.');
      const next: Handover = { ...known, looks: 0, why: null, given_up: false };
      batch.put(this.stored, next);
      batch.onStored(() => this.latest.delete(id));
      return next;
    });
    this.loop.wake();
    return progressOf(again);
  }

  private async look(run: LoopRun): Promise<undefined> {
    const { plan } = this.view;
    const splits = plan ? splitsAtServers(plan) : [];
    const ids = new Set(splits.map(({ id }) => id));
    for (const { id } of this.stored.all()) if (!ids.has(id)) await this.end(id, run);
    // While something changes, what is there is not what was planned.
    for (const split of afterId(splits, this.lookedAt)) {
      if (!plan || !this.isStill(plan)) return;
      this.lookedAt = split.id;
      await this.lookAt(split, plan, run);
    }
  }

  /** Whether the plan is in force and nothing is about to change that. */
  private isStill({ id }: Plan): boolean {
    const { plan, comingPlan } = this.view;
    const isChanging = this.deployer.underWay().some(({ set_aside }) => set_aside === null);
    return plan?.id === id && comingPlan?.id === id && !isChanging;
  }

  /** The engines do not have it any more: handed over, or ended otherwise. */
  private async end(id: string, { step }: LoopRun): Promise<void> {
    const known = this.latest.get(id) ?? this.stored.get(id);
    const { chain_id, node_id } = known;
    // A server that died may have asked for it without having stored that.
    const operation_id = known.asked?.operation_id ?? operationOf(known);
    const operation = await step(this.operations.get(operation_id));
    if (operation && !isOver(operation)) return;
    const done = operation && ['COMPLETED', 'PARTIALLY_COMPLETED'].includes(operation.state) ? operation : null;
    await step(
      this.collections.commit((batch) => {
        batch.remove(this.stored, id);
        batch.onStored(() => this.latest.delete(id));
        if (done === null) return;
        const exceptions = exceptionsIn(done, known);
        const data = { chain_id, node_id, exceptions, operation_id };
        const left =
          exceptions === 1
            ? '1 flow kept elsewhere until it ends'
            : `${exceptions} flows kept elsewhere until they end`;
        const message = `The switch has taken over the split of ${node_id}, with ${left}`;
        batch.also((transaction) =>
          this.events.appendIn(transaction, {
            ...{ type: 'split.handed-over', subject: chain_id, message, actor: ACTOR, data },
          }),
        );
      }),
    );
  }

  private async lookAt(split: SplitAtServers, plan: Plan, run: LoopRun): Promise<void> {
    const { chain, asked, id, instances } = split;
    const about = { chain_id: chain.chain_id, node_id: asked.node_id };
    const known = this.latest.get(id) ?? this.stored.find(id);
    const revision = revisionOf(split);
    const isNew = known?.revision !== revision;
    const name = newId('sh');
    const blank = { id, ...about, revision, name, asked: null, looks: 0, failed: 0, why: null, given_up: false };
    const before: Handover = isNew ? blank : known;
    if (before.given_up) return;
    if (isNew) {
      const message = `${asked.node_id} is split at the server of its old instance; flows in progress stay there`;
      await run.step(
        this.collections.commit((batch) => {
          batch.put(this.stored, before);
          batch.onStored(() => this.latest.delete(id));
          batch.also((transaction) =>
            this.events.appendIn(transaction, {
              ...{ type: 'split.staged', subject: about.chain_id, message, data: { ...about, instances } },
            }),
          );
        }),
      );
    }
    const now = { ...before, looks: before.looks + 1 };
    const { total, why, ...more } = await this.attempt(split, plan, now, run);
    const isLast = why !== null && now.looks >= MOST_LOOKS;
    const after: Handover = { ...now, ...more, why: why ?? now.why, given_up: isLast };
    const isTold = why !== null && (why !== before.why || isLast);
    const isStored = isTold || after.asked !== before.asked || after.failed !== before.failed;
    if (!isStored && after.looks % STORED_EVERY !== 0) {
      this.latest.set(id, after);
      return;
    }
    const message = isLast
      ? `The split of ${asked.node_id} stays at the engine: ${why.replace(REFUSED, '')}`
      : `The hand-over of the split of ${asked.node_id} ${why?.startsWith(REFUSED) ? 'was ' : 'waits: '}${why}`;
    const data = { ...about, exceptions: total, given_up: isLast };
    const event = { type: 'split.handover-waits', subject: about.chain_id, message, data } as const;
    await run.step(
      this.collections.commit((batch) => {
        batch.put(this.stored, after);
        if (isTold) batch.also((transaction) => this.events.appendIn(transaction, event));
        // What could not be stored is looked at anew.
        batch.onStored(() => this.latest.set(id, after));
      }),
    );
  }

  /** `why`: it is not handed over; null: it is, or nothing new is known. */
  private async attempt(
    split: SplitAtServers,
    plan: Plan,
    { looks, failed, name, why: told, asked: before }: Handover,
    run: LoopRun,
  ): Promise<{ total: number | null; why: string | null } & Partial<Pick<Handover, 'failed' | 'asked'>>> {
    const { chain, asked } = split;
    const { step, decide } = run;
    // The engines still have the split.
    if (before !== null) {
      const operation = await step(this.operations.get(before.operation_id));
      if (operation && !isOver(operation))
        return { total: before.exceptions, why: `operation ${before.operation_id} is set aside` };
      const why = `${REFUSED}operation ${before.operation_id} did not complete`;
      return { total: before.exceptions, why, failed: failed + 1, asked: null };
    }
    const { readings, total, why: many } = await this.readingsOf(split, run);
    if (many !== null) return { total, why: many };
    // A refusal holds for some time.
    if (looks % PAUSE !== 1 && told?.startsWith(REFUSED)) return { total, why: null };
    const { chain_id } = chain;
    const lease = this.leases.conflictOf({ claim: 'change', holder: name, resources: [chainResource(chain_id)] });
    if (lease) return { total, why: `the ${lease.purpose} ${lease.holder} is under way` };
    const kept = await this.keptBySwitches(split, plan, run);
    if (typeof kept === 'string') return { total, why: kept };
    const wanted = handedOver(split, readings, kept, plan.graph);
    if (typeof wanted === 'string') return { total, why: wanted };
    // The engines took their time to answer.
    if (!this.isStill(plan)) return { total, why: null };
    const version = this.view.deployment(chain_id)?.version ?? chain.version;
    const change = { chains: [{ chain_id, version, splits: [wanted] }] };
    const operation = { id: operationOf({ name, failed }), kind: 'deploy', by: ACTOR, as_planned: true } as const;
    const refusal = (made: Plan) => (made.base_plan === plan.id ? null : 'something else was deployed meanwhile');
    try {
      const accepted = await step(this.deployer.change(change, operation, refusal));
      const inputs = { exceptions: total, chain: chain_id };
      decide({
        subject: asked.node_id,
        what: 'Hand over to the switch',
        why: 'few flows stay elsewhere',
        inputs,
        told: true,
      });
      return { total, why: null, asked: { operation_id: accepted.id, exceptions: wanted.staged.exceptions.length } };
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      return { total, why: refusedBy(error) };
    }
  }

  /** What the engines tell of the split; `why`: too little, or of too many flows. `total`: flows that stay elsewhere, if all told. */
  private async readingsOf(
    { nodes }: SplitAtServers,
    { step, signal }: Asking,
  ): Promise<{ readings: Map<string, SplitReading>; total: number | null; why: string | null }> {
    const readings = new Map<string, SplitReading>();
    for (const node of nodes) {
      const answer = this.fleet.call(node.server, 'read_split', node.id, { limit: FEW_EXCEPTIONS + 1 }, signal);
      const reading = await step(answer.then((it) => SplitReading.parse(it))).catch((error: Error) => error.message);
      if (typeof reading === 'string')
        return { readings, total: null, why: `${node.server} does not tell its flows: ${reading}` };
      readings.set(node.id, reading);
    }
    const all = [...readings.values()];
    const total = all.reduce((sum, it) => sum + it.total, 0);
    const listed = all.reduce((sum, it) => sum + it.exceptions.length, 0);
    if (total > FEW_EXCEPTIONS)
      return { readings, total, why: `more than ${FEW_EXCEPTIONS} flows stay elsewhere than their ranges say` };
    const why = listed < total ? 'some of the flows that stay elsewhere are none that a switch tells apart' : null;
    return { readings, total, why };
  }

  /** Of the exceptions of an earlier hand-over those that have not ended. Or why that is not known. */
  private async keptBySwitches(
    { staged, nodes }: SplitAtServers,
    plan: Plan,
    { step, signal }: Asking,
  ): Promise<KeptFlowKey[] | string> {
    if (staged.exceptions.length === 0) return [];
    const all: KeptFlowKey[] = [];
    for (const [id, splits] of this.fabric.withExceptions(classRulesOf(nodes, plan)))
      for (const number of splits) {
        const answer = step(this.switches.kept(id, number, signal));
        const kept = await answer.catch((error: Error) => error.message);
        if (typeof kept === 'string') return `${id} does not tell which flows it keeps: ${kept}`;
        all.push(...kept);
      }
    return all;
  }
}

/** All, those after the one with that id first. */
function afterId<Item extends { readonly id: string }>(items: readonly Item[], id: string): Item[] {
  const next = items.findIndex((item) => item.id === id) + 1;
  return [...items.slice(next), ...items.slice(0, next)];
}

function progressOf({ looks, why, given_up }: Handover): HandoverProgress {
  return { looks, why, given_up };
}

/** Id of the next operation that hands it over: the same after a restart. */
function operationOf({ name, failed }: Pick<Handover, 'name' | 'failed'>): string {
  return `${name}.${failed}`;
}

/** Without a full stop. What runs has all the abilities that it needs: a switch lacks that of taking over a split. */
function refusedBy({ message, errors }: ProblemError): string {
  const isUnable = errors.length > 0 && errors.every(({ code }) => code === 'switch-ability');
  return isUnable
    ? `${REFUSED}its switches cannot take over a split, as Open vSwitch cannot, so it stays at the engines`
    : `${REFUSED}${message.replace(/\.+$/, '')}`;
}

/** How many exceptions the switch got by the operation. */
function exceptionsIn({ request }: Operation, { chain_id, node_id }: Handover): number {
  const chain = request.chains.find((it) => it.chain_id === chain_id);
  return chain?.splits?.find((it) => it.node_id === node_id)?.staged?.exceptions.length ?? 0;
}

/** Of the first version: it begins anew. */
function anew({ plan_id: _, ...value }: Record<string, unknown>): unknown {
  return { ...value, revision: '', name: newId('sh'), asked: null };
}
