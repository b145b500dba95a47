import { planFigures } from './plan.js';

for (const f of planFigures())
  if (f.name.includes('beside')) console.log(f.name, f.value.toFixed(1), f.baseline?.toFixed(1));
