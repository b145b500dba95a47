import { type AcceleratorSlot, type LoadKind, type Reconfiguration, type SlotRef, sampleKey } from '@orrery/contract';
import { z } from 'zod';
import { observeCores } from '../busy-cores.js';
import { deployChain } from '../deploy-chain.js';
import { webLoad } from '../load.js';
import { findFreeBoard, freeBoard, freeNames, freeTraffic, hosts, nfs, runningTwin } from '../needs.js';
import { defineScenario, type ScenarioStep, type Stage } from '../scenario.js';
import { historyOf } from '../series.js';
import { attackChain, synChain } from './chains.js';
import { durationFigure, PUBLISHED_S, SOURCE } from './verdict.js';

const SYN_PER_S = 20;

const PUBLISHED_BPS = 408e6;

const Parameters = z.object({
  limit_bps: z.number().min(1e6).max(8e6).default(4e6).meta({
    title: 'Threshold of the load',
    unit: 'bps',
    description:
      'above which the SQL injection detector moves to the board, a stand-in for what software carries (published: 408 Mbit/s)',
  }),
  loads: z
    .enum(['partial and full', 'partial', 'full'])
    .default('partial and full')
    .meta({
      title: 'Reconfigurations',
      titles: { 'partial and full': 'Partial and full', partial: 'Partial', full: 'Full' },
    }),
});
type Parameters = z.output<typeof Parameters>;

interface Memory {
  readonly limit_bps: number;
  sqli: string;
  ddos: string;
  /** The slot that both use in turn. */
  slot: SlotRef | null;
  policy: string;
  setRate: ((ratePerS: number) => Promise<void>) | null;
  readonly took: Partial<Record<LoadKind, number | null>>;
}

/** The reconfiguration test of CoNFV VI, Figures 9 and 10. */
export const SWAP = defineScenario({
  id: 'reconfiguration',
  title: 'SQL injection and DDoS detectors swap places',
  summary:
    'A board detects SYN floods while software detects SQL injection. Web traffic grows past a threshold that stands in for the capacity of the software (4 Mbit/s, so that an emulated board keeps up; 408 published; this software carries Gbit/s): the two swap places, by partial and then by full reconfiguration, and swap back when it falls.',
  source: 'CoNFV VI, Figures 9 and 10',
  duration_s: 50,
  watch: 'accelerators',
  parameters: Parameters,
  needs: () => [
    runningTwin(),
    nfs('sqli-detector', 'ddos-detector'),
    hosts('client-3', 'client-4', 'web-1', 'web-2'),
    freeBoard(),
    freeNames(attackChain().name, synChain().name),
    freeTraffic(async () => [attackChain(), synChain()]),
  ],
  steps: ({ limit_bps, loads }) => {
    const memory: Memory = { limit_bps, sqli: '', ddos: '', slot: null, policy: '', setRate: null, took: {} };
    return [
      {
        title: 'Deploy both chains: DDoS detector on a board, SQL injection detector in software',
        run: deploy(memory),
      },
      ...loadsOf(loads).flatMap((load) => swapAndBack(memory, load)),
      { title: 'Compare', run: compare(memory) },
    ];
  },
});

function loadsOf(loads: Parameters['loads']): LoadKind[] {
  return loads === 'partial and full' ? ['partial', 'full'] : [loads];
}

function deploy(memory: Memory): ScenarioStep['run'] {
  return async (stage) => {
    const { api } = stage;
    const board = await findFreeBoard(api);
    if (!board) throw new Error('the free board has been taken by another user');
    const [{ slot }] = board.slots as [AcceleratorSlot];
    memory.slot = { board: board.id, slot };
    memory.sqli = await stage.make('chain', attackChain());
    memory.ddos = await stage.make('chain', synChain());
    for (const id of [memory.sqli, memory.ddos]) await deployChain(stage, id);
    stage.note(`loading the DDoS detector into ${board.id} slot ${slot}`);
    const move = await api.call('createReconfiguration', {
      body: { nf: { chain_id: memory.ddos, node_id: 'ddos' }, to: 'board', slot: { board: board.id, slot } },
    });
    await ended(stage, move.id);
    await webLoad(stage, { id: 'scenario-syn-load', from: 'client-4', to: 'web-2', path: '/' }, SYN_PER_S);
  };
}

function swapAndBack(memory: Memory, load: LoadKind): ScenarioStep[] {
  return [
    {
      title: `Web traffic exceeds the threshold: ${load} reconfiguration`,
      run: async (stage) => {
        await setPolicy(stage, memory, load);
        await webTraffic(stage, memory, lowPerS(memory));
        const calm = await rateOf(stage, (bps) => bps > 0.1 * memory.limit_bps && bps < memory.limit_bps);
        stage.note(`${(calm / 1e6).toFixed(1)} Mbit/s in software`);
        const since = Date.now();
        const busyShare = observeCores();
        await webTraffic(stage, memory, 8 * lowPerS(memory));
        const run = await next(stage, memory, 'load-high', since);
        if (!run.moves.some(({ chain_id }) => chain_id === memory.ddos))
          throw new Error('the SQL injection detector took another slot: the two did not swap places');
        memory.took[load] = tell(stage, run, load, busyShare());
        const bps = await rateOf(stage, (rate) => rate > memory.limit_bps);
        stage.note(`${(bps / 1e6).toFixed(1)} Mbit/s on the board`);
      },
    },
    {
      title: `Web traffic falls: both move back (${load})`,
      run: async (stage) => {
        const since = Date.now();
        await webTraffic(stage, memory, lowPerS(memory) / 4);
        await next(stage, memory, 'load-low', since);
      },
    },
  ];
}

function compare(memory: Memory): ScenarioStep['run'] {
  return async (stage) => {
    const { full, partial } = memory.took;
    if (full && partial)
      stage.figure({
        name: 'full : partial',
        unit: '',
        published: PUBLISHED_S.full / PUBLISHED_S.partial,
        here: full / partial,
        source: SOURCE,
        modelled: true,
        note: 'whole reconfigurations, trigger to response; for the loads alone, the ratio is that of the model',
      });
    stage.figure({
      name: 'threshold',
      unit: 'Mbit/s',
      published: PUBLISHED_BPS / 1e6,
      here: memory.limit_bps / 1e6,
      source: SOURCE,
      note: 'scaled to the capacity of the twin',
    });
    const bps = (nf: string) => historyOf(stage.api, sampleKey('nf', nf, 'bps'), stage.started_ms, 1e-6);
    const [sqli, ddos] = [await bps(`${attackChain().name}.sqli`), await bps(`${synChain().name}.ddos`)];
    stage.plot({
      title: 'Load of both NFs',
      source: 'CoNFV Fig. 10',
      x: { label: 'time since the start', unit: 's' },
      y: { label: 'load', unit: 'Mbit/s' },
      series: [
        { name: 'SQL injection detector', published: false, modelled: false, points: sqli },
        { name: 'DDoS detector', published: false, modelled: false, points: ddos },
      ],
    });
  };
}

/** Requests per second that amount to about a third of the limit. */
function lowPerS({ limit_bps }: Memory): number {
  return limit_bps / 40_000;
}

async function setPolicy(stage: Stage, memory: Memory, load: LoadKind): Promise<void> {
  const { api } = stage;
  const nf = { chain_id: memory.sqli, node_id: 'sqli' };
  const body = {
    title: 'SQL injection detector to a board',
    nf,
    slot: memory.slot,
    threshold: { metric: 'bps', up: memory.limit_bps, down: memory.limit_bps / 4, for_s: 1 },
    displaces: [{ chain_id: memory.ddos, node_id: 'ddos' }],
    load,
    policy: 'hold',
    cooldown_s: 1,
  };
  if (memory.policy) {
    await api.call('putReconfigurationPolicy', { params: { id: memory.policy }, body });
    return;
  }
  memory.policy = await stage.make('policy', body);
}

/** The first call starts the requests. */
async function webTraffic(stage: Stage, memory: Memory, ratePerS: number): Promise<void> {
  if (memory.setRate) return memory.setRate(ratePerS);
  const load = { id: 'scenario-web-load', from: 'client-3', to: 'web-1', path: "/item?id=1'%20or%20'1'='1" };
  memory.setRate = await webLoad(stage, load, ratePerS);
}

/** Resolves with the detector's rate once it satisfies `wanted`. */
function rateOf({ api, until }: Stage, wanted: (bps: number) => boolean): Promise<number> {
  const key = sampleKey('nf', `${attackChain().name}.sqli`, 'bps');
  return until('the expected rate of web traffic', 30, async () => {
    const { items } = await api.call('listSamples', { query: { keys: key, since: Date.now() - 5000 } });
    const now = items[0]?.points.at(-1)?.[1] ?? 0;
    return wanted(now) ? now : null;
  });
}

/** Resolves with the next reconfiguration of the run's policy once it has ended. */
async function next(stage: Stage, memory: Memory, cause: Reconfiguration['cause'], sinceMs: number) {
  const found = await stage.until(`a reconfiguration (${cause})`, 40, async () => {
    const { items } = await stage.api.call('listReconfigurations');
    return items.find((it) => it.policy_id === memory.policy && it.cause === cause && it.started_ms >= sinceMs) ?? null;
  });
  return ended(stage, found.id);
}

async function ended({ api, until, note }: Stage, id: string): Promise<Reconfiguration> {
  const run = await until('the end of the reconfiguration', 90, async () => {
    const now = await api.call('getReconfiguration', { params: { id } });
    const stage = now.stages.find(({ state }) => state === 'running');
    if (stage) note(`${stage.stage}: ${stage.detail}`);
    return now.state === 'running' ? null : now;
  });
  if (run.state !== 'completed') throw new Error(`the reconfiguration was ${run.state}: ${run.detail ?? ''}`);
  return run;
}

/** Records the figures of a swap during which the cores were busy for the share; returns its seconds from trigger to response. */
function tell(stage: Stage, run: Reconfiguration, load: LoadKind, busyShare: number): number | null {
  const seconds = run.ended_ms === null ? null : (run.ended_ms - run.started_ms) / 1000;
  stage.figure(durationFigure(load, seconds, busyShare));
  for (const { stage: name, started_ms, ended_ms } of run.stages) {
    if (started_ms === null || ended_ms === null) continue;
    const here = (ended_ms - started_ms) / 1000;
    stage.figure({ name: `${load}: ${name}`, unit: 's', published: null, here });
  }
  const [last] = run.loads;
  stage.figure({ name: `${load}: frames lost`, unit: 'frames', published: null, here: last?.lost ?? null });
  stage.figure({ name: `${load}: frames held`, unit: 'frames', published: null, here: last?.held ?? null });
  return seconds;
}
