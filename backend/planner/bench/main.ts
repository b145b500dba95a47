import { testSolver } from '../src/testing/highs.js';
import { chainingFigures } from './chaining.js';
import { packingFigures } from './packing.js';
import { parallelFigures } from './parallel.js';
import { placementFigures } from './placement.js';
import { planFigures } from './plan.js';
import { scheduleFigures } from './schedule.js';

/** One figure a line, as JSON. */
const solver = await testSolver();
const figures = [
  ...placementFigures(),
  ...chainingFigures(),
  ...(await packingFigures(solver)),
  ...(await parallelFigures(solver)),
  ...scheduleFigures(),
  ...planFigures(),
];
for (const figure of figures) console.log(JSON.stringify(figure));
