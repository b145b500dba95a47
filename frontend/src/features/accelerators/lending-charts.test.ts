import type { LendingGroup } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { chartNote, seriesOf, thresholdLevels } from './lending-charts.js';
import { lendingGroupWith, lendingMember } from './testing.js';

describe('thresholds of a lending group', () => {
  it('are drawn where its usage is measured, as many as its strategy heeds', () => {
    const valuesOf = (change: Partial<LendingGroup>) => {
      const group = lendingGroupWith(change);
      return (['cpu', 'bps'] as const).map((metric) => thresholdLevels(group, metric).map(({ value }) => value));
    };
    expect(valuesOf({})).toEqual([[0.75, 0.65], []]);
    expect(valuesOf({ usage: 'bps', max_bps: 1000, th_up: 0.5, th_low: 0.25 })).toEqual([[], [500, 250]]);
    expect(valuesOf({ strategy: 'static' })).toEqual([[0.75], []]);
    expect(valuesOf({ strategy: 'round-robin' })).toEqual([[], []]);
  });

  it('are explained below the chart', () => {
    expect(chartNote('bps', [])).toBeNull();
    expect(chartNote('cpu', [])).toBe('Shares of each VNF’s CPU limit, or of a core where it has none.');
    expect(chartNote('cpu', thresholdLevels(lendingGroupWith(), 'cpu'))).toBe(
      'Shares of each VNF’s CPU limit, or of a core where it has none. Above ↑ a VNF qualifies, below ↓ a holder gives up. Of an accelerated VNF its usage is compared, which the table tells.',
    );
    const byRate = lendingGroupWith({ usage: 'bps', max_bps: 1000, strategy: 'static' });
    expect(chartNote('bps', thresholdLevels(byRate, 'bps'))).toBe('Above ↑ a VNF qualifies.');
  });
});

it('series are of instances, and of NFs where slots are lent; only CPU has a limit', () => {
  const member = lendingMember('vpn.tunnel.0', { cpu_limit: 0.05 });
  const group = lendingGroupWith();
  expect(seriesOf([member], 'cpu', group)).toEqual([
    { key: expect.stringContaining('vpn.tunnel.0'), label: 'vpn.tunnel.0', full: 0.05 },
  ]);
  expect(seriesOf([member], 'bps', group)[0]).not.toHaveProperty('full');
  const slots = lendingGroupWith({ accelerators: [{ kind: 'slot', board: 'board-1', slot: 0 }] });
  expect(seriesOf([member], 'cpu', slots)[0]?.key).not.toContain('tunnel.0');
});
