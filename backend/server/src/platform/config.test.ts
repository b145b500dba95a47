import { expect, it } from 'vitest';
import { loadCatalogue } from '../modules/nf-descriptors/catalogue.js';
import { configFrom } from './config.js';

it('finds every NF that ships, those of the engine, in containers, on boards and those that are processes', async () => {
  const { descriptors, problems } = await loadCatalogue(configFrom({}).catalogue);
  expect(problems).toEqual([]);
  const drivers = descriptors.flatMap(({ implementations }) => implementations.map(({ driver }) => driver));
  expect([...new Set(drivers)].sort()).toEqual(['board', 'container', 'engine', 'process']);
});
