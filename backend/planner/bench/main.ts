import { testSolver } from '../src/testing/highs.js';
import { chainingFigures } from './chaining.js';
import { packingFigures } from './packing.js';
import { parallelFigures } from './parallel.js';
import { placementFigures } from './placement.js';
import { planFigures } from './plan.js';
import { scheduleFigures } from './schedule.js';

/** One figure a line, as JSON. Plans come first, as in a process that makes nothing else. */
const solver = await testSolver();
const figures = [
  ...planFigures(),
  ...placementFigures(),
  ...chainingFigures(),
  ...(await packingFigures(solver)),
  ...(await parallelFigures(solver)),
  ...scheduleFigures(),
];
for (const figure of figures) console.log(JSON.stringify(figure));
