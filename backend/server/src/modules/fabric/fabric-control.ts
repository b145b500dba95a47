import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import type {
  FabricRule,
  FabricSpec,
  FieldError,
  Infrastructure,
  NfInstance,
  SwitchInstance,
  SwitchNode,
  SwitchSpec,
} from '@orrery/contract';
import { type AbilitiesOf, heldRoom, losesWays, sameContent } from '@orrery/planner';
import { CONFIG, type Config } from '../../platform/config.js';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { Mutex } from '../../platform/mutex.js';
import { Pace } from '../../platform/pace.js';
import { conflict } from '../../platform/problem.js';
import { STORE, type Store } from '../../platform/redis.js';
import {
  type FabricDriver,
  type FabricView,
  type FabricWait,
  type RuleChange,
  SwitchesAway,
  type SwitchTrouble,
  TIMEOUTS_OF_A_DRIVER,
} from '../../ports/fabric-driver.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { LINK_STATES, type LinkStates } from '../../ports/link-states.js';
import { abilitiesOf, SWITCH_FLEET, type SwitchFleet } from '../../ports/switch-fleet.js';
import { SWITCH_PROGRAMS, type SwitchPrograms } from '../../ports/switch-programs.js';
import { TWIN, type TwinView } from '../../ports/twin-view.js';
import { carriersOf } from './carriers.js';
import { FabricStore, NO_FABRIC, type StoredFabric } from './fabric-store.js';
import { lowerInPieces } from './lower-in-pieces.js';
import { ownProgramSpecs } from './own-program-specs.js';
import { RebuiltSwitches } from './rebuilt-switches.js';

const BACKOFF = { firstMs: 1000, mostMs: 1000 };
const DEADLINE_MS = 30_000;
/** A failure reported this soon after a new specification may still refer to the old one. */
const FAILURE_GRACE_MS = 500;

/**
 * Sends every switch its entries: the rules that were last applied, lowered to the abilities of the switch, and forwarding
 * between hosts. Entries are stored before they are sent, and lowered again when infrastructure, links or abilities change.
 */
@Injectable()
export class FabricControl
  implements FabricDriver, FabricView, OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown
{
  private readonly store: FabricStore;
  private readonly lowering = new Mutex();
  private readonly listeners = new Set<() => void>();
  private told: StoredFabric = NO_FABRIC;
  /** Why the switches cannot implement the applied rules, one sentence each. */
  private faults: readonly string[] = [];
  /** Those that keep the switches from being told the rules: a table that is too full already may be emptied. */
  private obstacles: readonly string[] = [];
  /** Chains with entries at each switch. */
  private chains = { of: NO_FABRIC, at: chainsAt(NO_FABRIC) };
  private abilities = '';
  private readonly rebuilt: RebuiltSwitches;
  private readonly loop: ControlLoop;

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(STORE) store: Store,
    @Inject(SWITCH_FLEET) private readonly fleet: SwitchFleet,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(TWIN) private readonly twin: TwinView,
    @Inject(SWITCH_PROGRAMS) private readonly programs: SwitchPrograms,
    @Inject(LINK_STATES) private readonly links: LinkStates,
  ) {
    this.store = new FabricStore(store);
    this.rebuilt = new RebuiltSwitches(fleet, infrastructure, twin);
    this.loop = loops.add({
      id: 'fabric',
      title: 'Switch entries',
      purpose:
        'Lowers the rules again when the infrastructure, a link between switches or the abilities of a switch change, and tells the switches.',
      tickMs: null,
      backoff: BACKOFF,
      deadlineMs: DEADLINE_MS,
      run: (run) => this.lowerAgain(run),
    });
  }

  async onModuleInit(): Promise<void> {
    this.told = await this.store.read();
  }

  onApplicationBootstrap(): void {
    for (const each of Object.entries(this.told.switches)) this.tellSwitch(each);
    this.rebuilt.follow();
    this.infrastructure.onChange(() => {
      this.rebuilt.follow();
      this.loop.wake();
      this.changed();
    });
    this.twin.onChange(() => {
      if (this.rebuilt.isAny) this.changed();
    });
    this.programs.onChange(() => this.loop.wake());
    this.links.onChange(() => this.loop.wake());
    this.infrastructure.checkBy(async (next) => this.programsInTheWay(next));
    this.fleet.onChange(() => {
      const abilities = JSON.stringify([...this.abilitiesOf()]);
      if (abilities !== this.abilities) this.loop.wake();
      this.changed();
    });
    this.loop.wake();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  withExceptions(rules: ReadonlySet<string>): ReadonlyMap<string, readonly number[]> {
    const told = Object.entries(this.told.switches).map(([id, { exceptions = [] }]) => {
      const splits = exceptions.flatMap(({ rule_id, split }) => (rules.has(rule_id) ? [split] : []));
      return [id, [...new Set(splits)]] as const;
    });
    return new Map(told.filter(([, splits]) => splits.length > 0));
  }

  troublesOf(chainId: string): readonly SwitchTrouble[] {
    const limitMs = TIMEOUTS_OF_A_DRIVER * this.config.timing.stepTimeoutMs;
    const switches = this.switches().flatMap((node): SwitchTrouble[] => {
      const what = this.carries(node.id, chainId) ? (this.troubleOf(node) ?? this.lackOfEntries(node)) : null;
      return what === null ? [] : [{ what, rebuilt: this.rebuilt.isWithin(node, limitMs) ? node.id : null }];
    });
    return [...this.faults.map((what) => ({ what, rebuilt: null })), ...switches];
  }

  nfState({ id, switch: at }: Pick<SwitchInstance, 'id' | 'switch'>): Pick<NfInstance, 'state' | 'detail'> {
    const node = this.switches().find((one) => one.id === at);
    if (!node || !this.fleet.isConnected(at)) return { state: 'unknown', detail: 'its agent is not connected' };
    const isTold = this.told.switches[at]?.entries.some(({ nf }) => nf?.instance_id === id) ?? false;
    if (!isTold) return { state: 'pending', detail: `${at} has not been told of it yet` };
    if (this.hasReached(node)) return { state: 'running', detail: null };
    return { state: this.failureOf(node) === null ? 'starting' : 'failed', detail: this.lag(node) };
  }

  /** The rules that were last applied. */
  get rules(): readonly FabricRule[] {
    return this.told.rules.rules;
  }

  /** Everything that a switch must hold; null: nothing planned yet. */
  specOf(id: string): SwitchSpec | null {
    return this.told.switches[id] ?? null;
  }

  lackOf(node: SwitchNode): string | null {
    return this.rebuilt.lack(node);
  }

  onChange(listener: () => void): void {
    this.listeners.add(listener);
  }

  carriersOf(change: RuleChange): ReadonlySet<string> {
    return carriersOf(this.links.routed, this.abilitiesOf(), change);
  }

  async apply(spec: FabricSpec, change: RuleChange, wait: FabricWait): Promise<void> {
    const isOff = this.switches().length < this.infrastructure.current.infrastructure.switches.length;
    if (isOff && spec.rules.length > 0) throw new Error('the twin is off');
    this.rebuilt.resume(wait.rebuilt ?? []);
    await this.lower(spec);
    const began = performance.now();
    const deadline = began + this.config.timing.stepTimeoutMs;
    let lowered = this.told;
    let carriers = this.carriersOf(change);
    for (;;) {
      wait.signal.throwIfAborted();
      if (this.obstacles.length > 0) throw new Error(this.obstacles.join('; '));
      if (lowered !== this.told) carriers = this.carriersOf(change);
      lowered = this.told;
      const waiting = this.switches().filter(
        (node) => (carriers.has(node.id) || wait.rebuilt?.includes(node.id)) && !this.hasReached(node),
      );
      await wait.lagging?.(new Map(waiting.map((node) => [node.id, this.lag(node)])));
      if (!this.isWaiting(waiting, wait, performance.now() - began)) return;
      if (performance.now() >= deadline) throw new Error(this.lags(waiting));
      await this.nextChange(Math.min(FAILURE_GRACE_MS, deadline - performance.now()));
    }
  }

  /** Throws if waiting for all of them makes no sense. */
  private isWaiting(waiting: readonly SwitchNode[], wait: FabricWait, sinceMs: number): boolean {
    const lasting = waiting.filter(({ id }) => !wait.rebuilt?.includes(id));
    const away = lasting.filter(({ id }) => !this.fleet.isConnected(id));
    const failures = sinceMs < FAILURE_GRACE_MS ? [] : lasting.flatMap((node) => this.failureOf(node) ?? []);
    if (wait.for === 'able') return waiting.length > away.length + failures.length;
    if (failures.length > 0) throw new Error(failures.join('; '));
    if (away.length > 0 && away.length === waiting.length) {
      const ids = away.map(({ id }) => id);
      throw new SwitchesAway(ids, this.lags(away));
    }
    return waiting.length > 0;
  }

  /**
   * Keeps the current rules unless others are given. If the switches cannot implement the rules, only those with P4 programs of
   * their own are told anything new.
   */
  private lower(rules?: FabricSpec): Promise<void> {
    return this.lowering.run(async () => {
      const wanted = rules && rules.generation >= this.told.rules.generation ? rules : this.told.rules;
      const abilities = this.abilitiesOf();
      this.abilities = JSON.stringify([...abilities]);
      const infrastructure = this.links.routed;
      const own = ownProgramSpecs(this.infrastructure.current.infrastructure, this.programs);
      const pace = new Pace();
      const { switches, faults } = await lowerInPieces(infrastructure, abilities, wanted.rules, pace);
      const obstacles = faults.length === 0 ? [] : await this.beyondHeld(infrastructure, abilities, wanted, pace);
      this.faults = faults;
      this.obstacles = obstacles;
      const isPossible = this.obstacles.length === 0;
      const fabric = isPossible ? switches : Object.entries(this.told.switches);
      const all = new Map([...fabric, ...own]);
      const next = { rules: isPossible ? wanted : this.told.rules, ...numbered(this.told, all, Date.now()) };
      if (!sameContent(next, this.told)) await this.store.write(next, pace);
      this.told = next;
      for (const each of Object.entries(next.switches)) {
        this.tellSwitch(each);
        await pace.breathe();
      }
      this.changed();
    });
  }

  private async beyondHeld(
    infrastructure: Infrastructure,
    abilities: AbilitiesOf,
    { rules }: FabricSpec,
    pace: Pace,
  ): Promise<readonly string[]> {
    const held = heldRoom(await lowerInPieces(infrastructure, abilities, this.told.rules.rules, pace));
    return (await lowerInPieces(infrastructure, abilities, rules, pace, held)).faults;
  }

  private async lowerAgain({ step, decide }: LoopRun): Promise<undefined> {
    const before = this.told.switches;
    await step(this.lower());
    const subject = 'fabric';
    const { revision } = this.infrastructure.current;
    const inputs = { infrastructure_revision: revision, rules_generation: this.told.rules.generation };
    if (this.obstacles.length > 0)
      decide({ subject, what: 'Keep the entries', why: this.obstacles.join('; '), inputs });
    const changed = Object.keys(this.told.switches).filter(
      (id) => this.told.switches[id]?.generation !== before[id]?.generation,
    );
    if (changed.length === 0) return;
    const { lostSwitches } = this.links;
    const lost = [...lostSwitches].map((id) => `; ${id} does not answer and passes no packets`).join('');
    const avoided = [...this.links.avoided].map(([link, by]) =>
      by.length === 0 ? link : `${link} (told to be down by ${by.join(' and ')})`,
    );
    const around =
      avoided.length === 0 ? '' : `${lost}; packets go around ${avoided.join(', ')} where another way leads`;
    const why = `the infrastructure, a link between switches, the abilities of a switch or the entries of a P4 program changed${around}`;
    decide({ subject, what: `Tell ${changed.join(', ')}`, why, inputs });
  }

  /** Throws 409 where a switch that is to run a program of its own carries a chain. */
  private programsInTheWay(next: Infrastructure): readonly FieldError[] {
    const carried = next.switches.flatMap(({ id, program }, index): FieldError[] => {
      const chains = program === undefined ? [] : this.chainsOf(id, next);
      const detail = `${id} carries ${chains.join(', ')}, which a P4 program of its own does not`;
      return chains.length > 0 ? [{ pointer: `/switches/${index}/program`, detail, code: 'in-use' }] : [];
    });
    if (carried.length > 0) throw conflict('A switch that carries chains cannot run a P4 program of its own.', carried);
    return [];
  }

  /** Every switch has the rules for replies, wherever these come from: they count where other switches need this one. */
  private chainsOf(id: string, next: Infrastructure): string[] {
    const held = new Set(this.told.switches[id]?.entries.map(({ rule_id }) => rule_id));
    const { infrastructure } = this.infrastructure.current;
    const carried = this.rules.filter(
      (rule) => held.has(rule.id) && (rule.kind !== 'return' || losesWays(rule, infrastructure, next)),
    );
    return [...new Set(carried.flatMap(({ chain_id }) => chain_id ?? []))];
  }

  private tellSwitch([id, spec]: [id: string, spec: SwitchSpec]): void {
    const files = spec.program?.hash ? this.programs.filesOf(spec.program.hash) : null;
    this.fleet.setDesiredSwitch(id, spec, files ?? undefined);
  }

  private abilitiesOf() {
    const { switches } = this.infrastructure.current.infrastructure;
    return new Map(
      switches.flatMap((node) => {
        const abilities = abilitiesOf(this.fleet, node);
        return abilities ? [[node.id, abilities] as const] : [];
      }),
    );
  }

  /** Emulated switches do not exist while the twin is off. */
  private switches(): SwitchNode[] {
    const { switches } = this.infrastructure.current.infrastructure;
    return switches.filter(({ origin }) => this.twin.enabled || origin !== 'twin');
  }

  private carries(id: string, chainId: string): boolean {
    if (this.chains.of !== this.told) this.chains = { of: this.told, at: chainsAt(this.told) };
    return this.chains.at.get(id)?.has(chainId) ?? false;
  }

  private hasReached(node: SwitchNode): boolean {
    const observed = this.fleet.observedSwitch(node.id);
    const wanted = this.told.switches[node.id]?.generation;
    const hasReached = this.counts(node) && observed?.state === 'converged' && observed.generation === wanted;
    if (hasReached) this.rebuilt.done(node);
    return hasReached;
  }

  /** Whether what its agent reports is about the switch as it is to be. */
  private counts(node: SwitchNode): boolean {
    return this.fleet.isConnected(node.id) && this.rebuilt.lack(node) === null;
  }

  private failureOf(node: SwitchNode): string | null {
    const { id } = node;
    const observed = this.counts(node) ? this.fleet.observedSwitch(id) : null;
    return observed?.state === 'failed' ? `${id}: ${observed.error ?? 'failed'}` : null;
  }

  private troubleOf(node: SwitchNode): string | null {
    const { id } = node;
    if (!this.fleet.isConnected(id)) {
      const detail = this.twin.nodeState(id)?.detail ?? null;
      return `${id}: its agent is not connected${detail === null ? '' : ` (${detail})`}`;
    }
    const lack = this.rebuilt.lack(node);
    return lack === null ? this.failureOf(node) : `${id}: ${lack}`;
  }

  /** A switch that is built anew has none at first. Any other keeps those of before while it takes in new ones. */
  private lackOfEntries(node: SwitchNode): string | null {
    if (!this.rebuilt.isUnderWay(node) || this.hasReached(node)) return null;
    return `${node.id}: does not hold its entries yet`;
  }

  private lag(node: SwitchNode): string {
    const { id } = node;
    const trouble = this.troubleOf(node);
    if (trouble !== null) return trouble;
    const { generation } = this.fleet.observedSwitch(id) ?? { generation: 0 };
    return `${id}: is at generation ${generation} of ${this.told.switches[id]?.generation}`;
  }

  private lags(nodes: readonly SwitchNode[]): string {
    return nodes.map((node) => this.lag(node)).join('; ');
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }

  private nextChange(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.listeners.delete(finish);
        resolve();
      };
      const timer = setTimeout(finish, Math.max(ms, 1));
      this.listeners.add(finish);
    });
  }
}

function chainsAt({ rules, switches }: StoredFabric): ReadonlyMap<string, ReadonlySet<string>> {
  const chainOf = new Map(rules.rules.map(({ id, chain_id }) => [id, chain_id]));
  return new Map(
    Object.entries(switches).map(([id, { entries }]) => {
      const chains = entries.flatMap(({ rule_id }) => (rule_id === null ? [] : (chainOf.get(rule_id) ?? [])));
      return [id, new Set(chains)] as const;
    }),
  );
}

/**
 * New and changed specs get generations that no switch has had; the others keep theirs. Removed switches are dropped.
 * Generations are not below `nowMs`: where the state is restored from a backup, switches may have had later ones than it knows.
 */
export function numbered(
  before: Pick<StoredFabric, 'switches' | 'last_generation'>,
  now: ReadonlyMap<string, Omit<SwitchSpec, 'generation'>>,
  nowMs: number,
): Pick<StoredFabric, 'switches' | 'last_generation'> {
  const used = Object.values(before.switches).map(({ generation }) => generation);
  let last = Math.max(before.last_generation, ...used);
  const switches = [...now].map(([id, content]) => {
    const old = before.switches[id];
    if (old && sameContent(old, { generation: old.generation, ...content })) return [id, old] as const;
    last = Math.max(last + 1, nowMs);
    return [id, { generation: last, ...content }] as const;
  });
  return { switches: Object.fromEntries(switches), last_generation: last };
}
