import type { BoardDescription, BoardSample, LoadResult, ObservedBoard } from '@orrery/contract';
import type { Emit } from '../../link/agent-event.js';
import { backoffMs } from '../../platform/backoff.js';
import type { BoardConfig } from './board-config.js';
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
import { type BoardEmit, Slot, type SlotHost, type SlotTarget } from './slot.js';

const RECONNECT = { first_ms: 250, most_ms: 10_000 };
const POLL_MS = 200;
/** Sessions do their housekeeping once per this many polls. */
const POLLS_A_TICK = 25;
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
  /** The last reading before the board was lost. */
  private away: { sample: BoardSample; read_ms: number } | null = null;
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
  ) {
    this.powerLoss = new PowerLoss(config.slots, netdevs);
    this.slots = config.slots.map((ends, slot) => new Slot(slot, { near: ends.near, far: ends.far }, this));
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

  get sample(): BoardSample | null {
    if (this.status) return sampleOf(this.config.id, this.before, this.status);
    return this.away && absentSample(this.away.sample, this.powerLoss.lost);
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
    try {
      // A full load takes the links down: no frame waits or passes.
      const order =
        kind === 'full' ? { slot: null, kind, policy: 'drop' as const, image } : { slot, kind, policy, image };
      const result = await this.port.load(order, onProgress);
      this.lastLoad = result;
      return result;
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
      this.absence = absenceOf(error as NodeJS.ErrnoException);
      return this.again();
    }
    if (this.attempts > 0) this.tellBack(this.status);
    this.remember(this.status);
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

  private tellBack(status: BoardStatus): void {
    const counted = status.slots.map(({ slot, counters }) => (this.powerLoss.lost[slot] ?? 0) - counters.dropped);
    const lost = this.away && lostPower(this.away.read_ms, status) ? sum(counted.map((n) => Math.max(0, n))) : 0;
    const also = lost > 0 ? `; ${lost} frames were lost with its power` : '';
    this.emit('board.back', `Board ${this.board} is connected${also}`, { board: this.board, lost });
  }

  private remember(status: BoardStatus): void {
    this.powerLoss.mark(status);
    this.away = { sample: sampleOf(this.board, null, status), read_ms: Date.now() };
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
    for (const slot of this.slots) await slot.sampleDrops();
    if (++this.polls % POLLS_A_TICK === 0) for (const { running } of this.slots) await running?.tick?.();
    this.onChange();
  }
}

const sum = (all: readonly number[]) => all.reduce((one, other) => one + other, 0);

/** Whether it was powered on after that time; assumed if the board cannot tell. */
function lostPower(since_ms: number, { cpu }: BoardStatus): boolean {
  return !cpu || Date.now() - 1000 * cpu.wall_s > since_ms;
}

function among(kind: string, others: ReadonlyMap<number, string>): string {
  if (kind === 'partial') return '';
  return ` beside ${[...others].map(([slot, module]) => `${module} in ${slot}`).join(', ')}`;
}

/** For readers who do not know the path of the board's socket. */
function absenceOf({ code, message }: NodeJS.ErrnoException): string {
  return /ECONNREFUSED|ENOENT/.test(code ?? message)
    ? 'it does not answer: it has no power, or its process ended'
    : message;
}
