import { expect, it } from 'vitest';
import { FlowGeneratorConfig } from './kinds/flow-generator.js';

it('refuses a wave that goes back in time, at the point', () => {
  const wave = (...times: number[]) => times.map((at_s) => ({ at_s, rate_bps: 1e6 }));
  const issues = (points: unknown) =>
    FlowGeneratorConfig.safeParse({ to: 'web-1', wave: points }).error?.issues.map(({ path }) => path.join('/'));
  expect(issues(wave(0, 10, 20))).toBeUndefined();
  expect(issues(wave(0, 10, 10, 5))).toEqual(['wave/2/at_s', 'wave/3/at_s']);
});
