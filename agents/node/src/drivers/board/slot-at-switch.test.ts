import type { InstanceSpec } from '@orrery/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { decide } from '../../reconcile/decide.js';
import { FakeBoardd } from '../../testing/boards/fake-boardd.js';
import { eventLog, scratchDirectory, until } from '../../testing/scratch.js';
import { instance, nodeSpec, output } from '../../testing/specs.js';
import { BoardDriver } from './board-driver.js';
import { at } from './fields.js';
import { BOARD_MODULES } from './registers.js';

const SHELL = BOARD_MODULES.nf_shell.registers;
const none = { deploy: [], configure: [], destruct: [], wiring: null };

function firewall(over: Partial<InstanceSpec> = {}, hangs = true): InstanceSpec {
  return instance('p.fw.b1-0', {
    nf: 'stateful-firewall',
    driver: 'board',
    board: { board: 'b1', slot: 0, load: 'partial', policy: 'bypass', ...(hangs ? { attached: 'switch' } : {}) },
    outputs: [output('p.e1', { kind: 'hop', hop: 7 })],
    ...over,
  });
}

async function setUp() {
  const board = new FakeBoardd(scratchDirectory());
  await board.start();
  onTestFinished(() => board.kill());
  board.writeImage('fw.0.bit', 'partial', ['stateful-firewall'], 0);
  const down = new Set<string>();
  const present = new Map(['n0', 'f0', 'n1', 'f1'].map((name) => [name, { sent: 0, received: 0 }]));
  const { control, events, directory: images } = board;
  const slots = [0, 1].map((n) => ({ near: `n${n}`, far: `f${n}` }));
  const boards = [
    { id: 'b1', backend: 'simulated' as const, attached: 'switch' as const, control, events, images, slots },
  ];
  const driver = new BoardDriver(
    { boards, netdevs: () => present, isLinkDown: (iface) => down.has(iface) },
    eventLog().emit,
    () => undefined,
  );
  onTestFinished(() => driver.stop());
  await driver.start();
  const running = () => until('running', () => driver.observe().get('p.fw.b1-0')?.state === 'running');
  return { board, driver, down, present, running };
}

describe('a slot at a switch', () => {
  it('gets the next hops before its module, since frames may pass it during the load, and no engine is told of it', async () => {
    const { board, driver, running } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await running();
    expect(board.shell.get(at(SHELL.HOPS_FORWARD_0, 0))).toBe(0x0007_0007);
    expect(driver.observe().get('p.fw.b1-0')).toMatchObject({ ends: null, atSwitch: true });
    const order = board.calls.map(({ method }) => method);
    expect(order.indexOf('csr_write')).toBeLessThan(order.indexOf('load'));
  });

  it('gets other hops without being loaded again', async () => {
    const { board, driver, running } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await running();
    await driver.realize({ ...none, configure: [firewall({ outputs: [output('p.e1', { kind: 'hop', hop: 9 })] })] });
    await until('the new hop', () => board.shell.get(at(SHELL.HOPS_FORWARD_0, 0)) === 0x0009_0009);
    await running();
    expect(board.calls.filter(({ method }) => method === 'load')).toHaveLength(1);
  });

  it('is told as failed with the port whose link is down, and as well when it is back', async () => {
    const { driver, down, running } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await running();
    down.add('f0');
    expect(driver.observe().get('p.fw.b1-0')).toMatchObject({
      state: 'failed',
      detail: 'its link is down at far0',
    });
    expect(driver.portsAtSwitches.map(({ port }) => port)).toEqual(['b1 near0', 'b1 far0']);
    down.clear();
    await running();
  });

  it('has figures of its own, which count what a board without power did not pass on', async () => {
    const { board, driver, present, running } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await running();
    await until('figures', () => driver.figures.length === 1);
    expect(driver.figures[0]).toMatchObject({ instance_id: 'p.fw.b1-0', packets_in: 0, packets_out: 0, drops: {} });
    await board.kill();
    present.set('n0', { sent: 0, received: 12 });
    await until('the loss', () => driver.figures[0]?.packets_in === 12);
    expect(driver.figures[0]).toMatchObject({ packets_in: 12, packets_out: 0, drops: { 'slot-dropped': 12 } });
  });

  it('does not count as passed on what its shell dropped for want of a next hop', async () => {
    const { board, driver, running } = await setUp();
    await driver.realize({ ...none, deploy: [firewall()] });
    await running();
    await until('figures', () => driver.figures.length === 1);
    board.noHop = 4;
    await until('the drops', () => driver.figures[0]?.drops['no-hop'] === 4);
    expect(driver.samples).toMatchObject([{ slots: [{ no_hop: 4 }, {}] }]);
  });

  it('refuses for good what its shell cannot do, and an instance that is meant to stand beside an engine', async () => {
    const { driver } = await setUp();
    const exits = firewall({ outputs: [output('p.e1', { kind: 'exit', exit_id: 'p.exit' })] });
    await driver.realize({ ...none, deploy: [exits] });
    await until('refused', () => driver.observe().get('p.fw.b1-0')?.state === 'failed');
    expect(driver.observe().get('p.fw.b1-0')).toMatchObject({ permanent: true });
    await expect(driver.realize({ ...none, deploy: [firewall({}, false)] })).rejects.toThrow(
      'b1 hangs on a switch here, and the plan has it otherwise',
    );
  });

  it('is reached when it runs, while its engine has neither its interfaces nor its hop', async () => {
    const { driver, running } = await setUp();
    const one = firewall();
    await driver.realize({ ...none, deploy: [one] });
    await running();
    const spec = nodeSpec({
      instances: [one, instance('p.mon.0', { outputs: [output('p.e2', { kind: 'exit', exit_id: 'p.exit' })] })],
      hops: [
        { hop: 3, instance_id: one.id, direction: 'forward' },
        { hop: 7, instance_id: 'p.mon.0', direction: 'forward' },
      ],
      exits: [{ exit_id: 'p.exit', chain_id: 'p', direction: 'forward' }],
    });
    const engine = {
      ...{ status: 'running', pid: 1, error: null, applied: null, instances: new Map(), start_not_before_ms: 0 },
      ...{ workers: 1, nfs: null, abilities: [] },
    } as never;
    const world = {
      spec,
      engine,
      hosted: [],
      failure: null,
      troubles: [],
      element: () => null,
      converged: 0,
      now_ms: 0,
      boards: {
        kind: 'board' as const,
        nfs: driver.nfs,
        instances: driver.observe(),
        observed: driver.observed,
        unclaimed: [],
      },
    };
    const { steps, observed } = decide(world);
    const wiring = steps.flatMap((step) =>
      step.kind === 'realize' && step.change.wiring ? [step.change.wiring] : [],
    )[0]!;
    expect(wiring.probes.instances.map(({ instance_id }) => instance_id)).toEqual(['p.mon.0']);
    const hops = wiring.graph.modules.flatMap((module) => (module.kind === 'hop_in' ? [module.config] : []));
    expect(hops).toMatchObject([{ hops: [{ hop: 7 }] }]);
    expect(observed.instances.find(({ id }) => id === one.id)).toMatchObject({ state: 'running' });
  });
});
