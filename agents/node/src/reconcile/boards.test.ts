import type { InstanceSpec, ObservedBoard } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { compile } from '../drivers/engine/compile.js';
import { boardDigest, digestOf } from '../drivers/instance-digest.js';
import type { BoardInstance } from '../drivers/nf-driver.js';
import { ENGINE_TRAITS, instance, nodeSpec, output } from '../testing/specs.js';
import { decide, type World } from './decide.js';
import { endsOf } from './hosted.js';

const slot = (n: number) => ({
  slot: n,
  state: 'active' as const,
  module: null,
  instance_id: null,
  load: null,
  reloads: false,
  detail: null,
});
const BOARD: ObservedBoard = { id: 'b1', state: 'operating', detail: null, slots: [slot(0), slot(1)], last_load: null };

const board = (id: string, over: Partial<InstanceSpec> = {}, n = 0) =>
  instance(id, {
    nf: 'sqli-detector',
    driver: 'board',
    board: { board: 'b1', slot: n, load: 'partial', policy: 'hold' },
    ...over,
  });

function runs(one: InstanceSpec, over: Partial<BoardInstance> = {}): [string, BoardInstance] {
  const { board: place } = one;
  return [
    one.id,
    {
      digest: boardDigest(one),
      state: 'running',
      detail: null,
      place: { board: place!.board, slot: place!.slot },
      ends: { near: `n${place!.slot}`, far: `f${place!.slot}` },
      atSwitch: false,
      ...over,
    },
  ];
}
const loading = { state: 'starting' as const, ends: null };

function world(instances: InstanceSpec[], there: [string, BoardInstance][], over: Partial<World> = {}): World {
  const spec = nodeSpec({ generation: 3, instances });
  return {
    spec,
    engine: {
      status: 'running',
      pid: 7,
      ...ENGINE_TRAITS,
      applied: null,
      instances: new Map(),
      declared: [],
      start_not_before_ms: 0,
      error: null,
    },
    hosted: [],
    boards: {
      kind: 'board',
      nfs: ['sqli-detector', 'ddos-detector'],
      instances: new Map(there),
      observed: [BOARD],
      unclaimed: [],
    },
    failure: null,
    troubles: [],
    element: () => null,
    converged: 2,
    now_ms: 1000,
    ...over,
  };
}

/** The same world after the engine has applied the graph that decide returned. */
function applied(before: World): World {
  const { graph } = compile(before.spec!, ENGINE_TRAITS, endsOf(before.spec!, [before.boards]));
  const instances = new Map(before.spec!.instances.map((one) => [one.id, digestOf(one)]));
  return { ...before, engine: { ...before.engine, applied: digestOf(graph), instances } };
}

const brief = (decided: ReturnType<typeof decide>) =>
  decided.steps.map((step) => {
    if (step.kind === 'start-engine') return 'start-engine';
    const { deploy, configure, destruct, vacate = [], wiring } = step.change;
    const ports = wiring ? [`wiring(${wiring.graph.ports.map(({ name }) => name).join(' ')})`] : [];
    return [
      step.driver,
      ...deploy.map(({ id }) => `+${id}`),
      ...configure.map(({ id }) => `~${id}`),
      ...destruct.map((id) => `-${id}`),
      ...vacate.map(({ board, slot }) => `-${board}/${slot}`),
      ...ports,
    ].join(' ');
  });

describe('decide with boards', () => {
  it('loads without waiting, and sends packets to the slot when it is ready', () => {
    const one = board('p.s.0');
    const first = world([one, instance('p.mon.0')], []);
    expect(brief(decide(first))).toEqual(['board +p.s.0', 'engine wiring(nic0)']);
    const second = applied(world([one, instance('p.mon.0')], [runs(one, loading)]));
    expect(decide(second)).toMatchObject({
      steps: [],
      observed: { generation: 2, state: 'progressing', boards: [{ id: 'b1' }] },
    });
    expect(decide(second).observed.instances.map(({ state }) => state)).toEqual(['starting', 'running']);
    const third = { ...second, boards: { ...second.boards, instances: new Map([runs(one)]) } };
    expect(brief(decide(third))).toEqual(['engine wiring(nic0 p.s.0:near p.s.0:far)']);
    expect(decide(applied(third)).observed).toMatchObject({ generation: 3, state: 'converged' });
  });

  it('reassigns a slot only after the data plane has stopped using it', () => {
    const [old, fresh] = [board('p.old.0'), board('p.new.0')];
    const before = world([fresh], [runs(old)]);
    expect(brief(decide(before))).toEqual(['engine wiring(nic0)']);
    expect(brief(decide(applied(before)))).toEqual(['board +p.new.0 -p.old.0']);
    expect(decide(before).observed.instances).toContainEqual({ id: 'p.old.0', state: 'stopping', detail: null });
  });

  it('removes a leftover of an earlier agent after the data plane has stopped using it', () => {
    const before = world([board('p.s.0')], []);
    const unclaimed = [0, 1].map((n) => ({ board: 'b1', slot: n }));
    const found = { ...before, boards: { ...before.boards, unclaimed } };
    expect(brief(decide(found))).toEqual(['board +p.s.0', 'engine wiring(nic0)']);
    const later = applied(world([board('p.s.0')], [runs(board('p.s.0'))]));
    const left = { ...later, boards: { ...later.boards, unclaimed } };
    expect(brief(decide(left))).toEqual(['board -b1/1']);
  });

  it('swaps two slots in one change', () => {
    const before = [runs(board('p.a.0')), runs(board('p.b.0', {}, 1))];
    const wanted = [board('p.a.0', {}, 1), board('p.b.0', {}, 0)];
    const now = world(wanted, before);
    expect(brief(decide(applied(now)))).toEqual(['board ~p.a.0 ~p.b.0']);
  });

  it('configures in place before the data plane changes, and not when only the wiring does', () => {
    const one = board('p.s.0');
    const other = { ...one, config: { drop: true } };
    expect(brief(decide(world([other], [runs(one)])))[0]).toBe('board ~p.s.0');
    const moved = { ...one, core: 1 };
    expect(brief(decide(world([moved], [runs(one)])))).toEqual(['engine wiring(nic0 p.s.0:near p.s.0:far)']);
  });

  it('fails the spec permanently with the error of the board', () => {
    const one = board('p.s.0');
    const why = { state: 'failed' as const, ends: null, detail: 'reconfig CRC error', permanent: true };
    const { observed, steps, wait_ms } = decide(applied(world([one], [runs(one, why)])));
    expect([steps, wait_ms]).toEqual([[], null]);
    expect(observed).toMatchObject({ state: 'failed', error: 'reconfig CRC error', generation: 2 });
    expect(observed.instances).toEqual([{ id: 'p.s.0', state: 'failed', detail: 'reconfig CRC error' }]);
  });

  it('continues without the interfaces of an unreachable board', () => {
    const one = board('p.s.0');
    const away = { state: 'failed' as const, ends: null, detail: 'board b1 is not there' };
    const before = applied(world([one], [runs(one)]));
    const after = { ...before, boards: { ...before.boards, instances: new Map([runs(one, away)]) } };
    expect(brief(decide(after))).toEqual(['engine wiring(nic0)']);
    expect(decide(after).observed).toMatchObject({ state: 'progressing', instances: [{ state: 'failed' }] });
  });

  it.each([
    ['no board', board('p.s.0', { board: undefined }), '/instances/1/board'],
    [
      'an unknown board',
      board('p.s.0', { board: { board: 'b9', slot: 0, load: 'full', policy: 'drop' } }),
      '/board/board: no board b9 here; there are b1',
    ],
    ['an unknown slot', board('p.s.0', {}, 2), '/instances/1/board/slot: board b1 has no slot 2'],
    ['an unknown NF', board('p.s.0', { nf: 'ids' }), '/instances/1/nf: boards here cannot run ids'],
    [
      'a slot twice',
      board('p.s.0', {}, 1),
      '/instances/1/board/slot: slot 1 of board b1 is already assigned to p.first.0',
    ],
  ])('refuses %s', (_, one, why) => {
    const { observed, steps } = decide(world([board('p.first.0', {}, 1), one], []));
    expect(steps).toEqual([]);
    expect(observed.error).toContain(why);
    expect(observed.state).toBe('failed');
  });
});

describe('compile with boards', () => {
  it('connects a slot like a process, on the interfaces of the board', () => {
    const one = board('p.s.0', { outputs: [output('e', { kind: 'exit', exit_id: 'x' })] });
    const spec = nodeSpec({
      instances: [one],
      hops: [{ hop: 1, instance_id: 'p.s.0', direction: 'forward' }],
      exits: [{ exit_id: 'x', chain_id: 'p', direction: 'forward' }],
    });
    const ends = new Map([['p.s.0', { near: 'n0', far: 'f0' }]]);
    const onBoard = compile(spec, ENGINE_TRAITS, ends);
    const asProcess = compile({ ...spec, instances: [{ ...one, driver: 'process' }] }, ENGINE_TRAITS, ends);
    const ifaces = onBoard.graph.ports.flatMap((port) => (port.driver === 'af_packet' ? port.iface : []));
    expect(ifaces).toEqual(['eth0', 'n0', 'f0']);
    expect(onBoard.graph).toEqual(asProcess.graph);
    expect(onBoard.probes).toEqual(asProcess.probes);
  });

  it('leaves gates to a slot that is not ready unlinked', () => {
    const spec = nodeSpec({
      instances: [
        instance('p.mon.0', { outputs: [output('e', { kind: 'instance', instance_id: 'p.s.0' })] }),
        board('p.s.0'),
      ],
      hops: [
        { hop: 1, instance_id: 'p.s.0', direction: 'forward' },
        { hop: 2, instance_id: 'p.mon.0', direction: 'forward' },
      ],
    });
    const { graph, probes } = compile(spec, ENGINE_TRAITS);
    expect(graph.links.filter(({ to }) => to.startsWith('p.s.0'))).toEqual([]);
    expect(graph.modules.filter(({ name }) => name.startsWith('p.s.0'))).toEqual([]);
    expect(graph.links).toContainEqual({ from: 'nic0:hops', gate: 1, to: 'p.mon.0:queue', input: 0 });
    expect(probes.instances.map(({ instance_id }) => instance_id)).toEqual(['p.mon.0']);
  });
});
