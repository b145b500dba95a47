import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Name } from '@orrery/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FakeBoardd } from '../../testing/boards/fake-boardd.js';
import { FakeFpgaManager } from '../../testing/boards/fake-fpga-manager.js';
import { FakeSilicon } from '../../testing/boards/fake-silicon.js';
import { ModelSlot } from '../../testing/boards/model-slot.js';
import { builtModule, RealBoardd } from '../../testing/boards/real-boardd.js';
import { scratchDirectory, until } from '../../testing/scratch.js';
import type { BoardListener, BoardPort, DeviceDescription, ModuleEvent, SlotLoad } from './board-port.js';
import { FpgaManagerBoard } from './fpga-manager/fpga-manager-board.js';
import { PcieBoard } from './pcie/pcie-board.js';
import { BOARD_MODULES, COMMON_REGISTERS } from './registers.js';
import { SimulatedBoard } from './simulated/simulated-board.js';
import { enable, verifyModule } from './slot-setup.js';

/** A board of one kind, with a good image of `module` for slot 0 and a bad one. */
interface Rig {
  port: BoardPort;
  /** Error text for the bad image. */
  refusal: RegExp;
  bad: string;
  /** Removes the board. */
  lose: () => unknown;
  /** Makes the module in slot 0 raise an event. Absent: `lacks` says why. */
  raise?: (...words: number[]) => void;
  /** Limits the table of slot 0 to this many entries. Absent: `lacks` says why. */
  limitTable?: (entries: number) => void;
}

interface RigKind {
  /** Why it cannot be tested at all; null: it can. */
  missing: string | null;
  /** Why one operation is not available. */
  lacks?: { raise: string; limitTable: string };
  emulated: boolean;
  module: string;
  make: (directory: string) => Promise<Rig>;
}

const silicon = (directory: string) => {
  const fake = new FakeSilicon(join(directory, 'csr'));
  const images = join(directory, 'images');
  mkdirSync(images);
  for (const name of ['good.bin', 'bad.bin']) writeFileSync(join(images, name), name.repeat(100));
  writeFileSync(
    join(images, 'images.json'),
    JSON.stringify(
      ['good.bin', 'bad.bin'].map((file) => ({
        file,
        kind: 'partial',
        modules: [{ slot: 0, module: 'elephant-detector' }],
      })),
    ),
  );
  const config = {
    id: 'b1',
    images,
    profile: 'onetcard',
    device: 'XC7K325T-2',
    clock_mhz: 100,
    csr: fake.csr,
    shell_csr: 0,
    slots: fake.slotConfigs,
  };
  const rest = {
    bad: join(images, 'bad.bin'),
    raise: (...words: number[]) => fake.slots[0]!.raise(...words),
    limitTable: (entries: number) => {
      fake.slots[0]!.capacity = entries;
    },
    lose: () => truncateSync(fake.csr, 0),
  };
  const load = () => {
    fake.slots[0] = new ModelSlot('elephant-detector');
  };
  return { fake, config, rest, load };
};

const rigs: Record<string, RigKind> = {
  'simulated, protocol without RTL': {
    missing: null,
    emulated: true,
    module: 'elephant-detector',
    make: async (directory) => {
      const board = new FakeBoardd(directory);
      await board.start();
      onTestFinished(() => board.kill());
      board.writeImage('good.bit', 'partial', ['elephant-detector']);
      const bad = join(directory, 'bad.txt');
      writeFileSync(bad, 'x');
      const { control, events } = board;
      return {
        port: new SimulatedBoard({ id: 'b1', backend: 'simulated', images: directory, slots: [], control, events }),
        refusal: /^reconfig incompatible image/,
        bad,
        lose: () => board.kill(),
        raise: (...words) => board.raise(0, ...words),
        limitTable: (entries) => {
          board.slots[0]!.model!.capacity = entries;
        },
      };
    },
  },
  'simulated, boardd': {
    missing: builtModule('elephant-detector') ? null : 'needs boardd and the elephant detector built',
    lacks: { raise: 'RTL raises events for packets only', limitTable: 'the table of the RTL has a fixed size' },
    emulated: true,
    module: 'elephant-detector',
    make: async (directory) => {
      const board = new RealBoardd(directory, 1);
      const good = board.writeImage('good.bit', 'elephant-detector');
      const bytes = readFileSync(good);
      bytes[bytes.length - 1]! ^= 1;
      const bad = join(scratchDirectory(), 'bad.bit');
      writeFileSync(bad, bytes);
      await board.start();
      return {
        port: new SimulatedBoard({ id: 'b1', backend: 'simulated', images: directory, slots: [], ...board }),
        refusal: /^reconfig CRC error/,
        bad,
        lose: () => board.kill(),
      };
    },
  },
  'fpga-manager': {
    missing: null,
    emulated: false,
    module: 'elephant-detector',
    make: async (directory) => {
      const { fake, config, rest, load } = silicon(directory);
      const kernel = new FakeFpgaManager(directory, async (path) => {
        if (!readFileSync(path, 'utf8').startsWith('good')) return false;
        load();
        return true;
      });
      const { manager, firmware } = kernel;
      const whole = { ...config, backend: 'fpga-manager' as const, manager, firmware };
      return {
        port: new FpgaManagerBoard(whole, fake.open, kernel.write),
        refusal: /^reconfig CRC error \(EIO\)$/,
        ...rest,
      };
    },
  },
  pcie: {
    missing: null,
    emulated: false,
    module: 'elephant-detector',
    make: async (directory) => {
      const { fake, config, rest, load } = silicon(directory);
      const script = 'case $(head -c 4 "$0") in good) ;; *) echo "CRC mismatch at 0x40" >&2; exit 2;; esac';
      const loader = { partial: ['sh', '-c', script, '{image}', '{slot}'] };
      const port = new PcieBoard({ ...config, backend: 'pcie', loader, loader_timeout_s: 5 }, fake.open);
      // The stub only checks the file: what it would load is put in place beforehand.
      load();
      return { port, refusal: /^write error: CRC mismatch at 0x40$/, ...rest };
    },
  },
};

const listen = () => {
  const events: ModuleEvent[] = [];
  const lost: string[] = [];
  const listener: BoardListener = {
    event: (event) => events.push(event),
    eventsLost: () => {},
    lost: (why) => lost.push(why),
  };
  return { events, lost, listener };
};

/** Appends to a test name why it is skipped. */
const because = (why?: string | false | null) => (why ? ` (${why})` : '');

describe.each(Object.entries(rigs))('board port: %s', (_, { missing, lacks, emulated, module, make }) => {
  async function setUp() {
    const rig = await make(scratchDirectory());
    const heard = listen();
    const device = await rig.port.open(heard.listener);
    onTestFinished(() => rig.port.close());
    return { ...rig, ...heard, device };
  }

  const imageOf = ({ images }: DeviceDescription) => {
    const found = images.find((image) => image.modules.get(0) === module);
    if (!found) throw new Error(`no image of ${module}`);
    return found;
  };

  async function loaded() {
    const rig = await setUp();
    const progress: SlotLoad[] = [];
    const order = { slot: 0, kind: 'partial' as const, policy: 'hold' as const, image: imageOf(rig.device) };
    const result = await rig.port.load(order, (load) => progress.push(load));
    return { ...rig, progress, result, order };
  }

  const slotOf = async (port: BoardPort) => (await port.status()).slots.find(({ slot }) => slot === 0)!;

  it.skipIf(missing)(`describes itself${because(missing)}`, async () => {
    const { device, port } = await setUp();
    expect(device.slots.length).toBe(2);
    expect(device.clock_hz).toBeGreaterThan(0);
    expect(device.shell).not.toBe('');
    for (const { resources } of device.slots)
      for (const name of Object.keys(resources)) expect(Name.parse(name)).toBe(name);
    expect(device.emulated).toBe(emulated);
    expect((await port.status()).slots.map(({ slot }) => slot)).toEqual([0, 1]);
  });

  it.skipIf(missing || emulated)(
    `states that it was not run on hardware${because(emulated && 'it is emulated')}`,
    async () => {
      const { device } = await setUp();
      expect(device.note).toContain('not run on hardware');
    },
  );

  it.skipIf(missing)('loads a module, which responds but takes no frames until it is resumed', async () => {
    const { port, result, progress, order } = await loaded();
    expect(result).toMatchObject({ slot: 0, module, kind: 'partial', error: null, bytes: order.image.bytes });
    expect(result.measured_s).toBeGreaterThanOrEqual(0);
    for (const { bytes, bytes_total } of progress) expect(bytes).toBeLessThanOrEqual(bytes_total);
    expect(await slotOf(port)).toMatchObject({ state: 'configuring', module, load: null });
    await verifyModule(port, 0, module);
    await enable(port, 0);
    await port.resume(0);
    expect(await slotOf(port)).toMatchObject({ state: 'active', module, error: null });
  });

  it.skipIf(missing)('reports why an image is refused', async () => {
    const { port, bad, refusal, device } = await setUp();
    const image = { ...imageOf(device), path: bad };
    const result = await port.load({ slot: 0, kind: 'partial', policy: 'drop', image }, () => {});
    expect(result.error).toMatch(refusal);
    expect((await slotOf(port)).state).not.toBe('active');
  });

  it.skipIf(missing)('stops, resumes and empties', async () => {
    const { port } = await loaded();
    await port.resume(0);
    await port.quiesce(0);
    expect((await slotOf(port)).state).not.toBe('active');
    await verifyModule(port, 0, module);
    await port.resume(0);
    expect((await slotOf(port)).state).toBe('active');
    await port.unload(0);
    expect(await slotOf(port)).toMatchObject({ state: 'empty', module: null });
  });

  it.skipIf(missing)('keeps what is written to registers of the module and the shell', async () => {
    const { port } = await loaded();
    const { THRESHOLD_BYTES, WINDOW_MS } = BOARD_MODULES.nf_elephant_detector.registers;
    const { METADATA_MASK } = BOARD_MODULES.nf_shell.registers;
    await port.writeRegisters(0, [
      [THRESHOLD_BYTES.address, 0xfedcba98],
      [WINDOW_MS.address, 250],
    ]);
    await port.writeRegisters('shell', [[METADATA_MASK.address, 0x0ff0]]);
    expect(await port.readRegisters(0, [WINDOW_MS.address, THRESHOLD_BYTES.address])).toEqual([250, 0xfedcba98]);
    expect(await port.readRegisters('shell', [METADATA_MASK.address])).toEqual([0x0ff0]);
  });

  it.skipIf(missing)('inserts entries into the table by key and reads them back', async () => {
    const { port } = await loaded();
    await until('it has cleared', async () => (await port.readRegisters(0, [COMMON_REGISTERS.STATUS.address]))[0]! < 2);
    const entry = (n: number, bytes: number) => [0x0a000000 + n, 0x0a010001, 0x04d20050, 6, bytes, 3, 0, 2];
    const entries = Array.from({ length: 20 }, (_, n) => entry(n, 100 + n));
    expect(await port.importTable(0, entries)).toBe(0);
    expect(await port.importTable(0, [entry(7, 9000)])).toBe(0);
    const back = await port.exportTable(0, 4096);
    expect(back.length).toBe(20);
    expect(new Map(back.map((words) => [words[0]! & 0xff, words[4]])).get(7)).toBe(9000);
    expect((await port.exportTable(0, 5)).length).toBe(5);
  });

  it.skipIf(missing || lacks)(`reports how many entries did not fit${because(lacks?.limitTable)}`, async () => {
    const { port, limitTable } = await loaded();
    limitTable!(3);
    const entries = Array.from({ length: 5 }, (_, n) => [n, 0, 0, 6, 0, 0, 0, 0]);
    expect(await port.importTable(0, entries)).toBe(2);
  });

  it.skipIf(missing || lacks)(`delivers events of modules${because(lacks?.raise)}`, async () => {
    const { port, events, raise } = await loaded();
    await port.resume(0);
    raise!(1, 2, 3);
    await until('the event', () => events.length > 0);
    expect(events).toMatchObject([{ slot: 0, words: [1, 2, 3, 0, 0, 0, 0, 0] }]);
  });

  it.skipIf(missing)('reports once that it is lost, and refuses later requests', async () => {
    const { port, lost, lose } = await loaded();
    await port.resume(0);
    await lose();
    await until('the loss', () => lost.length > 0);
    await expect(port.readRegisters(0, [0])).rejects.toMatchObject({ name: 'BoardError', kind: 'lost' });
    expect(lost.length).toBe(1);
  });
});
