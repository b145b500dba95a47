import { type InstanceSample, type ObservedSlot, SLOT_ENDS, slotPort } from '@orrery/contract';
import { backoffMs } from '../../platform/backoff.js';
import type { BoardInstance, EngineEnds } from '../nf-driver.js';
import { AlertLimiter } from './alerts.js';
import { BoardError, type RegisterWrite, type SlotLoad, type SlotStatus } from './board-port.js';
import { DropCounters } from './drop-counters.js';
import { EarlyEvents } from './early-events.js';
import { EventLosses } from './event-losses.js';
import { ConfigRefusal, type ModuleSession, type SlotAccess } from './modules/module-adapter.js';
import type { Netdevs } from './netdevs.js';
import { hopWrites, NoSuchHop } from './next-hops.js';
import { SlotFigures, type SlotSample } from './slot-figures.js';
import type { SlotHost, SlotTarget } from './slot-host.js';
import { awaitCleared, clear, enable, metadataWrites, verifyModule } from './slot-setup.js';

type Goal = { kind: 'run'; target: SlotTarget } | { kind: 'empty' } | { kind: 'leave' };

const RETRY = { first_ms: 1000, most_ms: 30_000 };

/** Brings one slot to its goal. The latest request wins; a load in progress is completed first. */
export class Slot {
  private goal: Goal = { kind: 'leave' };
  private reached = false;
  private wasUp = false;
  private left: string | null = null;
  private failure: { message: string; permanent: boolean } | null = null;
  private progress: SlotLoad | null = null;
  private status: SlotStatus | null = null;
  private session: ModuleSession | null = null;
  private readonly early = new EarlyEvents();
  /**
   * Instance whose flows the module holds; null: loaded before this agent started, so they belong to the first instance
   * assigned here.
   */
  private owner: string | null = null;
  private working: Promise<void> | null = null;
  private dirty = false;
  private attempts = 0;
  private timer: NodeJS.Timeout | null = null;
  private drops: DropCounters;
  private counted = new SlotFigures();
  private losses: EventLosses;
  /** Rows of flow state of IPv6, which imports into the instance left out. */
  ipv6RowsLeftOut = 0;

  constructor(
    readonly slot: number,
    readonly ends: EngineEnds,
    private readonly host: SlotHost,
    /** Its ports hang on a switch, so the ends are the board's own. */
    readonly atSwitch = false,
  ) {
    this.drops = new DropCounters(slot, host);
    this.losses = this.noLosses();
  }

  /** How it differs from what was set up, because somebody else changed it; null: not. */
  get drift(): string | null {
    return this.left;
  }

  get target(): SlotTarget | null {
    return this.goal.kind === 'run' ? this.goal.target : null;
  }

  /** It holds what was there before this agent, and no goal has been set yet. */
  get unclaimed(): boolean {
    return this.goal.kind === 'leave' && this.status !== null && this.status.module !== null;
  }

  run(target: SlotTarget): void {
    const same = this.target?.instance.id === target.instance.id;
    if (!same) {
      this.wasUp = false;
      this.endSession();
      this.drops = new DropCounters(this.slot, this.host);
      this.counted = new SlotFigures();
      this.losses = this.noLosses();
      this.ipv6RowsLeftOut = 0;
    }
    this.pursue({ kind: 'run', target });
  }

  empty(): void {
    this.wasUp = false;
    this.pursue({ kind: 'empty' });
  }

  /** The board came back, or a load for another slot overwrote this one. */
  disturb(): void {
    if (this.goal.kind !== 'leave') this.pursue(this.goal);
  }

  /** The board is unreachable; its content is read again when it comes back. */
  lost(): void {
    this.status = null;
    this.left = null;
    this.progress = null;
    this.endSession();
    this.early.handTo(null);
    this.reached = false;
    this.stopTimer();
  }

  stop(): void {
    this.goal = { kind: 'leave' };
    this.endSession();
    this.stopTimer();
  }

  /** Takes a reading; a slot that has left its goal on its own is restored. */
  observe(status: SlotStatus): void {
    const before = this.status?.state;
    this.status = status;
    const { target } = this;
    if (!this.reached || this.working || !target) return;
    if (status.state === 'active' && status.module === target.adapter.nf) return;
    if (status.state !== 'faulty') {
      this.restore(status, target);
      return;
    }
    if (status.state !== before)
      this.host.emit('slot.faulty', `Slot ${this.slot}: ${status.error ?? 'the module does not answer'}`, {
        board: this.host.board,
        slot: this.slot,
      });
    this.fail(new BoardError(status.error ?? `the slot is ${status.state}`, 'failed'));
  }

  /** A slot that somebody else emptied, stopped or loaded is set up again at once. */
  private restore({ state, module }: SlotStatus, { adapter }: SlotTarget): void {
    const holds = module === adapter.nf ? `it is ${state}` : `it holds ${module ?? 'nothing'} instead of ${adapter.nf}`;
    this.left = module === adapter.nf || module === null ? holds : `${holds}; the flows of ${adapter.nf} are lost`;
    this.reached = false;
    this.begin();
    this.host.changed();
  }

  async sampleCounters(): Promise<void> {
    if (!this.session || !this.target) return;
    await this.drops.read(this.target.adapter.nf);
    await this.losses.read();
  }

  /** Events of the instance's module that never arrived. */
  get eventsLost(): number {
    return this.losses.total;
  }

  dropsOf(): Record<string, number> {
    return this.drops.byReason;
  }

  event(words: readonly number[]): void {
    if (this.session) this.session.event(words);
    else this.early.add(words);
  }

  get running(): ModuleSession | null {
    return this.session;
  }

  /** The engine may send packets once the instance has been up and both interfaces exist. */
  instance(present: Netdevs, isLinkDown: (iface: string) => boolean = () => false): BoardInstance | null {
    const { target } = this;
    if (!target) return null;
    const missing = [this.ends.near, this.ends.far].filter((iface) => !present.has(iface));
    const ends = this.wasUp && missing.length === 0 && !this.atSwitch ? this.ends : null;
    const place = { board: this.host.board, slot: this.slot };
    return { digest: target.digest, place, ends, atSwitch: this.atSwitch, ...this.runtimeState(missing, isLinkDown) };
  }

  /** What its instance has taken and passed on since it was assigned the slot; null: beside an engine, or not known. */
  figures(now: SlotSample | undefined): InstanceSample | null {
    if (!this.atSwitch || !this.target || !now) return null;
    return this.counted.of(this.target.instance.id, now, this.status?.counters.held ?? 0);
  }

  observed(): ObservedSlot {
    const { status, progress } = this;
    return {
      slot: this.slot,
      state: progress ? 'loading' : (status?.state ?? 'unknown'),
      module: status?.module ?? null,
      instance_id: this.target?.instance.id ?? null,
      load: progress ?? status?.load ?? null,
      reloads: this.wasUp && progress !== null,
      detail: this.failure?.message ?? status?.error ?? null,
    };
  }

  private runtimeState(
    missing: string[],
    isLinkDown: (iface: string) => boolean,
  ): Pick<BoardInstance, 'state' | 'detail' | 'permanent'> {
    if (!this.host.online) return { state: 'failed', detail: `board ${this.host.board} is not there` };
    if (this.failure) return { state: 'failed', detail: this.failure.message, permanent: this.failure.permanent };
    if (!this.reached) return { state: 'starting', detail: null };
    if (missing.length > 0) return { state: 'failed', detail: `there is no interface ${missing.join(', ')}` };
    const cut = this.atSwitch ? SLOT_ENDS.filter((end) => isLinkDown(this.ends[end])) : [];
    if (cut.length > 0)
      return {
        state: 'failed',
        detail: `its link is down at ${cut.map((end) => slotPort(end, this.slot)).join(', ')}`,
      };
    return { state: 'running', detail: null };
  }

  private pursue(goal: Goal): void {
    this.goal = goal;
    this.left = null;
    this.reached = false;
    this.failure = null;
    this.attempts = 0;
    this.begin();
  }

  private begin(): void {
    this.stopTimer();
    this.dirty = true;
    this.working ??= this.work().finally(() => {
      this.working = null;
      if (this.dirty && this.host.online) this.begin();
    });
  }

  private async work(): Promise<void> {
    // Deferred, so that the caller can set the goals of its other slots first.
    await Promise.resolve();
    while (this.dirty && this.host.online) {
      this.dirty = false;
      const { goal } = this;
      try {
        if (goal.kind === 'run') await this.bringUp(goal.target, () => this.goal === goal);
        else if (goal.kind === 'empty') await this.clear();
        if (this.goal === goal) this.done();
      } catch (error) {
        if (this.goal === goal) this.fail(error);
      }
      this.progress = null;
      this.host.changed();
    }
  }

  private done(): void {
    if (!this.host.online || this.dirty) return;
    this.reached = true;
    this.left = null;
    this.attempts = 0;
    if (this.target) this.wasUp = true;
  }

  private fail(error: unknown): void {
    const { message } = error as Error;
    // The board itself reports its loss and reconnects.
    if (error instanceof BoardError && error.kind === 'lost') return;
    const permanent =
      error instanceof ConfigRefusal ||
      error instanceof NoSuchHop ||
      (error instanceof BoardError && error.kind === 'refused');
    this.reached = false;
    this.failure = { message, permanent };
    this.attempts++;
    if (this.attempts === 1)
      this.host.emit('slot.failed', `Slot ${this.slot}: ${message}`, { board: this.host.board, slot: this.slot });
    if (!permanent) this.timer = setTimeout(() => this.begin(), backoffMs(RETRY, this.attempts, Math.random())).unref();
    this.host.changed();
  }

  private async bringUp(target: SlotTarget, wanted: () => boolean): Promise<void> {
    const { port } = this.host;
    const { adapter, instance } = target;
    const writes = adapter.configure(instance.config);
    const hops = hopWrites(this.slot, adapter, instance);
    const before = await this.look();
    this.endSession();
    // Frames that pass it during the load need a hop, too.
    if (this.atSwitch) await port.writeRegisters('shell', hops);
    if (!holds(before, target)) await this.loadModule(target, wanted);
    if (!wanted()) return;
    const running = holds(before, target) && before.state !== 'configuring';
    if (running && before.state === 'active') await port.quiesce(this.slot);
    await verifyModule(port, this.slot, adapter.nf);
    const inherits = this.owner === null || this.owner === instance.id;
    if (running && !inherits) {
      await clear(port, this.slot);
      this.restartCounters();
    }
    await awaitCleared(port, this.slot);
    this.owner = instance.id;
    await this.configure(target, writes, !(running && inherits));
    await port.resume(this.slot);
    this.failure = null;
    await this.look();
  }

  /** By the time its turn comes, it may no longer be wanted, or the full load of another slot may have loaded it. */
  private async loadModule(target: SlotTarget, wanted: () => boolean): Promise<void> {
    const { slot, host } = this;
    const needed = async () => wanted() && !holds(await this.look(), target);
    const result = await host.load(slot, target, (load) => this.loading(load), needed);
    this.progress = null;
    this.restartCounters();
    if (!result) return;
    if (result.error !== null) throw new BoardError(result.error, 'refused');
    host.emit('slot.loaded', `Slot ${slot} holds ${target.adapter.nf} after ${result.measured_s.toFixed(2)} s`, {
      ...result,
      board: host.board,
    });
  }

  private loading(load: SlotLoad): void {
    this.progress = load;
    this.host.changed();
  }

  private async configure({ instance, adapter }: SlotTarget, writes: RegisterWrite[], fresh: boolean): Promise<void> {
    const { port } = this.host;
    const hops = this.atSwitch ? hopWrites(this.slot, adapter, instance) : [];
    await port.writeRegisters('shell', [...metadataWrites(this.slot, adapter, instance.metadata), ...hops]);
    await port.writeRegisters(this.slot, writes);
    const session = await adapter.begin(this.access(instance.id), instance.config, fresh);
    this.session = session;
    const missed = this.early.handTo(fresh ? null : session);
    if (missed > 0) this.losses.add(missed);
    await enable(port, this.slot);
  }

  private restartCounters(): void {
    this.drops.restart();
    this.losses.restart();
  }

  private noLosses(): EventLosses {
    const { slot, host } = this;
    return new EventLosses(slot, host, (count) =>
      host.emit('board.events-lost', `${count} events of slot ${slot} were lost`, { board: host.board, slot, count }),
    );
  }

  private access(instance_id: string): SlotAccess {
    const { slot, host } = this;
    const { port } = host;
    const alerts = new AlertLimiter();
    return {
      instance_id,
      readRegisters: (addresses) => port.readRegisters(slot, addresses),
      writeRegisters: (writes) => port.writeRegisters(slot, writes),
      exportTable: (most) => port.exportTable(slot, most),
      importTable: (entries) => port.importTable(slot, entries),
      alert: (tell) => alerts.pass((suppressed) => tell(host.tell, suppressed)),
    };
  }

  private async clear(): Promise<void> {
    this.endSession();
    const { state } = await this.look();
    if (state === 'empty') return;
    if (state === 'active') await this.host.port.quiesce(this.slot);
    await this.host.port.unload(this.slot);
    this.host.emit('slot.emptied', `Slot ${this.slot} is empty`, { board: this.host.board, slot: this.slot });
    await this.look();
  }

  private async look(): Promise<SlotStatus> {
    const found = (await this.host.port.status()).slots.find(({ slot }) => slot === this.slot);
    if (!found) throw new BoardError(`the board has no slot ${this.slot}`, 'refused');
    this.status = found;
    return found;
  }

  private endSession(): void {
    this.session?.close?.();
    this.session = null;
  }

  private stopTimer(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  }
}

/** Whether the module is there, configured or not. */
function holds({ module, state }: SlotStatus, { adapter }: SlotTarget): boolean {
  return module === adapter.nf && (state === 'active' || state === 'configuring' || state === 'quiescing');
}
