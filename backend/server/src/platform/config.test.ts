import { expect, it } from 'vitest';
import { loadCatalogue } from '../modules/nf-descriptors/catalogue.js';
import { configFrom } from './config.js';

it('finds every bundled NF, whether it runs in the engine, in a container, on a board or as a process', async () => {
  const { descriptors, problems } = await loadCatalogue(configFrom({}).catalogue);
  expect(problems).toEqual([]);
  const drivers = descriptors.flatMap(({ implementations }) => implementations.map(({ driver }) => driver));
  expect([...new Set(drivers)].sort()).toEqual(['board', 'container', 'engine', 'process']);
});
