import { formatFlowRows, type InstanceSpec } from '@orrery/contract';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { FakeBoardd } from '../../testing/boards/fake-boardd.js';
import { eventLog, scratchDirectory, until } from '../../testing/scratch.js';
import { instance } from '../../testing/specs.js';
import type { Change } from '../nf-driver.js';
import { BoardDriver } from './board-driver.js';
import { at, word } from './fields.js';
import { BOARD_MODULES, COMMON_REGISTERS } from './registers.js';
import { SimulatedBoard } from './simulated/simulated-board.js';
import { Slot } from './slot.js';

const SHELL = BOARD_MODULES.nf_shell.registers;
const FIREWALL = BOARD_MODULES.nf_stateful_firewall.registers;
const { ATTACKS } = BOARD_MODULES.nf_sqli_detector.registers;
const ENDS = ['n0', 'f0', 'n1', 'f1'];
const none: Change = { deploy: [], configure: [], destruct: [], wiring: null };

function onBoard(id: string, nf: string, slot = 0, over: Partial<InstanceSpec> = {}): InstanceSpec {
  return instance(id, { nf, driver: 'board', board: { board: 'b1', slot, load: 'partial', policy: 'hold' }, ...over });
}
const firewall = (over: Partial<InstanceSpec> = {}) => onBoard('p.fw.0', 'stateful-firewall', 0, over);

async function setUp({ start = true } = {}) {
  const board = new FakeBoardd(scratchDirectory());
  if (start) await board.start();
  onTestFinished(() => board.kill());
  for (const [slot, module] of [
    [0, 'stateful-firewall'],
    [0, 'sqli-detector'],
    [1, 'ddos-detector'],
  ] as const)
    board.writeImage(`${module}.${slot}.bit`, 'partial', [module], slot);
  return { board, ...(await drive(board)) };
}

async function drive(board: FakeBoardd) {
  const log = eventLog();
  const present = new Map(ENDS.map((name) => [name, { sent: 0, received: 0 }]));
  const { control, events, directory: images } = board;
  const slots = [0, 1].map((n) => ({ near: `n${n}`, far: `f${n}` }));
  const boards = [{ id: 'b1', backend: 'simulated' as const, control, events, images, slots }];
  const changes = { count: 0 };
  const driver = new BoardDriver({ boards, netdevs: () => present }, log.emit, () => changes.count++);
  onTestFinished(() => driver.stop());
  await driver.start();
  const states = (state: string, id = 'p.fw.0') =>
    until(`${id} ${state}`, () => driver.observe().get(id)?.state === state);
  return { driver, log, present, states, changes };
}

const callsOf = (board: FakeBoardd, method: string) => board.calls.filter((call) => call.method === method);

describe('BoardDriver', () => {
  it('loads, configures and verifies, and only then lets packets in', async () => {
    const { board, driver, log, states } = await setUp();
    board.stall = true;
    await driver.realize({ ...none, deploy: [firewall({ config: { default_action: 'deny', idle_timeout_s: 77 } })] });
    await until('half of it', () => driver.observed[0]!.slots[0]!.load?.bytes === 500);
    expect(driver.observed[0]).toMatchObject({
      state: 'loading',
      slots: [{ state: 'loading', instance_id: 'p.fw.0', load: { bytes_total: 1000 } }, { state: 'empty' }],
    });
    expect(driver.observe().get('p.fw.0')).toMatchObject({ state: 'starting', ends: null });
    board.proceed();
    await states('running');
    expect(driver.observe().get('p.fw.0')).toMatchObject({
      ends: { near: 'n0', far: 'f0' },
      place: { board: 'b1', slot: 0 },
    });
    const { model, state } = board.slots[0]!;
    expect(state).toBe('active');
    expect(model!.memory.get(FIREWALL.IDLE_TIMEOUT_S.address)).toBe(77);
    expect(model!.memory.get(FIREWALL.DEFAULT_ACTION.address)).toBe(0);
    expect(model!.memory.get(COMMON_REGISTERS.CONTROL.address)).toBe(1);
    // Everything is configured before frames may enter.
    const order = board.calls.map(({ method }) => method);
    expect(order.lastIndexOf('csr_write')).toBeLessThan(order.indexOf('resume'));
    expect(driver.observed[0]).toMatchObject({
      state: 'operating',
      last_load: { error: null, module: 'stateful-firewall', held: 3 },
    });
    expect(log.names()).toEqual(['slot.loaded']);
  });

  it('loads nothing if the module already runs, and keeps its flows', async () => {
    const first = await setUp();
    await first.driver.realize({ ...none, deploy: [firewall()] });
    await first.states('running');
    const flow = [1, 2, 3, 6, 2, 0, 0, 5];
    first.board.slots[0]!.model!.put(flow);
    first.driver.stop();
    const second = await drive(first.board);
    await second.driver.realize({ ...none, deploy: [firewall()] });
    await second.states('running');
    await second.driver.realize({ ...none, configure: [firewall({ config: { idle_timeout_s: 9 } })] });
    await until('the new time', () => first.board.slots[0]!.model!.memory.get(FIREWALL.IDLE_TIMEOUT_S.address) === 9);
    await second.states('running');
    expect(callsOf(first.board, 'load').length).toBe(1);
    expect(first.board.slots[0]!.model!.entries).toEqual([flow]);
  });

  it('hands no flows or drops to another instance that takes the slot with the same module', async () => {
    const { board, driver, states } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await states('running');
    const model = board.slots[0]!.model!;
    model.put([1, 2, 3, 6, 2, 0, 0, 5]);
    model.memory.set(at(COMMON_REGISTERS.DROPS, 0), 100);
    await driver.realize({ ...none, destruct: ['p.fw.0'], deploy: [onBoard('q.fw.0', 'stateful-firewall')] });
    await states('running', 'q.fw.0');
    expect(await driver.exportState('q.fw.0')).toEqual({ flows: [] });
    expect(callsOf(board, 'load').length).toBe(1);
    board.slots[0]!.model!.memory.set(at(COMMON_REGISTERS.DROPS, 0), 3);
    await until('its own are counted', () => driver.drops('q.fw.0').denied === 3);
    model.put([1, 2, 3, 6, 2, 0, 0, 5]);
    await driver.realize({
      ...none,
      configure: [onBoard('q.fw.0', 'stateful-firewall', 0, { config: { rules: [] } })],
    });
    await states('running', 'q.fw.0');
    expect(model.entries.length).toBe(1);
  });

  it('loads the newest of several modules requested during a load', async () => {
    const { board, driver, states } = await setUp();
    board.stall = true;
    await driver.realize({ ...none, deploy: [firewall()] });
    await until('it loads', () => board.slots[0]!.state === 'loading');
    await driver.realize({ ...none, configure: [onBoard('p.fw.0', 'teapot')] }).catch(() => undefined);
    await driver.realize({ ...none, destruct: ['p.fw.0'], deploy: [onBoard('p.sqli.0', 'sqli-detector')] });
    expect([...driver.observe().keys()]).toEqual(['p.sqli.0']);
    board.proceed();
    await states('running', 'p.sqli.0');
    const images = callsOf(board, 'load').map(({ params }) => String(params.image).split('/').at(-1));
    expect(images).toEqual(['stateful-firewall.0.bit', 'sqli-detector.0.bit']);
    expect(callsOf(board, 'resume').length).toBe(1);
  });

  it('loads one slot after the other', async () => {
    const { board, driver, states } = await setUp();
    board.stall = true;
    await driver.realize({ ...none, deploy: [firewall(), onBoard('p.ddos.0', 'ddos-detector', 1)] });
    await until('the first loads', () => board.slots.some(({ state }) => state === 'loading'));
    expect(callsOf(board, 'load').length).toBe(1);
    board.proceed();
    await states('running');
    await states('running', 'p.ddos.0');
  });

  it("fails permanently with the board's error until the board comes back or the spec changes", async () => {
    const { board, driver, log, states } = await setUp();
    board.writeImage('stateful-firewall.0.bit', 'partial', ['stateful-firewall'], 0);
    const path = board.writeImage('a.bit', 'partial', ['ddos-detector'], 0);
    await board.kill();
    await board.start();
    await until('it is back', () => log.names().includes('board.back'));
    // Someone else's file by the time it is loaded.
    board.writeImage('a.bit', 'partial', ['ddos-detector'], 0, '5e000000-0000-8000-8000-000000000002');
    await driver.realize({ ...none, deploy: [onBoard('p.d.0', 'ddos-detector', 0)] });
    await states('failed', 'p.d.0');
    expect(path).toContain('a.bit');
    expect(driver.observe().get('p.d.0')).toMatchObject({
      permanent: true,
      detail: 'reconfig incompatible image: made for another shell',
    });
    expect(driver.observed[0]!.last_load!.error).toContain('reconfig incompatible image');
    expect(callsOf(board, 'load').length).toBe(1);
    await driver.realize({ ...none, destruct: ['p.d.0'], deploy: [firewall()] });
    await states('running');
  });

  it('refuses a configuration that the module cannot take, and a module without a bitstream', async () => {
    const { board, driver, states } = await setUp();
    await driver.realize({ ...none, deploy: [firewall({ config: { rules: [{ action: 'deny', src: 'nowhere' }] } })] });
    await states('failed');
    expect(driver.observe().get('p.fw.0')).toMatchObject({
      permanent: true,
      detail: expect.stringContaining('/config/rules/0/src'),
    });
    expect(callsOf(board, 'load').length).toBe(0);
    await driver.realize({ ...none, configure: [onBoard('p.fw.0', 'ddos-detector')] });
    await until('the new reason', () => driver.observe().get('p.fw.0')?.detail?.startsWith('no partial bitstream'));
  });

  it('reports a board that is lost, and reloads it when it comes back empty', async () => {
    const { board, driver, log, states } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await states('running');
    const denied = (count: number) => board.slots[0]!.model!.memory.set(at(COMMON_REGISTERS.DROPS, 0), count);
    denied(100);
    await until('it is counted', () => driver.drops('p.fw.0').denied === 100);
    await board.kill();
    await states('failed');
    expect(driver.observe().get('p.fw.0')).toMatchObject({ detail: 'board b1 is not there' });
    expect(driver.observe().get('p.fw.0')!.permanent).toBeFalsy();
    expect(driver.observed[0]).toMatchObject({ state: 'absent' });
    expect(driver.descriptions.length).toBe(1);
    await board.start();
    await states('running');
    expect(log.names()).toEqual(['slot.loaded', 'board.lost', 'board.back', 'slot.loaded']);
    // The module restarts from zero, the instance does not.
    denied(5);
    await until('it is added', () => driver.drops('p.fw.0').denied === 105);
  });

  it('counts what a board loses in a power failure by what the engine does not get back', async () => {
    const { board, driver, log, present, states } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await states('running');
    const lost = () => driver.samples[0]?.slots.map((slot) => slot.lost);
    const told = () => log.events.filter(({ event }) => event === 'board.back').map(({ message }) => message);
    // What the module dropped while it worked is already counted there.
    present.set('n0', { sent: 1000, received: 10 });
    present.set('f0', { sent: 15, received: 900 });
    const readings = () => callsOf(board, 'status').length;
    const before = readings();
    await until('it was read since', () => readings() > before + 1);
    expect(lost()).toEqual([1, 1]);
    await board.kill();
    await states('failed');
    present.set('n0', { sent: 1040, received: 10 });
    present.set('f0', { sent: 17, received: 901 });
    present.set('n1', { sent: 5, received: 0 });
    await until('nobody listens on its socket', () => driver.samples.length > 0);
    expect(lost()).toEqual([42, 6]);
    expect(driver.samples).toMatchObject([{ slowdown: null, cpu_share: null, slots: [{ frames_in: 7 }, {}] }]);
    present.delete('n1');
    expect(lost()).toEqual([42, 1]);
    await board.start();
    await until('it is reported', () => told().length > 0);
    // An empty slot has dropped one frame of each since then: in slot 0 one of the 41 that did not come back.
    expect(told()).toEqual(['Board b1 is connected; 42 frames were lost with its power']);
    expect(lost()).toEqual([42, 2]);
    const later = readings();
    await until('it was read since', () => readings() > later + 1);
    expect(lost()).toEqual([42, 2]);
  });

  it('gives no figures of a board that does not answer, and counts what its ports lost in that time', async () => {
    const { board, driver, log, states } = await setUp();
    board.powered_ms = Date.now() - 600_000;
    await driver.realize({ ...none, deploy: [firewall()] });
    await states('running');
    expect(driver.samples).toMatchObject([{ slots: [{ lost: 1 }, { lost: 1 }] }]);
    const wake = board.hang();
    await until('its figures are old', () => driver.samples.length === 0);
    await states('failed');
    expect(driver.samples).toEqual([]);
    board.kernelDrops = 30;
    wake();
    await until('it is back', () => log.names().includes('board.back'));
    expect(log.events.find(({ event }) => event === 'board.back')).toMatchObject({
      message: 'Board b1 is connected; 60 frames were lost while it did not answer',
    });
    expect(driver.samples).toMatchObject([{ slots: [{ lost: 31 }, { lost: 31 }] }]);
  });

  it('counts events that a module lost, and says so', async () => {
    const { board, driver, log, states } = await setUp();
    await driver.realize({ ...none, deploy: [onBoard('p.s.0', 'sqli-detector')] });
    await states('running', 'p.s.0');
    board.slots[0]!.model!.memory.set(COMMON_REGISTERS.EVENT_LOST.address, 6118);
    await until('it is told', () => log.names().includes('board.events-lost'));
    expect(log.events.find(({ event }) => event === 'board.events-lost')).toMatchObject({
      message: '6118 events of slot 0 were lost',
    });
    board.slots[0]!.model!.memory.set(ATTACKS.address, 23_570);
    expect(await driver.getInstanceState('p.s.0', 10)).toMatchObject({ alert_count: 23_570, events_lost: 6118 });
  });

  it('keeps a record of a load that the loss of the board cut off, and tells that it loads again', async () => {
    const { board, driver, states } = await setUp();
    board.stall = true;
    await driver.realize({ ...none, deploy: [firewall()] });
    const slot = () => driver.observed[0]!.slots[0]!;
    await until('half of it', () => slot().load?.bytes === 500);
    expect(slot()).toMatchObject({ state: 'loading', reloads: false });
    await board.kill();
    await until('it is recorded', () => driver.observed[0]!.last_load !== null);
    expect(driver.observed[0]!.last_load).toMatchObject({
      slot: 0,
      module: 'stateful-firewall',
      bytes: 500,
      error: expect.stringContaining('the board was lost during the load'),
    });
    board.stall = false;
    await board.start();
    await states('running');
    expect(driver.observed[0]).toMatchObject({ last_load: { error: null }, slots: [{ reloads: false }, {}] });
    await board.kill();
    await states('failed');
    board.stall = true;
    await board.start();
    await until('it loads again', () => slot().reloads);
    board.proceed();
    await states('running');
    expect(slot().reloads).toBe(false);
  });

  it('counts no loss when only the connection was lost', async () => {
    const { board, driver, log, present, states } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await states('running');
    board.powered_ms = Date.now() - 60_000;
    board.disconnect();
    await states('failed');
    present.set('n0', { sent: 30, received: 0 });
    await until('it is back', () => log.names().includes('board.back'));
    expect(log.events.find(({ event }) => event === 'board.back')!.message).toBe('Board b1 is connected');
  });

  it('connects to a board that starts after the agent', async () => {
    const { board, driver, states } = await setUp({ start: false });
    await driver.realize({ ...none, deploy: [firewall()] });
    expect(driver.descriptions).toEqual([]);
    expect(driver.observed[0]).toMatchObject({ state: 'absent', slots: [{ state: 'unknown' }, { state: 'unknown' }] });
    await board.start();
    await states('running');
  });

  it('reports a faulty slot and reloads it', async () => {
    const { board, driver, log, states } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await states('running');
    board.slots[0] = { ...board.slots[0]!, state: 'faulty', error: 'does not drain' };
    await states('failed');
    expect(driver.observe().get('p.fw.0')!.detail).toBe('does not drain');
    await states('running');
    expect(log.names()).toEqual(['slot.loaded', 'slot.faulty', 'slot.failed', 'slot.loaded']);
  });

  it('keeps using the other slots when one load fails, and reloads when the desired state changes', async () => {
    const { board, driver, states } = await setUp();
    await driver.realize({ ...none, deploy: [onBoard('p.ddos.0', 'ddos-detector', 1)] });
    await states('running', 'p.ddos.0');
    board.fault = 'reconfig CRC error';
    await driver.realize({ ...none, deploy: [firewall()] });
    await states('failed');
    await until('it is read', () => driver.observed[0]!.slots[0]!.state === 'faulty');
    expect(driver.observed[0]).toMatchObject({ state: 'operating', slots: [{ detail: 'reconfig CRC error' }, {}] });
    expect(driver.observe().get('p.ddos.0')!.state).toBe('running');
    board.fault = null;
    await driver.realize({ ...none, destruct: ['p.fw.0'], deploy: [onBoard('p.s.0', 'sqli-detector')] });
    await states('running', 'p.s.0');
  });

  it('reports a failed board when a full load left every slot faulty', async () => {
    const { board, driver, log, states } = await setUp();
    board.writeImage('both.full.bit', 'full', ['stateful-firewall', null]);
    await board.kill();
    await board.start();
    await until('it is back', () => log.names().includes('board.back'));
    board.fault = 'reconfig CRC error';
    const place = { board: 'b1', slot: 0, load: 'full' as const, policy: 'drop' as const };
    await driver.realize({ ...none, deploy: [firewall({ board: place })] });
    await states('failed');
    await until('it is read', () => driver.observed[0]!.state === 'failed');
    expect(driver.observed[0]).toMatchObject({ detail: 'reconfig CRC error', slots: [{ state: 'faulty' }, {}] });
  });

  it('reports unexpected read failures once, and keeps reading', async () => {
    const { board, driver, log, states } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await states('running');
    const status = vi.spyOn(SimulatedBoard.prototype, 'status');
    onTestFinished(() => status.mockRestore());
    status.mockRejectedValueOnce(new TypeError('odd')).mockRejectedValueOnce(new TypeError('odd'));
    await until('both failed and one did not', () => status.mock.calls.length >= 3);
    board.slots[0] = { ...board.slots[0]!, state: 'faulty', error: 'does not drain' };
    await until('it is read', () => log.names().includes('slot.faulty'));
    expect(log.events.filter(({ event }) => event === 'board.poll-failed')).toMatchObject([
      { subject: 'b1', message: 'Board b1 cannot be read: TypeError: odd' },
    ]);
  });

  it('empties the slot of a removed instance', async () => {
    const { board, driver, states } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await states('running');
    await driver.realize({ ...none, destruct: ['p.fw.0'] });
    await until('it is empty', () => board.slots[0]!.state === 'empty');
    expect(driver.observe().size).toBe(0);
  });

  it('reports what was in a slot before it started, and empties the slot when told to', async () => {
    const first = await setUp();
    await first.driver.realize({ ...none, deploy: [firewall(), onBoard('p.ddos.0', 'ddos-detector', 1)] });
    await first.states('running');
    await first.states('running', 'p.ddos.0');
    expect(first.driver.unclaimed).toEqual([]);
    first.driver.stop();
    const second = await drive(first.board);
    expect(second.driver.unclaimed).toEqual([0, 1].map((slot) => ({ board: 'b1', slot })));
    await second.driver.realize({ ...none, deploy: [firewall()] });
    const vacate = second.driver.unclaimed;
    expect(vacate).toEqual([{ board: 'b1', slot: 1 }]);
    await second.driver.realize({ ...none, vacate });
    expect(second.driver.unclaimed).toEqual([]);
    await until('it is empty', () => first.board.slots[1]!.state === 'empty');
    await second.states('running');
  });

  it('is not ready while an interface is missing, and notices when it appears', async () => {
    const { driver, present, states, changes } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await states('running');
    present.delete('f0');
    expect(driver.observe().get('p.fw.0')).toMatchObject({
      state: 'failed',
      ends: null,
      detail: 'there is no interface f0',
    });
    const before = changes.count;
    await until('it is heard', () => changes.count > before);
    present.set('f0', { sent: 0, received: 0 });
    expect(driver.observe().get('p.fw.0')).toMatchObject({ state: 'running', ends: { far: 'f0' } });
  });

  it('writes classes into the metadata word where the plan says, and nowhere without one', async () => {
    const { board, driver, states } = await setUp();
    const metadata = { verdict: { offset: 3, width: 2, values: { clean: 1, attack: 2 } } };
    await driver.realize({ ...none, deploy: [onBoard('p.s.0', 'sqli-detector', 0, { metadata })] });
    await states('running', 'p.s.0');
    const classes = [SHELL.METADATA_MASK, SHELL.METADATA_VALUE_0, SHELL.METADATA_VALUE_1, SHELL.METADATA_VALUE_2];
    expect(classes.map((register) => board.shell.get(at(register, 0)))).toEqual([0b11000, 0, 0b01000, 0b10000]);
    await driver.realize({ ...none, configure: [onBoard('p.s.0', 'sqli-detector')] });
    await until('no bits', () => board.shell.get(at(SHELL.METADATA_MASK, 0)) === 0);
  });

  it('replaces every slot by a full image, and finds the modules of all slots in it', async () => {
    const { board, driver, log, states } = await setUp();
    board.writeImage('both.full.bit', 'full', ['stateful-firewall', 'ddos-detector']);
    board.writeImage('one.full.bit', 'full', ['stateful-firewall', null]);
    await board.kill();
    await board.start();
    await until('it is back', () => log.names().includes('board.back'));
    const full = (slot: number) => ({ board: 'b1', slot, load: 'full' as const, policy: 'hold' as const });
    const both = [firewall({ board: full(0) }), onBoard('p.d.0', 'ddos-detector', 1, { board: full(1) })];
    await driver.realize({ ...none, deploy: both });
    await states('running');
    await states('running', 'p.d.0');
    expect(callsOf(board, 'load').map(({ params }) => [params.slot, params.policy])).toEqual([[null, 'drop']]);
    expect(board.slots.map(({ state }) => state)).toEqual(['active', 'active']);
  });

  it('exports and imports flows as the software NF does', async () => {
    const { board, driver, states } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await states('running');
    const flows = [
      [0x0a000001, 0x0a000002, 1234, 80, 6, 2, 3000],
      [0x0a000003, 0x0a000002, 65535, 443, 6, 1, 10_000],
    ];
    await driver.importState('p.fw.0', { flows });
    expect(board.slots[0]!.model!.entries[0]).toEqual([0x0a000001, 0x0a000002, 1234 * 65536 + 80, 6, 2, 0, 0, 3]);
    expect(await driver.exportState('p.fw.0')).toEqual({ flows });
    expect(await driver.getInstanceState('p.fw.0', 1)).toMatchObject({
      flow_count: 2,
      flows: [{ src: '10.0.0.1', src_port: 1234, state: 'established' }],
    });
    await expect(driver.importState('p.fw.0', { flows: [[1, 2, 3, 4, 6, 9, 0]] })).rejects.toThrow('/state/flows/0/5');
  });

  it('leaves out and counts imported flows of IPv6', async () => {
    const { board, driver, states } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await states('running');
    const mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    const little = (bytes: number[]) => bytes.toReversed();
    const behind = [0xd2, 4, 80, 0, 6, 2, 0xb8, 0x0b, 0, 0, 0, 0, 0, 0];
    const ipv4 = [...little([...mapped, 10, 0, 0, 1]), ...little([...mapped, 10, 0, 0, 2]), ...behind];
    const ipv6 = [
      ...little([0x20, 1, ...Array(13).fill(0), 1]),
      ...little([0x20, 1, ...Array(13).fill(0), 2]),
      ...behind,
    ];
    const flows = formatFlowRows({
      widths: [16, 16, 2, 2, 1, 1, 8],
      rows: [ipv4, ipv6, ipv6].map((row) => Uint8Array.from(row)),
    });
    await driver.importState('p.fw.0', { flows });
    expect(board.slots[0]!.model!.entries).toEqual([[0x0a000001, 0x0a000002, 1234 * 65536 + 80, 6, 2, 0, 0, 3]]);
    expect(await driver.getInstanceState('p.fw.0', 1)).toMatchObject({ flow_count: 1, ipv6_rows_left_out: 2 });
  });

  it('raises alerts of modules, up to a rate', async () => {
    const { board, driver, log, states } = await setUp();
    await driver.realize({ ...none, deploy: [onBoard('p.s.0', 'sqli-detector')] });
    await states('running', 'p.s.0');
    const came = vi.spyOn(Slot.prototype, 'event');
    onTestFinished(() => came.mockRestore());
    for (let n = 0; n < 200; n++) board.raise(0, 1, 0x0a000001, 0x0a000002, 1000 * 65536 + 80, 0b101, 64);
    await until('all are there', () => came.mock.calls.length === 200);
    const alerts = log.events.filter(({ event }) => event === 'sqli.alert');
    expect(alerts.length).toBeGreaterThanOrEqual(20);
    expect(alerts.length).toBeLessThan(60);
    expect(alerts[0]).toMatchObject({ subject: 'p.s.0', message: 'SQL injection from 10.0.0.1 to 10.0.0.2:80' });
  });

  it('receives what modules found while the agent was away, and reports what was lost', async () => {
    const { board, driver, states } = await setUp();
    await driver.realize({ ...none, deploy: [onBoard('p.s.0', 'sqli-detector')] });
    await states('running', 'p.s.0');
    driver.stop();
    const came = vi.spyOn(Slot.prototype, 'event');
    onTestFinished(() => came.mockRestore());
    const second = await drive(board);
    for (let n = 0; n < 18; n++) board.raise(0, 1, 0x0a000001, 0x0a000002, 1000 * 65536 + 80, 0b101, 64);
    await until('they are there before anybody', () => came.mock.calls.length === 18);
    await second.driver.realize({ ...none, deploy: [onBoard('p.s.0', 'sqli-detector')] });
    await second.states('running', 'p.s.0');
    board.slots[0]!.model!.memory.set(ATTACKS.address, 18);
    expect(await second.driver.getInstanceState('p.s.0', 10)).toMatchObject({ alert_count: 18, events_lost: 2 });
    const lost = second.log.events.filter(({ event }) => event === 'board.events-lost');
    expect(lost).toMatchObject([{ message: '2 events of slot 0 were lost' }]);
  });

  it('counts drops by the reasons of the module, beyond 32 bits', async () => {
    const { board, driver, states } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await states('running');
    const { memory } = board.slots[0]!.model!;
    memory.set(at(COMMON_REGISTERS.DROPS, 1), 0xfffffff0);
    await until('they are read', () => driver.drops('p.fw.0')['no-state'] === 0xfffffff0);
    memory.set(at(COMMON_REGISTERS.DROPS, 1), 4);
    await until('they are added', () => driver.drops('p.fw.0')['no-state'] === 2 ** 32 + 4);
    expect(driver.samples).toMatchObject([{ board: 'b1', slowdown: 9, slots: [{ frames_in: 7, lost: 1 }, {}] }]);
  });

  it('derives the registers of the firewall from its rules', async () => {
    const { board, driver, states } = await setUp();
    const rules = [
      { action: 'deny', proto: 'tcp', dst_port: '8000-8080', src: '10.1.0.0/16' },
      { action: 'allow', dst: '10.0.0.9', dst_port: 53 },
    ];
    await driver.realize({ ...none, deploy: [firewall({ config: { rules } })] });
    await states('running');
    const { memory } = board.slots[0]!.model!;
    const rule = (i: number) =>
      [
        ...[FIREWALL.RULE_SOURCE, FIREWALL.RULE_SOURCE_MASK],
        ...[FIREWALL.RULE_DESTINATION, FIREWALL.RULE_DESTINATION_MASK],
        ...[FIREWALL.RULE_PORTS, FIREWALL.RULE_MATCH],
      ].map((register) => memory.get(at(register, i)));
    expect(rule(0)).toEqual([
      ...[0x0a010000, 0xffff0000, 0, 0, word(FIREWALL.RULE_PORTS, { FIRST: 8000, LAST: 8080 })],
      word(FIREWALL.RULE_MATCH, { VALID: 1, PROTOCOL: 6 }),
    ]);
    expect(rule(1)).toEqual([
      ...[0, 0, 0x0a000009, 0xffffffff, word(FIREWALL.RULE_PORTS, { FIRST: 53, LAST: 53 })],
      word(FIREWALL.RULE_MATCH, { VALID: 1, ALLOW: 1, ANY_PROTOCOL: 1 }),
    ]);
    expect(memory.get(at(FIREWALL.RULE_MATCH, 2))).toBe(0);
    expect(memory.get(at(FIREWALL.STATE_TABLE, 7))).toBe(0);
    expect(memory.get(at(FIREWALL.STATE_TABLE, 1))).toBe(word(FIREWALL.STATE_TABLE, { DROP: 1 }));
  });
});
