import { setTimeout as sleep } from 'node:timers/promises';
import type { BoardDescription, BoardSample, InstanceSample, LoadResult, ObservedBoard } from '@orrery/contract';
import type { Emit } from '../../link/agent-event.js';
import { backoffMs } from '../../platform/backoff.js';
import type { Drift } from '../nf-driver.js';
import { type BoardConfig, hangsOnSwitch } from './board-config.js';
import {
  BoardError,
  type BoardPort,
  type BoardStatus,
  type DeviceDescription,
  type ModuleEvent,
  type SlotLoad,
} from './board-port.js';
import { absentSample, sampleOf } from './board-sample.js';
import { chooseImage } from './images.js';
import type { Netdevs } from './netdevs.js';
import { PowerLoss } from './power-loss.js';
import { Slot } from './slot.js';
import type { BoardEmit, SlotHost, SlotTarget } from './slot-host.js';
import { SlotTotals } from './slot-totals.js';

const RECONNECT = { first_ms: 250, most_ms: 2000 };
const POLL_MS = 200;
/** Sessions do their housekeeping once per this many polls. */
const POLLS_A_TICK = 25;
/** A reading that is older says nothing about now. */
const STALE_MS = 1000;
/** A reading that takes longer is left for the next sample. */
const REFRESH_LIMIT_MS = 100;
/** fpga_manager states of a device that runs nothing; its other states except `operating` describe the latest load. */
const OUT_OF_OPERATION = new Set(['power off', 'power up', 'reset']);

/** One board: its connection, its slots and their figures. It reconnects for as long as the board is unreachable. */
export class BoardUnit implements SlotHost {
  readonly slots: Slot[];
  /** As last seen. */
  private device: DeviceDescription | null = null;
  private connected = false;
  private status: BoardStatus | null = null;
  private before: BoardStatus | null = null;
  private lastLoad: LoadResult | null = null;
  private readonly powerLoss: PowerLoss;
  private readonly totals = new SlotTotals();
  /** The latest reading; times are monotonic. */
  private last: { sample: BoardSample; read_ms: number } | null = null;
  /** Nobody listens on its sockets: whatever it is sent is lost. */
  private powerless = false;
  private absence: string | null = 'not connected yet';
  private attempts = 0;
  private timer: NodeJS.Timeout | null = null;
  private loads: Promise<unknown> = Promise.resolve();
  private loading = 0;
  private polls = 0;
  private pollFails = false;
  private stopped = false;

  constructor(
    readonly config: BoardConfig,
    readonly port: BoardPort,
    netdevs: () => Netdevs,
    readonly tell: Emit,
    private readonly onChange: () => void,
    private readonly now_ms: () => number = () => performance.now(),
  ) {
    this.powerLoss = new PowerLoss(config.slots, netdevs, hangsOnSwitch(config));
    this.slots = config.slots.map(
      (ends, slot) => new Slot(slot, { near: ends.near, far: ends.far }, this, hangsOnSwitch(config)),
    );
  }

  get board(): string {
    return this.config.id;
  }

  get online(): boolean {
    return this.connected;
  }

  /** Resolves after the first attempt. */
  async start(): Promise<void> {
    await this.connect();
  }

  stop(): void {
    this.stopped = true;
    if (this.timer) clearTimeout(this.timer);
    for (const slot of this.slots) slot.stop();
    this.port.close();
    this.connected = false;
  }

  /** Null until the board has been read. */
  get description(): BoardDescription | null {
    const { device, config } = this;
    if (!device) return null;
    const { emulated, note, profile, device: name, clock_hz, shell, slots, images } = device;
    const held = new Set(images.flatMap(({ modules }) => [...modules.values()].flatMap((module) => module ?? [])));
    return {
      id: config.id,
      backend: config.backend,
      emulated,
      note,
      profile,
      device: name,
      clock_mhz: clock_hz / 1e6,
      shell,
      slots: slots.filter(({ slot }) => slot < this.slots.length),
      modules: [...held].sort(),
    };
  }

  get observed(): ObservedBoard {
    const slots = this.slots.map((slot) => slot.observed());
    const seen = { id: this.config.id, slots, last_load: this.lastLoad };
    if (!this.online) return { ...seen, state: 'absent', detail: this.absence };
    if (this.loading > 0) return { ...seen, state: 'loading', detail: null };
    const { state } = this.status!;
    if (OUT_OF_OPERATION.has(state)) return { ...seen, state: 'failed', detail: state };
    // One slot may be faulty after a failed load of its own: the others work, and it can be reloaded.
    if (slots.every((slot) => slot.state === 'faulty')) return { ...seen, state: 'failed', detail: slots[0]!.detail };
    return { ...seen, state: 'operating', detail: null };
  }

  /** Null while there is no reading of now: frames that a board does not answer for may be waiting in it. */
  get sample(): BoardSample | null {
    if (!this.last) return null;
    if (this.powerless) return absentSample(this.last.sample, this.powerLoss.lost);
    return this.online && this.now_ms() - this.last.read_ms < STALE_MS ? this.last.sample : null;
  }

  /** Takes a reading for these figures, unless the board is slow. */
  async refresh(): Promise<void> {
    if (!this.online || !this.slots.some(({ atSwitch, target }) => atSwitch && target)) return;
    const reading = this.port.status().then((status) => {
      if (this.online) this.remember(status);
    });
    await Promise.race([reading.catch(() => undefined), sleep(REFRESH_LIMIT_MS, undefined, { ref: false })]);
  }

  /** Figures of the instances in slots at a switch, which no engine sees. None while the board does not answer. */
  get figures(): InstanceSample[] {
    const { sample } = this;
    return this.slots.flatMap((slot) => slot.figures(sample?.slots.find((of) => of.slot === slot.slot)) ?? []);
  }

  get drifts(): Drift[] {
    return this.slots.flatMap(({ slot, drift }) =>
      drift === null ? [] : [{ part: `${this.board} slot ${slot}`, difference: drift, blocked: null }],
    );
  }

  changed(): void {
    this.onChange();
  }

  readonly emit: BoardEmit = (event, message, data) => this.tell(event, this.board, message, data);

  load(
    slot: number,
    target: SlotTarget,
    onProgress: (load: SlotLoad) => void,
    needed: () => Promise<boolean>,
  ): Promise<LoadResult | null> {
    const turn = this.loads.then(async () => ((await needed()) ? this.loadNow(slot, target, onProgress) : null));
    this.loads = turn.catch(() => undefined);
    return turn;
  }

  private async loadNow(
    slot: number,
    { adapter, instance }: SlotTarget,
    onProgress: (load: SlotLoad) => void,
  ): Promise<LoadResult> {
    const { load: kind, policy } = instance.board!;
    const others = new Map(
      this.slots.flatMap((other) => (other.target ? [[other.slot, other.target.adapter.nf] as const] : [])),
    );
    const image = chooseImage(this.device?.images ?? [], kind, slot, adapter.nf, others);
    if (!image)
      throw new BoardError(
        `no ${kind} bitstream puts ${adapter.nf} into slot ${slot}${among(kind, others)}`,
        'refused',
      );
    this.loading++;
    this.onChange();
    const begun_ms = this.now_ms();
    let bytes = 0;
    try {
      // A full load takes the links down: no frame waits or passes.
      const order =
        kind === 'full' ? { slot: null, kind, policy: 'drop' as const, image } : { slot, kind, policy, image };
      const result = await this.port.load(order, (load) => {
        bytes = load.bytes;
        onProgress(load);
      });
      this.lastLoad = result;
      return result;
    } catch (error) {
      if (error instanceof BoardError && error.kind === 'lost')
        this.lastLoad = {
          slot: kind === 'full' ? null : slot,
          module: adapter.nf,
          kind,
          policy,
          error: `the board was lost during the load: ${error.message}`,
          modelled_s: 0,
          measured_s: (this.now_ms() - begun_ms) / 1000,
          bytes,
          held: 0,
          lost: 0,
          bypassed: 0,
        };
      throw error;
    } finally {
      this.loading--;
      // A full load, refused or not, took every slot down.
      if (kind === 'full') for (const other of this.slots) if (other.slot !== slot) other.disturb();
      this.onChange();
    }
  }

  private async connect(): Promise<void> {
    try {
      const device = await this.port.open({
        event: (event) => this.event(event),
        eventsLost: (count) =>
          this.emit('board.events-lost', `${count} events of modules were lost`, {
            board: this.board,
            slot: null,
            count,
          }),
        lost: (why) => this.lost(why),
      });
      if (this.stopped) return this.port.close();
      this.status = await this.port.status();
      this.before = null;
      this.device = device;
    } catch (error) {
      this.port.close();
      this.powerless = hasNoPower(error as NodeJS.ErrnoException);
      this.absence = this.powerless ? NO_POWER : (error as Error).message;
      return this.again();
    }
    this.powerless = false;
    this.comeBack(this.status);
    this.connected = true;
    this.absence = null;
    this.attempts = 0;
    for (const found of this.status.slots) this.slots[found.slot]?.observe(found);
    for (const slot of this.slots) slot.disturb();
    this.onChange();
    this.poll();
  }

  private lost(why: string): void {
    if (this.stopped || !this.connected) return;
    this.connected = false;
    this.status = null;
    this.absence = why;
    for (const slot of this.slots) slot.lost();
    this.emit('board.lost', `Board ${this.board} is lost: ${why}`, { board: this.board });
    this.again();
  }

  private comeBack(status: BoardStatus): void {
    const { slots } = status;
    const droppedBefore = sum(slots.map(({ slot }) => this.totals.of(slot).dropped));
    const restarted = this.last !== null && lostPower(this.now_ms() - this.last.read_ms, status);
    if (restarted) this.totals.restart(slots, this.powerLoss.lost);
    const known = this.last !== null;
    this.remember(status);
    if (this.attempts === 0) return;
    const lost = known ? sum(slots.map(({ slot }) => this.totals.of(slot).dropped)) - droppedBefore : 0;
    const how = restarted ? 'with its power' : 'while it did not answer';
    const also = lost > 0 ? `; ${lost} frames were lost ${how}` : '';
    this.emit('board.back', `Board ${this.board} is connected${also}`, { board: this.board, lost });
  }

  private remember(status: BoardStatus): void {
    this.powerLoss.mark(status);
    this.totals.read(status.slots);
    this.last = { sample: sampleOf(this.board, this.before, status, this.totals), read_ms: this.now_ms() };
  }

  private again(): void {
    this.onChange();
    if (this.stopped) return;
    this.attempts++;
    if (this.timer) clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.connect(), backoffMs(RECONNECT, this.attempts, Math.random())).unref();
  }

  private event({ slot, words }: ModuleEvent): void {
    this.slots[slot]?.event(words);
  }

  /** Polls the board at a fixed interval until it is lost. */
  private poll(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      try {
        await this.read();
        this.pollFails = false;
      } catch (error) {
        this.pollFailed(error);
      }
      if (this.online && !this.stopped) this.poll();
    }, POLL_MS).unref();
  }

  /**
   * Loss of the board is reported elsewhere, and refusals show again on the next poll; only an error in the agent is
   * reported here, once.
   */
  private pollFailed(error: unknown): void {
    if (error instanceof BoardError || this.pollFails) return;
    this.pollFails = true;
    this.emit('board.poll-failed', `Board ${this.board} cannot be read: ${error}`, { board: this.board });
  }

  private async read(): Promise<void> {
    const status = await this.port.status();
    if (!this.online) return;
    this.before = this.status;
    this.status = status;
    this.remember(status);
    if (this.lastLoad && status.interrupted) this.lastLoad = { ...this.lastLoad, ...status.interrupted };
    for (const found of status.slots) this.slots[found.slot]?.observe(found);
    for (const slot of this.slots) await slot.sampleCounters();
    if (++this.polls % POLLS_A_TICK === 0) for (const { running } of this.slots) await running?.tick?.();
    this.onChange();
  }
}

const sum = (all: readonly number[]) => all.reduce((one, other) => one + other, 0);

/** Whether it was powered on within the last so many milliseconds; assumed if the board cannot tell. */
function lostPower(within_ms: number, { cpu }: BoardStatus): boolean {
  return !cpu || 1000 * cpu.wall_s < within_ms;
}

function among(kind: string, others: ReadonlyMap<number, string>): string {
  if (kind === 'partial') return '';
  return ` beside ${[...others].map(([slot, module]) => `${module} in ${slot}`).join(', ')}`;
}

/** For readers who do not know the path of the board's socket. */
const NO_POWER = 'it does not answer: it has no power, or its process ended';

function hasNoPower({ code, message }: NodeJS.ErrnoException): boolean {
  return /ECONNREFUSED|ENOENT/.test(code ?? message);
}
