import loadHighs, { type Highs } from 'highs';
import { solveWithHighs } from '../solver/highs.js';
import type { Solver } from '../solver/linear-model.js';

/** HiGHS in this thread. A runtime grows and never shrinks, so that each test file loads its own. */
export async function testSolver(): Promise<Solver> {
  /** The package declares the types of its CommonJS build for its ES module too. */
  const load = loadHighs as unknown as () => Promise<Highs>;
  const highs = await load();
  return async (model, limits) => solveWithHighs(highs, model, limits);
}
