import loadHighs from 'highs';
import { solveWithHighs } from '../solver/highs.js';
import type { Solver } from '../solver/linear-model.js';

/** HiGHS in this thread. A runtime grows and never shrinks, so that each test file loads its own. */
export async function testSolver(): Promise<Solver> {
  const highs = await loadHighs();
  return async (model, limits) => solveWithHighs(highs, model, limits);
}
