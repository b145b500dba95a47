import type { AcceleratorSlot, LoadKind, Reconfiguration, ScenarioFigure, SlotRef } from '@orrery/contract';
import type { ScenarioScript, ScenarioStep, Stage } from '../scenario.js';
import { attackChain, synChain } from './chains.js';

/** Stands for the 408 Mbit/s that the software of CoNFV's VMs carried: the threshold of the policy, scaled to the twin. */
const LIMIT_BPS = 4e6;
const CALM_BPS = 2e6;
/** Each request is one packet of headers and body. */
const BODY_BYTES = 1200;
const LOW_PER_S = 100;
const HIGH_PER_S = 800;
const SYN_PER_S = 20;

/** CoNFV VI: 12 s and 2.5 s, of which the loads are the most. */
const PUBLISHED_S: Readonly<Record<LoadKind, number>> = { partial: 2.5, full: 12 };

interface Memory {
  sqli: string;
  ddos: string;
  /** Where both take turns. */
  slot: SlotRef | null;
  policy: string;
  traffic: string | null;
  readonly took: Partial<Record<LoadKind, number>>;
}

/** The reconfiguration test of CoNFV VI, Figures 9 and 10. */
export const SWAP: ScenarioScript = {
  scenario: {
    id: 'reconfiguration',
    title: 'SQL injection and DDoS detectors change places',
    summary:
      'A board detects SYN floods while software detects SQL injection. Web traffic grows past a threshold that stands for what the software carries (4 Mbit/s here, 408 published): the two change places, by partial and then by full reconfiguration, and change back when it falls.',
    source: 'CoNFV VI, Figures 9 and 10',
    duration_s: 50,
    needs: [
      'a board of the twin with nothing on it',
      'hosts client-3, client-4, web-1 and web-2 without chains of their own',
    ],
  },
  steps: () => {
    const memory: Memory = { sqli: '', ddos: '', slot: null, policy: '', traffic: null, took: {} };
    return [
      {
        title: 'Deploy both chains: DDoS detector on a board, SQL injection detector in software',
        run: deploy(memory),
      },
      ...(['partial', 'full'] as const).flatMap((load) => swapAndBack(memory, load)),
      { title: 'Compare', run: compare(memory) },
    ];
  },
};

function deploy(memory: Memory): ScenarioStep['run'] {
  return async (stage) => {
    const { api } = stage;
    const { items: boards } = await api.call('listAccelerators');
    const board = boards.find(({ state, slots }) => state === 'operating' && slots.every(isFree));
    if (!board)
      throw new Error('no board operates whose slots are all empty and not reserved: move its NFs to software');
    const [{ slot }] = board.slots as [AcceleratorSlot];
    memory.slot = { board: board.id, slot };
    memory.sqli = await makeChain(stage, attackChain());
    memory.ddos = await makeChain(stage, synChain());
    for (const id of [memory.sqli, memory.ddos]) await apply(stage, id);
    stage.note(`loading the DDoS detector into ${board.id} slot ${slot}`);
    const move = await api.call('createReconfiguration', {
      body: { nf: { pipeline_id: memory.ddos, node_id: 'ddos' }, to: 'board', slot: { board: board.id, slot } },
    });
    await ended(stage, move.id);
    await start(stage, 'client-4', 'web-2', SYN_PER_S, '/');
  };
}

function isFree({ state, reservation }: { state: string; reservation: unknown }): boolean {
  return state === 'empty' && reservation === null;
}

function swapAndBack(memory: Memory, load: LoadKind): ScenarioStep[] {
  return [
    {
      title: `Web traffic grows past the software: ${load} reconfiguration`,
      run: async (stage) => {
        await setPolicy(stage, memory, load);
        await webTraffic(stage, memory, LOW_PER_S);
        const calm = await rateOf(stage, (bps) => bps > 0.2 * CALM_BPS && bps < LIMIT_BPS);
        stage.note(`${(calm / 1e6).toFixed(1)} Mbit/s in software`);
        const since = Date.now();
        await webTraffic(stage, memory, HIGH_PER_S);
        const run = await next(stage, memory, 'load-high', since);
        if (!run.moves.some(({ pipeline_id }) => pipeline_id === memory.ddos))
          throw new Error('the SQL injection detector took another slot: the two did not change places');
        memory.took[load] = tell(stage, run, load);
        const bps = await rateOf(stage, (rate) => rate > LIMIT_BPS);
        stage.note(`${(bps / 1e6).toFixed(1)} Mbit/s on the board`);
      },
    },
    {
      title: `Web traffic falls: both go back (${load})`,
      run: async (stage) => {
        const since = Date.now();
        await webTraffic(stage, memory, LOW_PER_S / 4);
        await next(stage, memory, 'load-low', since);
      },
    },
  ];
}

function compare(memory: Memory): ScenarioStep['run'] {
  return async (stage) => {
    const { full, partial } = memory.took;
    stage.figure({
      name: 'full : partial',
      unit: '',
      published: PUBLISHED_S.full / PUBLISHED_S.partial,
      here: full && partial ? full / partial : null,
      note: 'whole reconfigurations, trigger to response; of the loads alone it is the ratio of the model',
    });
  };
}

async function makeChain(stage: Stage, definition: ReturnType<typeof attackChain>): Promise<string> {
  const { api } = stage;
  const { items } = await api.call('listPipelines', { query: { limit: 1000 } });
  const old = items.find(({ draft }) => draft.name === definition.name);
  if (old) throw new Error(`a chain called ${definition.name} is there already: remove it`);
  return stage.make('pipeline', definition);
}

async function apply({ api, until }: Stage, pipelineId: string): Promise<void> {
  const { id } = await api.call('createDeployment', { body: { pipeline_id: pipelineId } });
  await until('the end of the deployment', 30, async () => {
    const { state, error } = await api.call('getOperation', { params: { id } });
    if (state === 'FAILED') throw new Error(error?.detail ?? 'the deployment failed');
    return state === 'COMPLETED' ? true : null;
  });
}

async function setPolicy(stage: Stage, memory: Memory, load: LoadKind): Promise<void> {
  const { api } = stage;
  const nf = { pipeline_id: memory.sqli, node_id: 'sqli' };
  const body = {
    title: 'SQL injection detector to a board',
    nf,
    slot: memory.slot,
    threshold: { metric: 'bps', up: LIMIT_BPS, down: CALM_BPS / 2, for_s: 1 },
    displaces: [{ pipeline_id: memory.ddos, node_id: 'ddos' }],
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

async function webTraffic(stage: Stage, memory: Memory, ratePerS: number): Promise<void> {
  const { api } = stage;
  if (memory.traffic) await api.call('stopTraffic', { params: { id: memory.traffic } });
  memory.traffic = await start(stage, 'client-3', 'web-1', ratePerS, "/item?id=1'%20or%20'1'='1");
}

function start({ make }: Stage, from: string, to: string, rate_per_s: number, path: string): Promise<string> {
  return make('traffic', { kind: 'http', from, to, rate_per_s, path, body: 'q'.repeat(BODY_BYTES) });
}

/** The detector's rate once it is as wanted. */
function rateOf({ api, until }: Stage, wanted: (bps: number) => boolean): Promise<number> {
  const key = `nf/${attackChain().name}.sqli/bps`;
  return until('the expected rate of web traffic', 30, async () => {
    const { items } = await api.call('listSamples', { query: { keys: key, since: Date.now() - 5000 } });
    const now = items[0]?.points.at(-1)?.[1] ?? 0;
    return wanted(now) ? now : null;
  });
}

/** The next reconfiguration of the run's policy, once it is over. */
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

/** The figures of a swap; gives its seconds from trigger to response. */
function tell(stage: Stage, run: Reconfiguration, load: LoadKind): number {
  const seconds = ((run.ended_ms ?? run.started_ms) - run.started_ms) / 1000;
  const put = (figure: ScenarioFigure) => stage.figure(figure);
  put({
    name: `${load} reconfiguration`,
    unit: 's',
    published: PUBLISHED_S[load],
    here: seconds,
    note: 'trigger to response; the load is modelled after the device, all else is measured',
  });
  for (const { stage: name, started_ms, ended_ms } of run.stages) {
    if (started_ms === null || ended_ms === null) continue;
    const here = (ended_ms - started_ms) / 1000;
    put({ name: `${load}: ${name}`, unit: 's', published: null, here, note: '' });
  }
  const [last] = run.loads;
  put({ name: `${load}: frames lost`, unit: 'frames', published: null, here: last?.lost ?? null, note: '' });
  put({ name: `${load}: frames held`, unit: 'frames', published: null, here: last?.held ?? null, note: '' });
  return seconds;
}
