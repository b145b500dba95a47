import { bringUpRack } from '../demo-chains.mjs';
import { isInterrupted, onInterrupt } from '../interrupt.mjs';
import { runScenario } from '../scenario/follow.mjs';
import { isGood, missesOf } from '../scenario/report.mjs';
import { step } from '../setup/progress.mjs';
import { Stack } from '../stack.mjs';
import { freePort } from './measure.mjs';

/** Scenarios in which the network corrects itself, with the parameters that are not the defaults. */
export const RUNS = [
  ['ssm-table-1', {}],
  ['ssm-two-tunnels', {}],
  ['ssm-two-tunnels', { load: 'uneven' }],
  ['ssm-four-tunnels', {}],
  ['e2-split', {}],
  ['e2-split', { flows: 'migrate' }],
  ['e2-split', { flows: 'never' }],
  ['e2-load-wave', {}],
  ['e2-load-wave', { strategy: 'migrate' }],
  ['hyper-chaining', {}],
  ['overload-heal', {}],
];

/** As the command line of a scenario tells it. */
export function nameOf(scenario, parameters) {
  return [scenario, ...Object.entries(parameters).map(([key, value]) => `${key}=${value}`)].join(' ');
}

/** A figure of the report of a run; what was published is its baseline. A bar that is a range is told in the name, and neither direction is better. */
export function figureOf(run, { name, here, published, unit, bar, pass }) {
  const { least = null, most = null } = bar ?? {};
  const isRange = least !== null && most !== null;
  return {
    name: `${run}: ${name}${isRange ? `, ${least} to ${most}` : ''}`,
    value: here,
    unit,
    better: isRange || !bar ? null : least === null ? 'lower' : 'higher',
    bar: isRange ? null : (least ?? most),
    baseline: published,
    pass,
  };
}

/** A run without figures, or without all of them, is one that misses its bar. */
export function unfinishedFigure(why) {
  return { name: why, value: null, unit: '', better: null, bar: null, baseline: null, pass: false };
}

/** Figures of one run; one that is refused or fails ends no others. */
async function measured(target, scenario, parameters) {
  const name = nameOf(scenario, parameters);
  try {
    const report = await step(name, () => runScenario(target, scenario, parameters), isGood);
    const unfinished = report.state === 'completed' ? [] : missesOf(report).map((why) => `${name}: ${why}`);
    return { figures: report.figures.map((figure) => figureOf(name, figure)), unfinished };
  } catch (error) {
    if (isInterrupted()) throw error;
    return { figures: [], unfinished: [`${name}: ${error.message}`] };
  }
}

export const bench = {
  title: 'loops: lent accelerators, splits and scaling, service requests and healing, beside the published figures',
  async run() {
    const stack = new Stack({ port: await freePort(), purpose: 'bench', twin: true });
    onInterrupt(() => stack.stop());
    try {
      await step('Server, twin and agents', async () => {
        await stack.start();
        await bringUpRack(stack);
      });
      const target = { api: (...request) => stack.api(...request) };
      const figures = [];
      const unfinished = [];
      for (const [scenario, parameters] of RUNS) {
        const run = await measured(target, scenario, parameters);
        figures.push(...run.figures);
        unfinished.push(...run.unfinished);
      }
      return [...figures, ...unfinished.map(unfinishedFigure)];
    } finally {
      await stack.stop();
    }
  },
};
