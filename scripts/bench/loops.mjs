import { bringUpRack } from '../demo-chains.mjs';
import { onInterrupt } from '../interrupt.mjs';
import { runScenario } from '../scenario/follow.mjs';
import { missesOf } from '../scenario/report.mjs';
import { step } from '../setup/progress.mjs';
import { Stack } from '../stack.mjs';
import { freePort } from './measure.mjs';

/** Scenarios in which the network corrects itself. */
export const SCENARIOS = [
  'ssm-table-1',
  'ssm-two-tunnels',
  'ssm-four-tunnels',
  'e2-split',
  'e2-load-wave',
  'hyper-chaining',
  'overload-heal',
];

/** A figure of a scenario's report; what was published is its baseline. A bar that is a range is told in the name, and neither direction is better. */
export function figureOf(scenario, { name, here, published, unit, bar, pass }) {
  const { least = null, most = null } = bar ?? {};
  const isRange = least !== null && most !== null;
  return {
    name: `${scenario}: ${name}${isRange ? `, ${least} to ${most}` : ''}`,
    value: here,
    unit,
    better: isRange || !bar ? null : least === null ? 'lower' : 'higher',
    bar: isRange ? null : (least ?? most),
    baseline: published,
    pass,
  };
}

/** A scenario that did not run to its end, and why: it never passes. */
export function unfinishedFigure(why) {
  return { name: why, value: null, unit: '', better: 'higher', bar: 1 };
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
      for (const scenario of SCENARIOS) {
        const report = await step(
          scenario,
          () => runScenario(target, scenario),
          ({ state }) => state === 'completed',
        );
        figures.push(...report.figures.map((figure) => figureOf(scenario, figure)));
        if (report.state !== 'completed') unfinished.push(`${scenario}: ${missesOf(report)[0]}`);
      }
      return [...figures, ...unfinished.map(unfinishedFigure)];
    } finally {
      await stack.stop();
    }
  },
};
