import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PACKAGE_ROOT } from '../../../package-root.js';
import { builtModule, RealBoardd } from '../../../testing/boards/real-boardd.js';
import { eventLog, scratchDirectory, until } from '../../../testing/scratch.js';
import { instance } from '../../../testing/specs.js';
import { BoardDriver } from '../board-driver.js';
import { identityOf } from '../module-names.js';
import { ADAPTERS } from './index.js';
import type { ModuleAdapter } from './module-adapter.js';

interface Descriptor {
  attributes: { name: string; values: { value: string }[] }[];
  default_config: Record<string, unknown>;
  config_schema: { required?: string[]; properties: Record<string, { default?: unknown }> };
}

const descriptorOf = ({ nf }: ModuleAdapter): Descriptor =>
  JSON.parse(readFileSync(join(PACKAGE_ROOT, `../nfs/${nf}/descriptor.json`), 'utf8'));

interface Sample {
  state: Record<string, unknown>;
  /** Columns that hold times: they advance during the test. */
  ages: number[];
}

/** State in the export format of the software NF. */
const SAMPLES: Record<string, Sample> = {
  'crypto-tunnel': {
    state: {
      outbound_spi: 2_000_000_000,
      inbound: [
        { spi: 1_900_000_000, highest: 70, window: `${'0'.repeat(15)}e${'0'.repeat(14)}71${'0'.repeat(224)}` },
        { spi: 1_800_000_000, highest: 1, window: `${'0'.repeat(15)}2${'0'.repeat(240)}` },
      ],
    },
    ages: [],
  },
  // No destination keeps its count past the end of a window.
  'ddos-detector': {
    state: {
      counters: [
        [0x0a000001, 40, 0, 0],
        [0x0a000002, 900, 0, 0],
      ],
    },
    ages: [],
  },
  'elephant-detector': {
    state: { flows: [[0x0a000001, 0x0a000002, 1234, 80, 6, 2_000_000, 1, 300, 2000]] },
    ages: [7, 8],
  },
  nat: { state: { flows: [[1, 0x0a000001, 700, 0xc6120001, 2005, 4000]] }, ages: [5] },
  'sqli-detector': { state: {}, ages: [] },
  'stateful-firewall': { state: { flows: [[0x0a000001, 0x0a000002, 1234, 80, 6, 2, 3000]] }, ages: [6] },
};
/** Values of required fields, which have no defaults. */
const REQUIRED: Record<string, Record<string, unknown>> = { 'crypto-tunnel': { key: '5f'.repeat(32) } };
const PATIENCE_MS = 5000;

/** The given state, with times advanced by less than the duration of the test. */
function younger(given: Sample): Record<string, unknown> {
  const cell = (value: number, column: number) =>
    given.ages.includes(column) ? expect.toSatisfy((ms: number) => ms >= value && ms < value + PATIENCE_MS) : value;
  return Object.fromEntries(
    Object.entries(given.state).map(([name, value]) => [
      name,
      given.ages.length > 0 ? (value as number[][]).map((row) => row.map(cell)) : value,
    ]),
  );
}

/** At the end of a window this detector halves its counts; only then does its table show them. */
async function expectState(driver: BoardDriver, nf: string): Promise<void> {
  if (nf !== 'ddos-detector') {
    expect(await driver.exportState('p.x.0')).toEqual(younger(SAMPLES[nf]!));
    return;
  }
  const { counters } = (await until('a window ends', async () => {
    const state = await driver.exportState('p.x.0');
    return (state.counters as number[][]).length > 0 && state;
  })) as { counters: number[][] };
  const halves = counters.map(([dst, count]) => [dst, [40, 20, 10, 900, 450, 225].includes(count!)]);
  expect(halves.sort()).toEqual([
    [0x0a000001, true],
    [0x0a000002, true],
  ]);
}

describe.each(ADAPTERS.map((adapter) => [adapter.nf, adapter] as const))('board module %s', (nf, adapter) => {
  it('accepts what its descriptor declares, with the same defaults and attribute', () => {
    const { default_config, config_schema, attributes } = descriptorOf(adapter);
    expect(identityOf(nf)).not.toBeNull();
    const required = Object.fromEntries(
      (config_schema.required ?? []).map((name) => [name, REQUIRED[nf]?.[name] ?? default_config[name]]),
    );
    const defaults = Object.fromEntries(
      Object.entries(config_schema.properties).map(([name, { default: value }]) => [name, value]),
    );
    expect(adapter.configure(required)).toEqual(adapter.configure({ ...defaults, ...required }));
    expect(adapter.configure({ ...default_config, ...required }).length).toBeGreaterThan(0);
    expect(adapter.attribute).toEqual(
      attributes[0] ? { name: attributes[0].name, values: attributes[0].values.map(({ value }) => value) } : null,
    );
    expect(() => adapter.configure({ ...required, colour: 1 })).toThrow('colour');
  });

  const built = builtModule(nf);
  const why = built ? '' : ' (boardd and its module are not built)';
  it.skipIf(!built)(`runs on boardd, and exports the state that it imported${why}`, async () => {
    const directory = scratchDirectory();
    const board = new RealBoardd(directory, 1e-3);
    board.writeImage('m.bit', nf);
    await board.start();
    const { control, events } = board;
    const slots = [{ near: 'n0', far: 'f0' }];
    const boards = [{ id: 'b1', backend: 'simulated' as const, control, events, images: directory, slots }];
    const log = eventLog();
    const driver = new BoardDriver(
      { boards, netdevs: () => new Map(['n0', 'f0'].map((name) => [name, { sent: 0, received: 0 }])) },
      log.emit,
      () => {},
    );
    onTestFinished(() => driver.stop());
    await driver.start();
    const one = instance('p.x.0', {
      nf,
      driver: 'board',
      board: { board: 'b1', slot: 0, load: 'partial', policy: 'hold' },
      config: {
        ...descriptorOf(adapter).default_config,
        ...REQUIRED[nf],
        ...(nf === 'ddos-detector' ? { window_ms: 2000 } : {}),
      },
    });
    await driver.realize({ deploy: [one], configure: [], destruct: [], wiring: null });
    await until('it runs', () => {
      const found = driver.observe().get('p.x.0');
      if (found?.state === 'failed') throw new Error(found.detail!);
      return found?.state === 'running';
    });
    await driver.importState('p.x.0', SAMPLES[nf]!.state);
    await expectState(driver, nf);
    expect((await driver.getInstanceState('p.x.0', 5)).slot).toMatchObject({ state: 'active', module: nf });
    // What was configured in place kept its state.
    await driver.realize({ deploy: [], configure: [{ ...one, core: 3, metadata: {} }], destruct: [], wiring: null });
    await until('it runs again', () => driver.observe().get('p.x.0')?.state === 'running');
    await expectState(driver, nf);
    expect(log.names()).toEqual(['slot.loaded']);
  });
});

it.each(['stateful-firewall', 'elephant-detector'])('%s refuses any number of flows but its table size', (nf) => {
  const adapter = ADAPTERS.find((one) => one.nf === nf)!;
  for (const max_flows of [1, 4095, 4097, 65_536])
    expect(() => adapter.configure({ max_flows })).toThrow('/config/max_flows: must be 4096 on a board');
  expect(adapter.configure({ max_flows: 4096 })).toEqual(adapter.configure({}));
});
