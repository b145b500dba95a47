import { ScenarioFigure } from '@orrery/contract';
import { expect, it } from 'vitest';
import { durationFigure } from './verdict.js';

it.each([
  ['quiet', 0.314, '31 %'],
  ['busy', 0.987, '99 %'],
])('a reconfiguration has the same bar on a %s machine, and its load beside it', (_, busyShare, told) => {
  expect(ScenarioFigure.parse(durationFigure('partial', 6.71, busyShare))).toMatchObject({
    published: 2.5,
    here: 6.71,
    bar: { least: null, most: 3 },
    note: expect.stringContaining(`whose cores were busy for ${told} of the time`),
  });
});
