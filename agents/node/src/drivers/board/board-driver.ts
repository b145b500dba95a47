import {
  type BoardDescription,
  type BoardSample,
  type InstanceSample,
  type InstanceSpec,
  type ObservedBoard,
  SLOT_ENDS,
  type SlotRef,
  slotPort,
} from '@orrery/contract';
import type { Emit } from '../../link/agent-event.js';
import { boardDigest } from '../instance-digest.js';
import { type BoardInstance, type Change, type Drift, DriverError, type NfDriver } from '../nf-driver.js';
import { type BoardConfig, hangsOnSwitch } from './board-config.js';
import type { BoardPort } from './board-port.js';
import { BoardUnit } from './board-unit.js';
import { makeBoard } from './make-board.js';
import { ADAPTERS } from './modules/index.js';
import type { ModuleAdapter, ModuleSession } from './modules/module-adapter.js';
import { ipv6Rows } from './modules/state-rows.js';
import { type Netdevs, netdevs as readNetdevs } from './netdevs.js';
import type { Slot } from './slot.js';

interface BoardDriverOptions {
  boards: readonly BoardConfig[];
  adapters?: readonly ModuleAdapter[];
  makePort?: (config: BoardConfig) => BoardPort;
  netdevs?: () => Netdevs;
  /** Whether the other end of an interface is gone or down. */
  isLinkDown?: (iface: string) => boolean;
}

/**
 * Runs NFs in slots of boards. `realize` sets what each slot should run and returns; slots load in the background, one
 * load at a time per board, and `observe` reports their progress.
 */
export class BoardDriver implements NfDriver {
  readonly kind = 'board';
  private readonly units: BoardUnit[];
  private readonly adapters: ReadonlyMap<string, ModuleAdapter>;
  private readonly netdevs: () => Netdevs;
  private readonly isLinkDown: (iface: string) => boolean;
  private told = '';

  constructor(
    {
      boards,
      adapters = ADAPTERS,
      makePort = makeBoard,
      netdevs = readNetdevs,
      isLinkDown = () => false,
    }: BoardDriverOptions,
    emit: Emit,
    private readonly onChange: () => void,
  ) {
    this.adapters = new Map(adapters.map((adapter) => [adapter.nf, adapter]));
    this.netdevs = netdevs;
    this.isLinkDown = isLinkDown;
    this.units = boards.map((config) => new BoardUnit(config, makePort(config), netdevs, emit, () => this.changed()));
  }

  /** NFs that a slot could run; whether the board has a bitstream for one is only known at load time. */
  get nfs(): readonly string[] {
    return this.units.length > 0 ? [...this.adapters.keys()] : [];
  }

  /** Boards that have been read. */
  get descriptions(): BoardDescription[] {
    return this.units.flatMap(({ description }) => description ?? []);
  }

  get observed(): ObservedBoard[] {
    return this.units.map(({ observed }) => observed);
  }

  get drifts(): readonly Drift[] {
    return this.units.flatMap(({ drifts }) => drifts);
  }

  /** Slots that hold something that belongs to no known instance: it was there before this agent. */
  get unclaimed(): SlotRef[] {
    return this.units.flatMap(({ board, slots }) =>
      slots.filter(({ unclaimed }) => unclaimed).map(({ slot }) => ({ board, slot })),
    );
  }

  get samples(): BoardSample[] {
    return this.units.flatMap(({ sample }) => sample ?? []);
  }

  /** Figures of the instances in slots at switches, which no engine sees. */
  get figures(): InstanceSample[] {
    return this.units.flatMap(({ figures }) => figures);
  }

  /** Reads the boards at switches, so that their figures are of the same time as the engine's. */
  async refresh(): Promise<void> {
    await Promise.all(this.units.map((unit) => unit.refresh()));
  }

  /** The boards' own interfaces at switches, of slots that hold an instance. */
  get portsAtSwitches(): { name: string; mac: null; port: string }[] {
    return this.units.flatMap(({ board, slots }) =>
      slots.flatMap(({ slot, target, ends, atSwitch }) =>
        atSwitch && target
          ? SLOT_ENDS.map((end) => ({ name: ends[end], mac: null, port: `${board} ${slotPort(end, slot)}` }))
          : [],
      ),
    );
  }

  /** Drops of an instance by reason, as its module counts them; none if it runs elsewhere. */
  drops(instanceId: string): Record<string, number> {
    return this.slotOf(instanceId)?.dropsOf() ?? {};
  }

  /** Resolves when every board that is present has been read once. */
  async start(): Promise<void> {
    await Promise.all(this.units.map((unit) => unit.start()));
  }

  /** Boards keep running what they hold. */
  stop(): void {
    for (const unit of this.units) unit.stop();
  }

  observe(): ReadonlyMap<string, BoardInstance> {
    if (this.units.length === 0) return new Map();
    const present = this.netdevs();
    return new Map(
      this.slots.flatMap((slot) => {
        const found = slot.instance(present, this.isLinkDown);
        return found ? [[slot.target!.instance.id, found] as const] : [];
      }),
    );
  }

  async realize({ deploy, configure, destruct, vacate = [] }: Change): Promise<void> {
    const wanted = [...deploy, ...configure];
    const places = new Map(wanted.map((instance) => [this.place(instance), instance]));
    const gone = new Set([...destruct, ...wanted.map(({ id }) => id)]);
    for (const slot of this.slots)
      if (slot.target && gone.has(slot.target.instance.id) && !places.has(slot)) slot.empty();
    for (const { board, slot } of vacate) this.units.find((unit) => unit.board === board)?.slots[slot]?.empty();
    for (const [slot, instance] of places)
      slot.run({ instance, adapter: this.adapter(instance), digest: boardDigest(instance) });
  }

  async getInstanceState(instanceId: string, limit: number): Promise<Record<string, unknown>> {
    const state = await this.session(instanceId).state(limit);
    const slot = this.slotOf(instanceId)!;
    return { ...state, events_lost: slot.eventsLost, ipv6_rows_left_out: slot.ipv6RowsLeftOut, slot: slot.observed() };
  }

  async exportState(instanceId: string): Promise<Record<string, unknown>> {
    return (await this.session(instanceId).exportState?.()) ?? {};
  }

  async importState(instanceId: string, state: Record<string, unknown>): Promise<null> {
    await this.session(instanceId).importState?.(state);
    this.slotOf(instanceId)!.ipv6RowsLeftOut += ipv6Rows(state);
    return null;
  }

  /** Boards are read often and change rarely. */
  private changed(): void {
    const now = JSON.stringify([...this.observe(), this.observed, this.drifts]);
    if (now === this.told) return;
    this.told = now;
    this.onChange();
  }

  private get slots(): Slot[] {
    return this.units.flatMap(({ slots }) => slots);
  }

  private slotOf(instanceId: string): Slot | undefined {
    return this.slots.find(({ target }) => target?.instance.id === instanceId);
  }

  private session(instanceId: string): ModuleSession {
    const session = this.slotOf(instanceId)?.running;
    if (!session) throw new DriverError(`${instanceId} does not run on a board`, instanceId);
    return session;
  }

  private place({ id, board }: InstanceSpec): Slot {
    const unit = this.units.find((one) => one.board === board?.board);
    const slot = unit?.slots[board?.slot ?? -1];
    if (!slot) throw new DriverError(`${id}: there is no slot ${board?.slot} of a board ${board?.board}`, id, true);
    if (hangsOnSwitch(unit!.config) !== (board!.attached === 'switch')) {
      const where = hangsOnSwitch(unit!.config) ? 'hangs on a switch' : 'stands beside the engine';
      throw new DriverError(`${id}: ${board!.board} ${where} here, and the plan has it otherwise`, id, true);
    }
    return slot;
  }

  private adapter({ id, nf }: InstanceSpec): ModuleAdapter {
    const adapter = this.adapters.get(nf);
    if (!adapter) throw new DriverError(`${id}: boards here cannot run ${nf}`, id, true);
    return adapter;
  }
}
