import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { readContainer } from '../../drivers/board/simulated/container.js';
import { ModelSlot } from './model-slot.js';

const SHELL_UUID = '5e000000-0000-8000-8000-000000000001';
const MODULES = ['pass', 'ddos-detector', 'sqli-detector', 'stateful-firewall', 'elephant-detector', 'nat'];
const uuidOf = (module: string) =>
  createHash('sha256')
    .update(module)
    .digest('hex')
    .slice(0, 32)
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
const hex = (uuid: string) => Buffer.from(uuid.replaceAll('-', ''), 'hex');

/** As a client sends it; the fake does not validate. */
// biome-ignore lint/suspicious/noExplicitAny: each method knows its own parameters.
type Params = Record<string, any>;
class Refusal extends Error {
  constructor(
    readonly code: string,
    detail: string,
  ) {
    super(detail);
  }
}

interface FakeSlot {
  state: string;
  model: ModelSlot | null;
  error: string | null;
}

/**
 * Speaks boardd's protocol (fpga/board/control/methods.cc) without RTL. Loads progress when the test says so, or at
 * once.
 */
export class FakeBoardd {
  readonly control: string;
  readonly events: string;
  slots: FakeSlot[] = [];
  readonly shell = new Map<number, number>();
  readonly calls: { method: string; params: Record<string, unknown> }[] = [];
  /** While set, a load stops at half its bytes. */
  stall = false;
  /** While set, loads are refused with this error. */
  fault: string | null = null;
  powered_ms = 0;
  /** Frames that each slot's port could not take, since power-on. */
  kernelDrops = 0;
  noHop = 0;
  private awake: Promise<void> = Promise.resolve();
  private servers: Server[] = [];
  private readonly sockets = new Set<Socket>();
  private subscribers = new Set<Socket>();
  private last: Record<string, unknown> | null = null;
  private finish: (() => void) | null = null;
  private loads = 0;

  constructor(readonly directory: string) {
    this.control = join(directory, 'b.ctl');
    this.events = join(directory, 'b.evt');
  }

  /** Power on: nothing is loaded. */
  async start(): Promise<void> {
    this.slots = [0, 1].map(() => ({ state: 'empty', model: null, error: null }));
    this.last = null;
    this.finish = null;
    this.powered_ms = Date.now();
    await Promise.all([
      this.listen(this.control, (socket) => this.serve(socket)),
      this.listen(`${this.control}.beat`, (socket) => this.beat(socket)),
      this.listen(this.events, (socket) => this.subscribers.add(socket)),
    ]);
  }

  /** As SIGSTOP; returns SIGCONT. */
  hang(): () => void {
    let wake = () => {};
    this.awake = new Promise((resolve) => {
      wake = resolve;
    });
    return wake;
  }

  /** Closes connections; the board keeps running. */
  disconnect(): void {
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
    this.subscribers.clear();
  }

  /** Power loss. */
  async kill(): Promise<void> {
    this.disconnect();
    await Promise.all(this.servers.map((server) => new Promise((done) => server.close(done))));
    this.servers = [];
  }

  writeImage(name: string, kind: 'full' | 'partial', modules: (string | null)[], slot = 0, shell = SHELL_UUID): string {
    const path = join(this.directory, name);
    const header = Buffer.alloc(328);
    header.write('ORRYBIT1', 0, 'latin1');
    header.writeUInt32LE(kind === 'full' ? 1 : 2, 8);
    header.writeUInt32LE(modules.length, 12);
    header.write('ecp5', 16, 'latin1');
    if (kind === 'partial') header.write(`pr${slot}`, 48, 'latin1');
    hex(shell).copy(header, 80);
    modules.forEach((module, i) => {
      if (module) hex(uuidOf(module)).copy(header, 96 + 16 * i);
    });
    header.writeBigUInt64LE(1000n, 224);
    writeFileSync(path, Buffer.concat([header, Buffer.alloc(1000)]));
    return path;
  }

  /** Resumes a paused load. */
  proceed(): void {
    this.stall = false;
    this.finish?.();
  }

  raise(slot: number, ...words: number[]): void {
    const line = { type: 'module', slot, module: 'x', words: Array.from({ length: 8 }, (_, i) => words[i] ?? 0) };
    this.publish({ ...line, board_ns: 1 });
  }

  publish(line: object): void {
    for (const socket of this.subscribers) socket.write(`${JSON.stringify(line)}\n`);
  }

  private listen(path: string, onSocket: (socket: Socket) => void): Promise<void> {
    const server = createServer((socket) => {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      onSocket(socket);
    });
    this.servers.push(server);
    return new Promise((done) => server.listen(path, done));
  }

  /** Answers heartbeats unless it is `hung`, then when it no longer is. */
  private beat(socket: Socket): void {
    socket.on('data', (chunk) => {
      for (const line of String(chunk).trim().split('\n'))
        void this.awake.then(() => socket.write(`${JSON.stringify({ id: JSON.parse(line).id, result: {} })}\n`));
    });
  }

  private serve(socket: Socket): void {
    let text = '';
    socket.on('data', async (chunk) => {
      text += chunk;
      await this.awake;
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        const { id, method, params } = JSON.parse(text.slice(0, end));
        text = text.slice(end + 1);
        socket.write(`${JSON.stringify({ id, ...this.answer(method, params) })}\n`);
      }
    });
  }

  private answer(method: string, params: Params): object {
    this.calls.push({ method, params });
    try {
      const call = this.methods[method];
      if (!call) throw new Refusal('bad-request', `there is no method ${method}`);
      return { result: call(params) };
    } catch (error) {
      const { code, message } = error as Refusal;
      return { error: { code, detail: message, pointer: null } };
    }
  }

  private readonly methods: Record<string, (params: Params) => unknown> = {
    describe: () => ({
      emulated: true,
      profile: 'ecp5',
      device: 'LFE5U-85F',
      clock_hz: 50_000_000,
      shell_uuid: SHELL_UUID,
      time_scale: 1,
      slots: [0, 1].map((slot) => ({
        slot,
        region: `pr${slot}`,
        resources: { lut: 33456, bram_kib: 187 },
        near: null,
        far: null,
      })),
      library: MODULES.map((module) => ({
        name: `nf_${module.replaceAll('-', '_')}`,
        uuid: uuidOf(module),
        version: '1.0.0',
      })),
    }),
    status: () => ({
      board: {
        state: this.last?.state ?? 'unknown',
        cycles: 5,
        board_ns: 100,
        wall_ns: (Date.now() - this.powered_ms) * 1e6,
        slowdown: 9,
        cpu_s: 1,
      },
      slots: this.slots.map(({ state, model, error }, slot) => ({
        slot,
        state,
        module: model && { name: `nf_${model.module.replaceAll('-', '_')}`, uuid: uuidOf(model.module) },
        load: state === 'loading' ? { kind: this.last!.kind, bytes: 500, bytes_total: 1000, policy: 'hold' } : null,
        counters: {
          ...{ frames_in: 7, frames_out: 6, bytes_in: 70, bytes_out: 60, dropped: 1, bypassed: 0, held: 0 },
          no_hop: this.noHop,
        },
        error,
      })),
      ports: this.slots.map((_, slot) => ({ slot, drops: { kernel: this.kernelDrops } })),
      last_load: this.last,
    }),
    load: ({ slot, kind, image, policy }) => this.load(slot, kind, image, policy),
    quiesce: ({ slot }) => this.turn(slot, ['active'], 'quiescing'),
    resume: ({ slot }) => this.turn(slot, ['configuring', 'quiescing'], 'active'),
    unload: ({ slot }) => {
      this.slots[slot] = { state: 'empty', model: null, error: null };
      return {};
    },
    csr_read: ({ slot, addresses }) => ({
      values: (addresses as number[]).map((address) =>
        slot === null ? (this.shell.get(address) ?? 0) : this.model(slot).read(address),
      ),
    }),
    csr_write: ({ slot, writes }) => {
      for (const [address, value] of writes as [number, number][])
        if (slot === null) this.shell.set(address, value);
        else this.model(slot).write(address, value);
      return {};
    },
    table_export: ({ slot, max }) => ({ entries: this.model(slot).entries.slice(0, max) }),
    table_import: ({ slot, entries }) => {
      const put = (entries as number[][]).filter((entry) => this.model(slot).put(entry)).length;
      return { imported: put, refused: (entries as number[][]).length - put };
    },
    stream: ({ frames }) => ({ frames }),
  };

  private load(slot: number | null, kind: 'full' | 'partial', image: string, policy: string) {
    if (this.finish) throw new Refusal('conflict', 'another load is in progress');
    const container = readContainer(image);
    if (!container || container.shell !== SHELL_UUID)
      throw new Refusal('image-refused', 'reconfig incompatible image: made for another shell');
    const id = ++this.loads;
    const targets = slot === null ? [0, 1] : [slot];
    for (const n of targets) this.slots[n] = { state: 'loading', model: null, error: null };
    const counts = { held: 3, lost: 0, bypassed: 0, modelled_s: 0.1, measured_s: 0.1 };
    this.last = { id, slot, kind, policy, state: 'write', error: null, bytes: 500, bytes_total: 1000, ...counts };
    this.finish = () => {
      this.finish = null;
      const { fault } = this;
      if (fault) {
        for (const n of targets) this.slots[n] = { state: 'faulty', model: null, error: fault };
        this.last = { ...this.last, state: 'write error', error: fault };
        return;
      }
      targets.forEach((n, i) => {
        const module = MODULES.find((name) => uuidOf(name) === container.modules[i]);
        this.slots[n] = {
          state: module ? 'configuring' : 'empty',
          model: module ? new ModelSlot(module) : null,
          error: null,
        };
      });
      this.last = { ...this.last, state: 'operating', bytes: 1000 };
    };
    if (!this.stall) this.finish();
    return { id };
  }

  private turn(slot: number, from: string[], to: string): object {
    const found = this.slots[slot]!;
    if (!from.includes(found.state)) throw new Refusal('conflict', `slot ${slot} is ${found.state}`);
    found.state = to;
    return {};
  }

  private model(slot: number): ModelSlot {
    const { model, state } = this.slots[slot]!;
    if (!model) throw new Refusal('conflict', `slot ${slot} is ${state}: it has no registers`);
    return model;
  }
}
