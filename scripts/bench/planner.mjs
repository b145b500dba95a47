import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from '../setup/paths.mjs';
import { SetupError, step } from '../setup/progress.mjs';

const TSX = join(ROOT, 'node_modules/tsx/dist/cli.mjs');
const MAIN = join(ROOT, 'backend/planner/bench/main.ts');

/** Figures printed by the planner's own benchmark, one per line. */
async function figuresOf(child) {
  const figures = [];
  const lines = createInterface({ input: child.stdout });
  const ended = new Promise((resolve) => {
    child.once('close', resolve);
  });
  for await (const line of lines) figures.push(JSON.parse(line));
  const code = await ended;
  if (code !== 0) throw new SetupError(`The planner's benchmark ended with ${code}.`);
  return figures;
}

export function runPlanner(args = []) {
  return figuresOf(spawn(process.execPath, [TSX, MAIN, ...args], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] }));
}

export const bench = {
  title: 'the planner: placement, chaining, packing, parallel forms, schedules and whole plans',
  twin: false,
  run: () => step('Planner, on one core', () => runPlanner()),
};
