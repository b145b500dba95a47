import { expect, it } from 'vitest';
import { loadCatalogue } from '../modules/nf-descriptors/catalogue.js';
import { configFrom } from './config.js';

it('finds every bundled NF, whether it runs in the engine, in a container, on a board or as a process', async () => {
  const { descriptors, problems } = await loadCatalogue(configFrom({}).catalogue);
  expect(problems).toEqual([]);
  const drivers = descriptors.flatMap(({ implementations }) => implementations.map(({ driver }) => driver));
  expect([...new Set(drivers)].sort()).toEqual(['board', 'container', 'engine', 'process']);
});

it('starts the twin, leaves it to something else, or has none', () => {
  const twin = (ORRERY_TWIN: string) => configFrom({ ORRERY_TWIN, ORRERY_TWIND: '/bin/twin' }).twin;
  expect(twin('on')).toEqual({ enabled: true, launcher: '/bin/twin' });
  expect(twin('external')).toEqual({ enabled: true, launcher: null });
  expect(twin('off').enabled).toBe(false);
  expect(() => twin('extern')).toThrow('ORRERY_TWIN: extern is none of "on", "off" and "external"');
});
