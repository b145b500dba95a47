import type { SloStatus } from '@orrery/contract';
import { expect, it, vi } from 'vitest';
import { Metrics } from '../../platform/metrics.js';
import { SloMetrics } from './slo-metrics.js';

/** `name{label="value",...} number` lines of the text format of Prometheus. */
function parsed(text: string) {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^(orrery_slo_\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key!, text!]);
    return [{ name: name.replace('orrery_slo_', ''), labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

const status = (slo_id: string, rest: Partial<SloStatus>) => ({ chain_id: 'ch-1', slo_id, ...rest }) as SloStatus;
const budget: SloStatus['budget'] = {
  ...{ goal: 0.99, period_s: 3600, since_ms: 0, good_s: 90, bad_s: 9, unknown_s: 1 },
  ...{ compliance: 90 / 99, left_s: 27, left_share: 0.75 },
  burn: [
    { window_s: 60, rate: 9.1 },
    { window_s: 300, rate: null },
  ],
};

it('tells objectives to Prometheus: state, seconds, budget, burn rates and alerts, no more than are known', async () => {
  const metrics = new Metrics();
  let statuses = [status('fast', { state: 'violated', budget }), status('first', { state: 'no-data', budget: null })];
  const board = { all: () => statuses, onChange: () => undefined };
  const alerts = { openNumbers: () => new Map([['ch-1 fast', { error: 1 }]]) };
  const definition = { class_slos: [{ id: 'first', kind: 'priority', above: 'e1', below: 'e2' }] };
  const view = { plan: { chains: [{ chain_id: 'ch-1', definition }] } };
  new SloMetrics(metrics, board, { uncountedNumber: 3 } as never, alerts as never, view as never);
  const read = async () => parsed(await metrics.registry.metrics());
  const series = await read();
  const of = (name: string) => series.filter((each) => each.name === name);
  const fast = { chain: 'ch-1', class: '', objective: 'fast' };
  expect(of('state')).toEqual([
    { name: 'state', labels: { ...fast, state: 'violated' }, value: 1 },
    { name: 'state', labels: { chain: 'ch-1', class: 'e1/e2', objective: 'first', state: 'no-data' }, value: 1 },
  ]);
  expect(of('good_seconds')).toEqual([{ name: 'good_seconds', labels: fast, value: 90 }]);
  expect(of('bad_seconds')[0]?.value).toBe(9);
  expect(of('budget_left_ratio')[0]?.value).toBe(0.75);
  expect(of('burn_rate')).toEqual([{ name: 'burn_rate', labels: { ...fast, window: '60s' }, value: 9.1 }]);
  const open = of('alerts_open').filter(({ value }) => value > 0);
  expect(open).toEqual([{ name: 'alerts_open', labels: { ...fast, severity: 'error' }, value: 1 }]);
  expect(of('objectives_without_budget')[0]?.value).toBe(3);

  statuses = [];
  expect((await read()).map(({ name }) => name)).toEqual(['objectives_without_budget']);
});

it('has series of so many objectives at most, those with a budget first, and looks at the alerts once', async () => {
  const metrics = new Metrics();
  const statuses = Array.from({ length: 2100 }, (_, n) =>
    status(`s${n}`, { state: 'met', budget: n < 150 ? null : budget }),
  );
  const board = { all: () => statuses, onChange: () => undefined };
  const openNumbers = vi.fn(() => new Map());
  const none = { uncountedNumber: 0, openNumbers, plan: null } as never;
  new SloMetrics(metrics, board, none, none, none);
  const series = parsed(await metrics.registry.metrics());
  expect(series.filter(({ name }) => name === 'state')).toHaveLength(2000);
  expect(series.filter(({ name }) => name === 'good_seconds')).toHaveLength(1950);
  expect(openNumbers).toHaveBeenCalledTimes(1);
});
