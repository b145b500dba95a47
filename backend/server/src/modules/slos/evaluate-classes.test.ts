import { type ClassSlo, type Plan, type Sample, sampleKey } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ExitWindow } from '../../ports/telemetry.js';
import { ClassMeter } from './class-meter.js';
import { classObjectives } from './class-tasks.js';
import { evaluateClassSlo } from './evaluate-classes.js';
import type { WarmUp } from './warm-ups.js';

const REPORT_MS = 200;
const CYCLES: ClassSlo = { id: 'o', kind: 'cpu-time', a: 'e1', b: 'e2', ratio: 3 };
const PACKETS: ClassSlo = { id: 'o', kind: 'throughput', a: 'e1', b: 'e2', ratio: 3 };
const PRIORITY: ClassSlo = { id: 'o', kind: 'priority', above: 'e1', below: 'e2' };

/** Alpine figure 5.3: NF a tells two classes apart, which b and c process. `queues`: the edges at which tasks begin. */
function planOf(
  slos: readonly ClassSlo[],
  queues: readonly string[] = ['in', 'e1', 'e2'],
  coreOfC = 0,
  third = false,
  shared = false,
): Plan {
  const on = shared ? ['in', 'mid'] : ['in'];
  const at = (core: number) => ({ chain_id: 'c', server: `server-${core}`, core: 0 });
  const nf = (id: string, core = 0) => ({ kind: 'nf', id: `c.${id}.0`, node_id: id, ...at(core) });
  const coreOf = (edge: string) => (edge === 'e2' ? coreOfC : 0);
  const idOf = (edge: string) => `c.${edge}.queue`;
  const servers = [...new Set([0, coreOfC])];
  return {
    graph: {
      nodes: [
        ...[nf('a'), nf('b'), nf('c', coreOfC), ...(shared ? [nf('m'), nf('d')] : [])],
        ...queues.map((edge) => ({ kind: 'queue', id: idOf(edge), ...at(coreOf(edge)) })),
      ],
      edges: queues.map((edge) => ({ to: idOf(edge), pgraph_edge: `c.${edge}`, direction: 'forward' })),
    },
    nodes: Object.fromEntries(
      servers.map((core) => {
        const own = queues.filter((edge) => coreOf(edge) === core);
        const tree = own.map((edge) => ({ kind: 'task', id: `t-${edge}`, starts_at: idOf(edge) }));
        return [`server-${core}`, { schedulers: [{ core: 0, tree }] }];
      }),
    ),
    classes: [
      { id: 'c.1', chain_id: 'c', edges: [...on, 'e1', 'o1'], nodes: ['a', ...(shared ? ['m'] : []), 'b'] },
      { id: 'c.2', chain_id: 'c', edges: [...on, 'e2', 'o2'], nodes: ['a', ...(shared ? ['m'] : []), 'c'] },
      ...(third ? [{ id: 'c.3', chain_id: 'c', edges: ['in', 'e3'], nodes: shared ? ['a', 'd'] : ['a'] }] : []),
    ],
    chains: [{ chain_id: 'c', schedule: 'planned', definition: { name: 'c', class_slos: slos } }],
  } as unknown as Plan;
}

/** Figures of a queue's task, per second; of an NF, its packets per second and CPU share. */
interface QueueFigures {
  readonly in?: number;
  readonly out?: number;
  readonly drops?: number;
  readonly waiting?: number;
  readonly cpu?: number;
}
type Report = {
  readonly queues?: Readonly<Record<string, QueueFigures>>;
  readonly nfs?: Readonly<Record<string, { readonly pps: number; readonly cpu: number }>>;
};

function samplesOf({ queues = {}, nfs = {} }: Report, coreOfC = 0): Sample[] {
  const sample = (key: string, value = 0): Sample => ({ key, value, t_ms: 0, origin: 'twin' });
  return [
    ...Object.entries(queues).flatMap(([edge, { in: taken, out, drops, waiting, cpu }]) => {
      const id = `c.${edge}.queue`;
      return [
        sample(sampleKey('module', id, 'pps'), taken),
        sample(sampleKey('module', id, 'out_pps'), out),
        sample(sampleKey('module', id, 'drops_pps'), drops),
        sample(sampleKey('module', id, 'waiting'), waiting),
        sample(sampleKey('scheduler', `server-${edge === 'e2' ? coreOfC : 0} 0 t-${edge}`, 'cpu'), cpu),
      ];
    }),
    ...Object.entries(nfs).flatMap(([id, { pps, cpu }]) => [
      sample(sampleKey('instance', `c.${id}.0`, 'pps'), pps),
      sample(sampleKey('instance', `c.${id}.0`, 'out_pps'), pps),
      sample(sampleKey('instance', `c.${id}.0`, 'cpu'), cpu),
    ]),
  ];
}

interface Given {
  readonly queues?: readonly string[];
  readonly coreOfC?: number;
  /** A third class, which leaves behind NF a. */
  readonly third?: boolean;
  /** The first two share an NF m and a queue before it, and the third has an NF d. */
  readonly shared?: boolean;
  readonly ghz?: Readonly<Record<string, number>>;
  readonly stale?: boolean;
  readonly blackout?: boolean;
  readonly warmUp?: WarmUp;
}

/** The status after reports of some seconds. */
function judged(slos: readonly ClassSlo[], reports: readonly Report[], given: Given = {}) {
  const {
    queues,
    coreOfC = 0,
    third = false,
    shared = false,
    ghz = {},
    stale = false,
    blackout = false,
    warmUp = 'over',
  } = given;
  const objectives = classObjectives(planOf(slos, queues, coreOfC, third, shared), 'c');
  const meter = new ClassMeter();
  meter.follow(objectives);
  reports.forEach((report, n) => {
    meter.take(samplesOf(report, coreOfC), (n + 1) * REPORT_MS);
  });
  return evaluateClassSlo(objectives[0]!, {
    chainId: 'c',
    meter,
    monotonicMs: reports.length * REPORT_MS,
    nowMs: 0,
    window: { origin: 'twin' } as ExitWindow,
    warmUp,
    origin: 'twin',
    stale,
    blackout,
    ghzOf: (server) => ghz[server] ?? 1,
    schedule: undefined,
  });
}

const lasting = (report: Report, seconds = 12) => Array.from({ length: (1000 * seconds) / REPORT_MS }, () => report);
const busy = (cpu: number, pps: number, drops = 0): QueueFigures => ({ in: pps + drops, out: pps, drops, cpu });

describe('a ratio of CPU time', () => {
  const shares = (forB: number, forC: number, dropsB = 0, dropsC = 0) =>
    lasting({ queues: { in: busy(0.2, 400), e1: busy(forB, 100, dropsB), e2: busy(forC, 100, dropsC) } });

  it('is met near its target, and violated where a class with a full queue gets less', () => {
    const [near, far] = [shares(0.62, 0.2, 50, 50), shares(0.4, 0.4, 50, 50)];
    // The task of NF a serves both classes, equally by packets: 0.1 each.
    expect(judged([{ ...CYCLES, ratio: 0.72 / 0.3 }], near)).toMatchObject({ state: 'met', kind: 'cpu-ratio' });
    expect(judged([CYCLES], far)).toMatchObject({
      state: 'violated',
      measured: expect.closeTo(1, 6),
      target: 3,
      unit: 'ratio',
      cause: 'the class of e1 gets too little: queue c.e1.queue is full',
    });
  });

  it('is not violated by a class that gets all that it offers, whatever the other one has', () => {
    expect(judged([CYCLES], shares(0.1, 0.6, 0, 500))).toMatchObject({
      state: 'met',
      cause: 'the class of e1 gets all that it offers',
    });
    expect(judged([CYCLES], shares(0.9, 0.01, 500, 0))).toMatchObject({
      state: 'met',
      cause: 'the class of e2 gets all that it offers',
    });
    expect(judged([CYCLES], shares(0.9, 0.01, 500, 500))).toMatchObject({ state: 'violated' });
  });

  it('shares out a task of several classes by the packets and the cycles of its NFs', () => {
    const report = {
      queues: { in: busy(0.7, 400), e2: busy(0.1, 100) },
      nfs: { a: { pps: 400, cpu: 0.3 }, b: { pps: 300, cpu: 0.3 }, c: { pps: 100, cpu: 0.1 } },
    };
    // Of class 1: 0.3 of b, 3/4 of a and of the 0.1 beside both; of class 2 the rest, and its own task.
    const measured = (0.3 + 0.75 * 0.4) / (0.25 * 0.4 + 0.1);
    expect(judged([CYCLES], lasting(report), { queues: ['in', 'e2'] })).toMatchObject({
      state: 'met',
      measured: expect.closeTo(measured, 6),
    });
  });

  it('counts at a shared NF also the packets that classes lose behind it, in a queue that they share', () => {
    const report = {
      queues: { in: busy(0.5, 300), mid: busy(0.2, 100, 100), e1: busy(0.1, 50), e2: busy(0.1, 50) },
      nfs: { a: { pps: 300, cpu: 0.4 }, m: { pps: 100, cpu: 0.2 }, d: { pps: 100, cpu: 0.1 } },
    };
    const given = { queues: ['in', 'mid', 'e1', 'e2'], third: true, shared: true };
    // Each class has a third of a; the first one has half of the task of m, and its own.
    expect(judged([{ ...CYCLES, b: 'e3' }], lasting(report), given).measured).toBeCloseTo(
      (0.4 / 3 + 0.1 + 0.1) / (0.4 / 3 + 0.1),
      6,
    );
  });

  it('counts cycles over several cores, by their clocks, and leaves out what runs at the level of a class above', () => {
    const reports = lasting({ queues: { in: busy(0.2, 400), e1: busy(0.5, 100), e2: busy(0.5, 100) } });
    const given = { coreOfC: 1, ghz: { 'server-0': 3, 'server-1': 1 } };
    expect(judged([CYCLES], reports, given)).toMatchObject({ measured: expect.closeTo((0.6 * 3) / (0.3 + 0.5), 6) });
    // The task of NF a also serves the class of e3: before those of e1 and e2, if that has priority.
    const above: ClassSlo = { id: 'p', kind: 'priority', above: 'e3', below: 'e1' };
    expect(judged([CYCLES, above], reports, { third: true })).toMatchObject({ measured: expect.closeTo(1, 6) });
  });
});

describe('a ratio of packets', () => {
  it('compares what the last places of the classes have served', () => {
    const reports = lasting({ queues: { e1: busy(0.5, 300), e2: busy(0.5, 100) }, nfs: { b: { pps: 300, cpu: 0 } } });
    expect(judged([PACKETS], reports)).toMatchObject({ state: 'no-data' });
    const nfs = { b: { pps: 300, cpu: 0.1 }, c: { pps: 100, cpu: 0.1 } };
    const queues = { in: busy(0.1, 400), e1: busy(0.5, 300), e2: busy(0.5, 100) };
    expect(judged([PACKETS], lasting({ queues, nfs }))).toMatchObject({
      state: 'met',
      kind: 'packet-ratio',
      measured: expect.closeTo(3, 6),
    });
  });
});

describe('a priority', () => {
  const reports = (above: QueueFigures, below: QueueFigures) =>
    lasting({
      queues: { in: busy(0.1, 400), e1: above, e2: below },
      nfs: { b: { pps: above.out ?? 0, cpu: 0 }, c: { pps: below.out ?? 0, cpu: 0 } },
    });

  it('is violated while the class below is served and packets of the one above wait', () => {
    const waiting = { ...busy(0.5, 200, 100), waiting: 1000 };
    expect(judged([PRIORITY], reports(waiting, busy(0.5, 100)))).toMatchObject({
      state: 'violated',
      kind: 'priority',
      unit: 'share',
      measured: expect.closeTo(1, 1),
      cause: 'packets of the class of e1 wait while the class of e2 is served',
    });
  });

  it('is met while the class below starves, and while the one above has nothing waiting', () => {
    const starving = { in: 100, out: 0, drops: 100, waiting: 1000, cpu: 0 };
    expect(judged([PRIORITY], reports({ ...busy(0.9, 200, 100), waiting: 1000 }, starving))).toMatchObject({
      state: 'met',
      measured: 0,
      cause: 'the class of e2 waits, as its objective allows: queue c.e2.queue is full',
    });
    expect(judged([PRIORITY], reports({ ...busy(0.2, 200), waiting: 3 }, busy(0.5, 100)))).toMatchObject({
      state: 'met',
    });
  });

  it('counts a packet of the class below once, however many tasks of the one above wait', () => {
    const figures = (waiting: number): Report => ({
      queues: { in: { ...busy(0.1, 400), waiting }, e1: { ...busy(0.5, 200), waiting }, e2: busy(0.5, 100) },
      nfs: { b: { pps: 200, cpu: 0 }, c: { pps: 100, cpu: 0 } },
    });
    // Of the last 50 intervals, 6 have packets waiting at both ends.
    const now = lasting(figures(0)).map((calm, n) => (n % 20 < 4 ? figures(1000) : calm));
    expect(judged([PRIORITY], now)).toMatchObject({ state: 'met', measured: expect.closeTo(0.12, 2) });
  });

  it('compares tasks of one core only', () => {
    const waiting = { ...busy(0.5, 200, 100), waiting: 1000 };
    expect(judged([PRIORITY], reports(waiting, busy(0.5, 100)), { coreOfC: 1 })).toMatchObject({
      state: 'met',
      cause: 'the two classes share no core',
    });
  });
});

it('has the states of other objectives', () => {
  const fine = lasting({ queues: { in: busy(0, 400), e1: busy(0.75, 100), e2: busy(0.25, 100) } });
  expect(judged([CYCLES], fine)).toMatchObject({ state: 'met' });
  expect(judged([CYCLES], fine, { warmUp: 'on' })).toMatchObject({ state: 'warming-up' });
  expect(judged([CYCLES], fine, { warmUp: 'spent' })).toMatchObject({ state: 'met' });
  expect(judged([CYCLES], fine, { stale: true })).toMatchObject({ state: 'stale' });
  expect(judged([CYCLES], fine, { blackout: true })).toMatchObject({ state: 'violated', measured: null });
  expect(judged([CYCLES], fine.slice(0, 5))).toMatchObject({ state: 'no-data', measured: null });
  const idle = lasting({ queues: { in: busy(0, 0), e1: busy(0, 0), e2: busy(0, 0) } });
  expect(judged([CYCLES], idle)).toMatchObject({ state: 'no-data' });
  expect(judged([PRIORITY], idle)).toMatchObject({ state: 'no-data' });
});

it('finds a priority violated by one queue for both classes, as of run to completion, while packets wait in it', () => {
  const shared = (waiting: number) => lasting({ queues: { in: { ...busy(0.9, 200, 100), waiting } } });
  expect(judged([PRIORITY], shared(500), { queues: ['in'] }).state).toBe('no-data');
  const told = (waiting: number) =>
    lasting({
      queues: { in: { ...busy(0.9, 200, 100), waiting } },
      nfs: { b: { pps: 100, cpu: 0.1 }, c: { pps: 100, cpu: 0.1 } },
    });
  expect(judged([PRIORITY], told(500), { queues: ['in'] })).toMatchObject({
    state: 'violated',
    measured: expect.closeTo(1, 1),
  });
  expect(judged([PRIORITY], told(2), { queues: ['in'] })).toMatchObject({ state: 'met', measured: 0 });
});

describe('a chain that is served in turn', () => {
  interface NfFigures {
    readonly pps: number;
    readonly full?: number;
    readonly waiting?: number;
    readonly cpu?: number;
    readonly out?: number;
  }
  type Figures = Readonly<Record<string, NfFigures>>;
  interface Where {
    readonly driver?: 'engine' | 'process' | 'board';
    /** Core of NF c. */
    readonly core?: number;
    /** Replies pass NFs b and c. */
    readonly replies?: boolean;
  }

  /** As above, with two instances of NF b. */
  function planInTurn(slos: readonly ClassSlo[], { driver = 'engine', core = 0, replies = false }: Where): Plan {
    const nf = (id: string, ordinal = 0, on = 0) => ({
      ...{ kind: 'nf', id: `c.${id}.${ordinal}`, node_id: id, chain_id: 'c', server: 'server-0', core: on },
      driver: id === 'c' ? driver : 'engine',
    });
    const back = { from: 'c.b.0', to: 'c.c.0', direction: 'return', pgraph_edge: null };
    const planned = planOf(slos);
    return {
      ...planned,
      graph: { nodes: [nf('a'), nf('b'), nf('b', 1), nf('c', 0, core)], edges: replies ? [back] : [] },
      nodes: {},
      chains: [{ ...planned.chains[0]!, schedule: 'round-robin' }],
    } as unknown as Plan;
  }

  function judgedInTurn(slo: ClassSlo, figures: Figures, where: Where = {}) {
    const [objective] = classObjectives(planInTurn([slo], where), 'c');
    const meter = new ClassMeter();
    meter.follow([objective!]);
    const sample = (key: string, value = 0): Sample => ({ key, value, t_ms: 0, origin: 'twin' });
    const samples = Object.entries(figures).flatMap(([id, { pps, full, waiting, cpu, out }]) => [
      sample(sampleKey('instance', `c.${id}`, 'pps'), pps),
      sample(sampleKey('instance', `c.${id}`, 'out_pps'), out ?? pps - (full ?? 0)),
      sample(sampleKey('instance', `c.${id}`, 'full_pps'), full),
      sample(sampleKey('instance', `c.${id}`, 'queue'), waiting),
      sample(sampleKey('instance', `c.${id}`, 'cpu'), cpu),
    ]);
    for (let n = 1; n <= 60; n++) meter.take(samples, n * REPORT_MS);
    return evaluateClassSlo(objective!, {
      chainId: 'c',
      meter,
      monotonicMs: 60 * REPORT_MS,
      nowMs: 0,
      window: { origin: 'twin' } as ExitWindow,
      warmUp: 'over',
      origin: 'twin',
      stale: false,
      blackout: false,
      ghzOf: () => 1,
      schedule: undefined,
    });
  }

  const A = { pps: 400, cpu: 0.4 };

  it('is judged by the packets of its classes, over all instances, less those for which queues had no room', () => {
    const figures = (full: number): Figures => ({
      'a.0': A,
      'b.0': { pps: 100, cpu: 0.1 },
      'b.1': { pps: 200 + full, full, cpu: 0.2, out: 1 },
      'c.0': { pps: 100, cpu: 0.1 },
    });
    expect(judgedInTurn(PACKETS, figures(0))).toMatchObject({ state: 'met', measured: expect.closeTo(3, 6) });
    expect(judgedInTurn({ ...PACKETS, ratio: 6 } as ClassSlo, figures(100))).toMatchObject({
      state: 'violated',
      measured: expect.closeTo(3, 6),
      predicted: null,
      cause:
        'the class of e1 gets too little: the queue of c.b.1 is full; no planned schedule keeps it: cores serve the chain in turn',
    });
  });

  it('is judged by the CPU time of its NFs, of which classes have parts by packets', () => {
    const figures = {
      'a.0': A,
      'b.0': { pps: 100, cpu: 0.2 },
      'b.1': { pps: 200, cpu: 0.1 },
      'c.0': { pps: 100, cpu: 0.1 },
    };
    // Of NF a, three quarters and one quarter.
    expect(judgedInTurn(CYCLES, figures)).toMatchObject({ measured: expect.closeTo((0.3 + 0.3) / (0.1 + 0.1), 6) });
    expect(judgedInTurn(CYCLES, figures, { driver: 'process' })).toMatchObject({ measured: expect.closeTo(3, 6) });
    expect(judgedInTurn(CYCLES, figures, { driver: 'board' })).toMatchObject({
      state: 'no-data',
      measured: null,
      cause: 'the CPU time of c is not measured: it runs on a board',
    });
  });

  it('violates a priority while packets of the class above wait for the same core', () => {
    const figures = (waiting: number): Figures => ({
      'a.0': A,
      'b.0': { pps: 100, waiting },
      'b.1': { pps: 200 },
      'c.0': { pps: 100 },
    });
    expect(judgedInTurn(PRIORITY, figures(300))).toMatchObject({ state: 'violated', measured: expect.closeTo(1, 1) });
    expect(judgedInTurn(PRIORITY, figures(3))).toMatchObject({ state: 'met' });
    expect(judgedInTurn(PRIORITY, figures(300), { core: 1 })).toMatchObject({
      state: 'met',
      cause: 'the two classes share no core',
    });
  });

  it('is not judged where replies are counted with its packets, and says so', () => {
    const figures = { 'a.0': A, 'b.0': { pps: 100 }, 'b.1': { pps: 200 }, 'c.0': { pps: 100 } };
    expect(judgedInTurn(PACKETS, figures, { replies: true })).toMatchObject({
      state: 'no-data',
      cause: 'no counter tells the packets of the two classes apart',
    });
  });
});

/** How a core of one packet per tick shares its time between the queues of two classes. */
type Discipline = (waiting: readonly [number, number], served: readonly [number, number]) => 0 | 1;
const strict: Discipline = ([first]) => (first > 0 ? 0 : 1);
const weighted =
  (ratio: number): Discipline =>
  (_, [a, b]) =>
    a <= ratio * b ? 0 : 1;

/** Twelve seconds of a core that serves 1,000 packets per second, at most; offered packets per second of both classes. */
function served(discipline: Discipline, offered: readonly [number, number]): Report[] {
  const room = 200;
  const waiting: [number, number] = [0, 0];
  const all: [number, number] = [0, 0];
  return Array.from({ length: 60 }, () => {
    const [taken, out, drops]: [number, number][] = [
      [0, 0],
      [0, 0],
      [0, 0],
    ] as never;
    for (let tick = 0; tick < 200; tick++) {
      for (const c of [0, 1] as const) {
        const before = Math.floor((tick * offered[c]) / 1000);
        const arriving = Math.floor(((tick + 1) * offered[c]) / 1000) - before;
        taken![c] += arriving;
        const lost = Math.max(0, waiting[c] + arriving - room);
        drops![c] += lost;
        waiting[c] += arriving - lost;
      }
      const first = discipline(waiting, all);
      const turn = waiting[first] > 0 ? first : ((1 - first) as 0 | 1);
      if (waiting[turn] === 0) continue;
      waiting[turn] -= 1;
      out![turn] += 1;
      all[turn] += 1;
    }
    const figures = (c: 0 | 1): QueueFigures => ({
      in: 5 * taken![c],
      out: 5 * out![c],
      drops: 5 * drops![c],
      waiting: waiting[c],
      cpu: out![c] / 200,
    });
    const pps = (c: 0 | 1) => ({ pps: 5 * out![c], cpu: 0 });
    return { queues: { in: busy(0, 1), e1: figures(0), e2: figures(1) }, nfs: { b: pps(0), c: pps(1) } };
  });
}

const load = fc.integer({ min: 50, max: 3000 });

it('finds priorities kept by a core that keeps them, and violated by one that serves both classes in turn when it is overloaded', () => {
  fc.assert(
    fc.property(load, load, (first, second) => {
      expect(judged([PRIORITY], served(strict, [first, second]))).toMatchObject({ state: 'met' });
    }),
  );
  const overload = fc.integer({ min: 800, max: 3000 });
  fc.assert(
    fc.property(overload, overload, (first, second) => {
      expect(judged([PRIORITY], served(weighted(1), [first, second]))).toMatchObject({ state: 'violated' });
    }),
  );
});

it('finds ratios kept by a core that shares by them, whatever is offered, and violated by another one when both want more', () => {
  const ratio = fc.double({ min: 0.25, max: 4, noNaN: true });
  fc.assert(
    fc.property(load, load, ratio, fc.constantFrom(CYCLES, PACKETS), (first, second, wanted, slo) => {
      expect(judged([{ ...slo, ratio: wanted } as ClassSlo], served(weighted(wanted), [first, second]))).toMatchObject({
        state: 'met',
      });
    }),
  );
  const overload = fc.integer({ min: 1100, max: 3000 });
  fc.assert(
    fc.property(overload, overload, ratio, fc.constantFrom(CYCLES, PACKETS), (first, second, wanted, slo) => {
      const other = wanted > 1 ? wanted / 2 : 2 * wanted;
      expect(judged([{ ...slo, ratio: wanted } as ClassSlo], served(weighted(other), [first, second]))).toMatchObject({
        state: 'violated',
        cause: expect.stringMatching(/gets too little: queue c\.e[12]\.queue is full$/),
      });
    }),
  );
});
