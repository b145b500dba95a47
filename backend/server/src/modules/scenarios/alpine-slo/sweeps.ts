import { ratioOf } from '../ratio.js';
import type { Stage } from '../scenario.js';
import { MOST_ERROR } from './allocation.js';
import { type Parameters, workersOf } from './parameters.js';
import type { Pipeline } from './pipelines.js';
import { type Served, type Strategy, serve } from './serve.js';

/** Alpine 5.5.2, of trees of all depths. */
const MOST_ERROR_OF_TREES = 0.03;

/** Figure 5.8: throughput of Figure 5.3 with modules that take longer. */
export async function compareCosts(
  stage: Stage,
  pipelines: readonly Pipeline[],
  parameters: Parameters,
): Promise<void> {
  const strategies = ['alpine', 'manual'] as const;
  const served = await each(stage, pipelines, strategies, parameters);
  for (const [{ title, published }, { outcomes }] of served) {
    const [alpine, manual] = strategies.map((it) => outcomes.get(it)!);
    tellError(stage, title, alpine!.error, MOST_ERROR[workersOf(parameters)], 'Alpine 5.5.2: less than');
    tellRatio(stage, title, 'manual', ratioOf(alpine!.pps, manual!.pps), published, 'Alpine Fig. 5.8, from 800 cycles');
  }
  plot(stage, 'Figure 5.8', { label: 'time of a module', unit: 'us' }, strategies, served, (it) => it.module_us);
}

/** Figure 5.9: throughput of binary trees, and Alpine's gain over both strawmen. */
export async function compareDepths(
  stage: Stage,
  pipelines: readonly Pipeline[],
  parameters: Parameters,
): Promise<void> {
  const strategies = ['alpine', 'semi-manual', 'manual'] as const;
  const served = await each(stage, pipelines, strategies, parameters);
  for (const [{ title, published }, { outcomes }] of served) {
    const [alpine, semi, manual] = strategies.map((it) => outcomes.get(it)!);
    tellError(stage, title, alpine!.error, MOST_ERROR_OF_TREES, 'Alpine 5.5.2: less than');
    const source = 'Alpine Fig. 5.9: 1.3 to 14 at depth 10';
    tellRatio(stage, title, 'semi-manual', ratioOf(alpine!.pps, semi!.pps), published, source);
    tellRatio(stage, title, 'manual', ratioOf(alpine!.pps, manual!.pps), published, source);
  }
  plot(stage, 'Figure 5.9', { label: 'depth of the tree', unit: '' }, strategies, served, ({ paths }) =>
    Math.log2(paths.length),
  );
}

type All = readonly (readonly [Pipeline, Served])[];

async function each(
  stage: Stage,
  pipelines: readonly Pipeline[],
  strategies: readonly Strategy[],
  parameters: Parameters,
): Promise<All> {
  const out: [Pipeline, Served][] = [];
  for (const pipeline of pipelines) out.push([pipeline, await serve(stage, pipeline, strategies, parameters)]);
  return out;
}

function tellError(stage: Stage, title: string, error: number | null, most: number, source: string): void {
  const here = error === null ? null : 100 * error;
  stage.figure({ name: `${title}: error, Alpine`, unit: '%', published: 100 * most, here, source });
}

function tellRatio(
  stage: Stage,
  title: string,
  strawman: string,
  here: number | null,
  published: number | null,
  source: string,
): void {
  const note = 'queues and the scheduler cost nothing beside such modules; the classifier is one more';
  stage.figure({ name: `${title}: throughput, Alpine : ${strawman}`, unit: '', published, here, source, note });
}

function plot(
  stage: Stage,
  figure: string,
  x: { readonly label: string; readonly unit: string },
  strategies: readonly Strategy[],
  served: All,
  at: (pipeline: Pipeline) => number,
): void {
  stage.plot({
    title: `${figure}: throughput under overload`,
    source: `Alpine ${figure.replace('Figure', 'Fig.')}`,
    x,
    y: { label: 'throughput', unit: 'packets/s' },
    series: strategies.map((strategy) => ({
      name: strategy,
      published: false,
      modelled: false,
      points: served.flatMap(([pipeline, { outcomes }]): [number, number][] => {
        const { pps } = outcomes.get(strategy)!;
        return pps === null ? [] : [[at(pipeline), pps]];
      }),
    })),
  });
}
