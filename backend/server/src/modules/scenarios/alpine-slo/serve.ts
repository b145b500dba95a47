import { type ChainDefinition, nfInstances, type Plan, sampleKey } from '@orrery/contract';
import { requireIpv4 } from '../address.js';
import type { Api } from '../api-caller.js';
import { observeCores } from '../busy-cores.js';
import { deployAs, deployChain, takeDown } from '../deploy-chain.js';
import type { Stage } from '../scenario.js';
import { Window } from '../window.js';
import { allocationError } from './allocation.js';
import { type Parameters, workersOf } from './parameters.js';
import { asDrawn, capacityPps, classifiedFirst, type Pipeline } from './pipelines.js';
import { overload, silentClasses } from './senders.js';

export const NAME = 'scenario-alpine';
/** Of what the cores carry: what plans expect, so that each chain fits beside those that run already. It is overloaded all the same. */
const PLANNED_SHARE = { 1: 0.25, 2: 0.55 } as const;
const SETTLE_S = 4;
/** In which objectives between classes are measured. */
const WINDOW_S = 11;

export const STRATEGIES = ['alpine', 'semi-manual', 'manual', 'run-to-completion'] as const;
export type Strategy = (typeof STRATEGIES)[number];

/** What a pipeline did by one schedule. */
export interface Outcome {
  /** `null` where it was not measured, or a class did not send. */
  readonly error: number | null;
  /** `null`: not measured. */
  readonly pps: number | null;
  readonly p50_us: number | null;
  readonly tasks: number;
  /** CPU that the engine's workers got; under overload they want all of their cores. `null`: not measured. */
  readonly cores: number | null;
  /** Classes that did not send all the time. */
  readonly silent: readonly number[];
}

export interface Served {
  readonly outcomes: ReadonlyMap<Strategy, Outcome>;
  /** Share of the time for which the cores of the machine were busy. */
  readonly busyShare: number;
}

export function definitionsOf(address: string, pipeline: Pipeline, parameters: Parameters) {
  const workers = workersOf(parameters);
  const shape = {
    from: parameters.from,
    address,
    rate_pps: (capacityPps(pipeline, workers) * PLANNED_SHARE[workers]) / workers,
    objective: parameters.objective,
  };
  return {
    drawn: asDrawn(pipeline, { ...shape, name: `${NAME}-drawn` }),
    classified: classifiedFirst(pipeline, { ...shape, name: `${NAME}-classified` }),
  };
}

/** Overloads the pipeline and serves it by one schedule after the other; the manual one needs a chain of its own. */
export async function serve(
  stage: Stage,
  pipeline: Pipeline,
  strategies: readonly Strategy[],
  parameters: Parameters,
): Promise<Served> {
  const definitions = definitionsOf(await requireIpv4(stage.api, parameters.to), pipeline, parameters);
  const busyShare = observeCores();
  const outcomes = new Map<Strategy, Outcome>();
  for (const [definition, by] of [
    [definitions.drawn, strategies.filter((it) => it !== 'manual')],
    [definitions.classified, strategies.filter((it) => it === 'manual')],
  ] as const) {
    if (by.length === 0) continue;
    await overload(stage, pipeline, parameters);
    const chainId = await chainFor(stage, definition);
    for (const strategy of by) outcomes.set(strategy, await measured(stage, chainId, pipeline, strategy, parameters));
    await takeDown(stage, chainId);
    await overload(stage, null, parameters);
  }
  return { outcomes, busyShare: busyShare() };
}

/** The chain that a run uses for all pipelines, with this definition. */
async function chainFor(stage: Stage, definition: ChainDefinition): Promise<string> {
  const { items } = await stage.api.call('listChains', { query: { limit: 1000 } });
  const known = items.find(({ draft }) => draft.name === definition.name);
  if (!known) return stage.make('chain', definition);
  await stage.api.call('putChain', { params: { id: known.id }, body: definition });
  return known.id;
}

async function measured(
  stage: Stage,
  chainId: string,
  pipeline: Pipeline,
  strategy: Strategy,
  parameters: Parameters,
): Promise<Outcome> {
  const { api } = stage;
  stage.note(`${pipeline.title}, ${strategy}: deploying`);
  if ((await api.call('getChain', { params: { id: chainId } })).deployment_state === 'none')
    await deployChain(stage, chainId);
  const plan = await deployAs(stage, chainId, {
    schedule: workersOf(parameters) === 2 ? 'split' : 'planned',
    scheduling: strategy === 'manual' ? 'semi-manual' : strategy,
    scheduling_mode: parameters.mode,
  });
  requireCores(plan, chainId, workersOf(parameters));
  await stage.wait(SETTLE_S, `${pipeline.title}, ${strategy}: settling`);
  const since = Date.now();
  await stage.wait(WINDOW_S, `${pipeline.title}, ${strategy}: measuring`);
  const { server } = own(plan, chainId)[0]!;
  const keys = [
    ...(['pps', 'latency_p50_us'] as const).map((metric) => sampleKey('chain', chainId, metric)),
    sampleKey('node', server, 'cpu'),
  ];
  const window = await Window.since(api, keys, since);
  const silent = await silentClasses(stage, pipeline);
  return {
    error: silent.length === 0 ? await errorOf(api, chainId, pipeline) : null,
    pps: window.mean(keys[0]!),
    p50_us: window.median(keys[1]!),
    tasks: plan.schedules.find(({ chain_id }) => chain_id === chainId)?.tasks.length ?? 0,
    cores: window.mean(keys[2]!),
    silent,
  };
}

function own({ graph }: Plan, chainId: string) {
  return nfInstances(graph).filter(({ chain_id }) => chain_id === chainId);
}

/** Errors: the schedule runs on another number of cores, so that it would be compared with something else. */
function requireCores(plan: Plan, chainId: string, wanted: number): void {
  const cores = new Set(own(plan, chainId).map(({ server, core }) => `${server} ${core}`));
  if (cores.size > wanted) throw new Error(`the chain needs ${cores.size} cores: other chains leave too little of one`);
}

/** `null` while an objective is not measured. */
async function errorOf(api: Api, chainId: string, { ratios }: Pipeline): Promise<number | null> {
  const { items } = await api.call('listSlos', { query: { chain_id: chainId } });
  const ratio = (c: number) => items.find(({ slo_id }) => slo_id === `class-${c + 1}`)?.measured ?? null;
  const measured = ratios.map((_, c) => (c === 0 ? 1 : ratio(c)));
  return measured.some((value) => value === null) ? null : allocationError(measured as number[], ratios);
}
