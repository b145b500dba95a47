import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../setup/paths.mjs';
import { step } from '../setup/progress.mjs';

/** Flows per second by memory that the engine must reach. */
const BAR = 1e6;
/** Flows per second between two hardware firewalls (HYPER's prototype), over its control path. */
const HYPER = 9000;

export const bench = {
  title: 'flow state: flows a second of CPU time from one NF to another, beside HYPER’s published 9,000 flows/s',
  twin: false,
  async run() {
    const { stdout } = await step('flows', () =>
      promisify(execFile)(resolve(ROOT, 'agents/build/nfs/orrery-migration-bench')),
    );
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .map(({ name, value }) => ({
        name,
        value,
        unit: 'flows/s',
        better: 'higher',
        bar: name.endsWith(', all') ? BAR : HYPER,
        baseline: HYPER,
      }));
  },
};
