import { expect, it } from 'vitest';
import { containerFacts } from './container-facts.js';

it('tells image, health, ends and the source of figures, as far as the agent does', () => {
  const container = { id: 'x', image: 'a/b:1', health: { status: 'healthy' }, ends: 2, measured_by: 'Docker' };
  expect(containerFacts({ container })).toEqual([
    ['Image', 'a/b:1'],
    ['Health check', 'healthy'],
    ['Ended by itself', '2'],
    ['CPU and memory by', 'Docker'],
  ]);
  expect(containerFacts({ container: { id: 'x', health: null } })).toEqual([]);
  for (const other of [null, {}, 'text', { container: null }]) expect(containerFacts(other)).toEqual([]);
});
