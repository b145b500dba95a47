import {
  acceleratorNamed,
  type ElementState,
  type EventDraft,
  LendingGroupRequest,
  type LendingTurn,
  type Observed,
  type Plan,
  type SlotRef,
} from '@orrery/contract';
import { LeaseBookService } from '../modules/leases/lease-book.service.js';
import { AcceleratorKinds } from '../modules/lending/accelerator-kinds.js';
import { ByElementManager } from '../modules/lending/by-element-manager.js';
import { ByMove } from '../modules/lending/by-move.js';
import { LendingGroups } from '../modules/lending/groups.js';
import { LendingLedgers } from '../modules/lending/ledger.js';
import { LendingRights } from '../modules/lending/lenders.js';
import { LendingLoop } from '../modules/lending/lending-loop.js';
import { LendingView } from '../modules/lending/lending-view.js';
import { LendingMembers } from '../modules/lending/members.js';
import { ControlLoops } from '../platform/control-loop/control-loops.js';
import { type Batch, Collections } from '../platform/durable-collection/collections.js';
import { makeLog } from '../platform/log.js';
import { unavailable } from '../platform/problem.js';
import type { Store, Transaction } from '../platform/redis.js';
import type { BoardView } from '../ports/board-view.js';
import type { DeploymentView } from '../ports/deployment-view.js';
import type { NfDescriptors } from '../ports/descriptor-catalogue.js';
import type { ElementManagers } from '../ports/element-managers.js';
import type { EventLog } from '../ports/event-log.js';
import type { Exclusions } from '../ports/exclusions.js';
import type { InfrastructureStore } from '../ports/infrastructure-store.js';
import type { NfLoads } from '../ports/nf-loads.js';
import { LostReply, type NodeFleet } from '../ports/node-fleet.js';
import { FakeClock, settle } from './fake-clock.js';
import { FakeMoves } from './fake-moves.js';

export const TICK_MS = 500;
/** With two slots. */
const BOARD = {
  id: 'board-1',
  origin: 'twin',
  server: 'server-1',
  slots: 2,
  resources: { lut: 1000 },
  attached: 'server',
};
const TUNNEL = {
  id: 'crypto-tunnel',
  acceleration: {},
  implementations: [{ kind: 'board', resources: { lut: 500 } }],
};
const log = makeLog('silent');

/** What becomes of a call: done and answered, done without an answer, done later without one, neither, or refused. */
export type Outcome = 'done' | 'done-unanswered' | 'late' | 'lost' | 'refused';

/** An instance with an element manager; usage in software and accelerated, of a whole core. */
export class FakeVnf {
  accelerated = false;
  /** When it was last switched; null: not since it started. */
  switched_ms: number | null = null;
  /** Its agent runs it; its element manager says nothing while it does not. */
  runs = true;
  /** Calls of its element manager never end. */
  hangs = false;
  software: number | null = 0.99;
  hardware: number | null = 0.845;
  bps: number | null = null;
  cpu_limit: number | null = null;
  /** Name of the slot in which it runs; null: on its server. */
  slot: string | null = null;

  constructor(
    readonly id: string,
    readonly server: string,
  ) {}

  get chain_id(): string {
    return this.id.split('.')[0]!;
  }

  get state(): ElementState {
    const cpu_share = this.accelerated ? this.hardware : this.software;
    const { id, accelerated, cpu_limit, bps, switched_ms } = this;
    return { instance_id: id, accelerated, kinds: ['instructions'], cpu_share, cpu_limit, bps, switched_ms };
  }
}

/** Agents that outlive the server: an accelerator is used by whoever was last told to use it. */
export class FakeAgents implements ElementManagers {
  readonly vnfs = new Map<string, FakeVnf>();
  readonly away = new Set<string>();
  readonly moves = new FakeMoves(this.vnfs);
  /** Whether the board and its slots work. */
  isBoardUp = true;
  readonly calls: string[] = [];
  /** Of the next calls, in order; `done` after those. */
  readonly outcomes: Outcome[] = [];
  /** How many calls never end. */
  hanging = 0;
  /** Called before each call is done. */
  onCall: (vnf: FakeVnf) => void = () => undefined;
  /** Accelerators that two VNFs used at the same time. */
  readonly shared: string[] = [];
  /** What agents have been asked for and not done yet; done before anything that they are asked for later. */
  private readonly late: (() => void)[] = [];

  add(...vnfs: FakeVnf[]): void {
    for (const vnf of vnfs) this.vnfs.set(vnf.id, vnf);
  }

  all(): ElementState[] {
    const there = [...this.vnfs.values()].filter(({ server, runs, slot }) => runs && !slot && !this.away.has(server));
    return there.map(({ state }) => state);
  }

  state(id: string): ElementState | null {
    return this.all().find(({ instance_id }) => instance_id === id) ?? null;
  }

  softwareSince(id: string): number | null {
    const state = this.state(id);
    return state && !state.accelerated ? state.switched_ms : null;
  }

  accelerate(id: string, signal?: AbortSignal): Promise<ElementState> {
    return this.switchTo(id, true, signal);
  }

  release(id: string, signal?: AbortSignal): Promise<ElementState> {
    return this.switchTo(id, false, signal);
  }

  /** What agents report of a server. */
  observed(server: string): Observed {
    const instances = [...this.vnfs.values()]
      .filter((vnf) => vnf.server === server)
      .map(({ id, runs, state: element }) => ({
        id,
        state: runs ? 'running' : 'failed',
        ...(runs ? { element } : {}),
      }));
    return { instances } as unknown as Observed;
  }

  onChange(): void {}

  get accelerated(): string[] {
    return [...this.vnfs.values()].filter(({ accelerated }) => accelerated).map(({ id }) => id);
  }

  catchUp(): void {
    for (const act of this.late.splice(0)) act();
  }

  private async never(signal?: AbortSignal): Promise<void> {
    this.hanging++;
    await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))).finally(
      () => this.hanging--,
    );
  }

  private use(vnf: FakeVnf, accelerated: boolean): void {
    vnf.accelerated = accelerated;
    vnf.switched_ms = Date.now();
    const users = [...this.vnfs.values()].filter((it) => it.server === vnf.server && it.runs && it.accelerated);
    if (users.length > 1) this.shared.push(vnf.server);
  }

  private async switchTo(id: string, accelerated: boolean, signal?: AbortSignal): Promise<ElementState> {
    const vnf = this.vnfs.get(id);
    this.calls.push(`${id} ${accelerated ? 'accelerate' : 'release'}`);
    if (!vnf || this.away.has(vnf.server)) throw unavailable('its agent is away');
    this.onCall(vnf);
    if (vnf.hangs) await this.never(signal);
    this.catchUp();
    const outcome = this.outcomes.shift() ?? 'done';
    if (outcome === 'refused') throw unavailable('refused');
    if (outcome === 'late') this.late.push(() => this.use(vnf, accelerated));
    else if (outcome !== 'lost') this.use(vnf, accelerated);
    if (outcome !== 'done') throw new LostReply(vnf.server, 'no answer');
    return vnf.state;
  }
}

/** The lending module of one server process on a store, in time that the test lets pass. */
export class LendingBench {
  readonly events: EventDraft[] = [];
  readonly groups: LendingGroups;
  readonly view: LendingView;
  readonly ledgers: LendingLedgers;
  readonly leases: LeaseBookService;
  readonly rights: LendingRights;
  readonly loops: ControlLoops;
  /** Servers in maintenance. */
  readonly outOfService: string[] = [];
  private readonly collections: Collections;
  private readonly clock = new FakeClock();
  private readonly loop: LendingLoop;

  private constructor(
    store: Store,
    readonly agents: FakeAgents,
    /** Lets the monotonic clock pass. */
    private readonly advance: (ms: number) => void,
  ) {
    const collections = new Collections(store, log);
    this.collections = collections;
    const eventLog: EventLog = {
      append: (draft) => void this.events.push(draft),
      appendIn: (_: Transaction, draft) => void this.events.push(draft),
    };
    this.leases = new LeaseBookService(collections);
    this.groups = new LendingGroups(collections, eventLog, this.leases);
    this.ledgers = new LendingLedgers(collections, this.leases, eventLog);
    const boards = {
      accelerators: () => [{ id: BOARD.id, state: agents.isBoardUp ? 'operating' : 'failed' }],
      broken: () => (agents.isBoardUp ? [] : [0, 1].map((slot) => ({ board: BOARD.id, slot }))),
    } as unknown as BoardView;
    const out = { servers: this.outOfService, boards: [], lost_servers: [] };
    const exclusions: Exclusions = { ...out, onChange: () => undefined };
    const infrastructure = { current: { infrastructure: { boards: [BOARD] } } } as unknown as InfrastructureStore;
    this.rights = new LendingRights(this.groups, this.ledgers, this.leases, boards, exclusions, infrastructure);
    const view = {} as DeploymentView;
    for (const name of ['plan', 'comingPlan']) Object.defineProperty(view, name, { get: () => planOf(agents) });
    const isThere = (node: string) => !agents.away.has(node);
    const fleet = {
      originOf: () => 'twin',
      isConnected: isThere,
      hasConnection: isThere,
      hasPlace: () => true,
      boardOf: () => null,
      observed: (node: string) => agents.observed(node),
    } as unknown as NodeFleet;
    const catalogue = { find: () => TUNNEL, all: () => [TUNNEL] } as unknown as NfDescriptors;
    const kinds = new AcceleratorKinds(
      new ByElementManager(agents, view, fleet, exclusions),
      new ByMove(agents.moves.port, view, fleet, infrastructure, boards, exclusions, this.leases),
    );
    const members = new LendingMembers(agents, view, fleet, catalogue, loadsOf(agents), this.ledgers, kinds);
    this.loops = new ControlLoops(log, this.clock);
    this.loop = new LendingLoop(this.loops, this.leases, this.groups, this.ledgers, members);
    this.view = new LendingView(this.groups, this.ledgers, members, this.loop);
  }

  static async start(store: Store, agents: FakeAgents, advance: (ms: number) => void): Promise<LendingBench> {
    const bench = new LendingBench(store, agents, advance);
    await bench.leases.onModuleInit();
    await bench.groups.onModuleInit();
    await bench.ledgers.onModuleInit();
    bench.loop.onApplicationBootstrap();
    await bench.idle();
    return bench;
  }

  stop(): Promise<void> {
    return this.loop.onApplicationShutdown();
  }

  get plan(): Plan {
    return planOf(this.agents);
  }

  commit<T>(change: (batch: Batch) => T): Promise<T> {
    return this.collections.commit(change);
  }

  async addGroup(changes: Partial<LendingGroupRequest> = {}): Promise<string> {
    const accelerators = [{ kind: 'instructions', server: 'server-1' }];
    const request = LendingGroupRequest.parse({ title: 'tunnels', chains: ['ch-1'], accelerators, ...changes });
    const { id } = await this.groups.add(request, 'tests');
    await this.idle();
    return id;
  }

  async change(id: string, changes: Partial<LendingGroupRequest>): Promise<void> {
    const { id: _, ...now } = this.groups.get(id);
    await this.groups.replace(id, { ...now, ...changes } as LendingGroupRequest, null, 'tests');
    await this.idle();
  }

  /** Ticks for some seconds. */
  async pass(seconds: number): Promise<void> {
    for (let n = 0; n < (seconds * 1000) / TICK_MS; n++) {
      this.advance(TICK_MS);
      await this.clock.pass(TICK_MS);
      await this.idle();
    }
  }

  /** Ends when no run is in progress, and no call that ends. */
  async idle(): Promise<void> {
    do await settle();
    while (this.loops.status('lending')!.atWork.length > 0 || this.underWay > this.endless);
  }

  /** What goes on until the test ends it. */
  private get endless(): number {
    return this.agents.hanging + this.agents.moves.underWay;
  }

  private get underWay(): number {
    const ids = new Set([...this.groups.all().map(({ id }) => id), ...this.ledgers.groupIds()]);
    return [...ids].reduce((sum, id) => sum + (this.loop.deskOf(id)?.underWay.length ?? 0), 0);
  }

  turns(id: string): LendingTurn[] {
    return [...this.ledgers.turnsOf(id)].reverse();
  }

  /** `<instance> <why>` of each event of a type. */
  told(type: 'lending.granted' | 'lending.released'): string[] {
    return this.events.flatMap((event) => (event.type === type ? `${event.data.instance} ${event.data.why}` : []));
  }

  holders(): string[] {
    return this.leases.all().map(({ resource }) => resource);
  }
}

function planOf({ vnfs }: FakeAgents): Plan {
  const nodes = [...vnfs.values()].map(({ id, chain_id, server, slot }) => {
    const node = { kind: 'nf', id, chain_id, node_id: id.split('.')[1], nf: 'crypto-tunnel', server, driver: 'engine' };
    if (slot === null) return node;
    const { board, slot: number } = acceleratorNamed(slot) as SlotRef;
    const there = { board, slot: number, load: 'partial', policy: 'hold' };
    return { ...node, id: `${chain_id}.${node.node_id}.${board}-${number}`, driver: 'board', board: there };
  });
  const ids = [...new Set(nodes.map(({ chain_id }) => chain_id))];
  const chains = ids.map((chain_id) => ({ chain_id, definition: { nodes: [], edges: [] } }));
  return { chains, graph: { nodes, edges: [] } } as unknown as Plan;
}

function loadsOf({ vnfs }: FakeAgents): NfLoads {
  return { of: (nf) => [...vnfs.values()].find(({ chain_id }) => chain_id === nf.chain_id)?.bps ?? null };
}
