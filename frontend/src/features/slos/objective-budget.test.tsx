import { MantineProvider } from '@mantine/core';
import type { SloBudget } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, within } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { expect, it } from 'vitest';
import { clockTextMs } from '../../shared/format/time.js';
import { HistoryCharts } from './history-charts.js';
import { ObjectiveAlerts, ObjectiveBudget } from './objective-budget.js';

const budget: SloBudget = {
  goal: 0.99,
  period_s: 2_592_000,
  since_ms: 0,
  good_s: 3600,
  bad_s: 360,
  unknown_s: 60,
  compliance: 0.909,
  left_s: 25_560,
  left_share: 0.986,
  burn: [{ window_s: 3600, rate: 9.1 }],
};

const slo = { chain_id: 'web', slo_id: 'fast', unit: 'us', target: 5000 } as const;

function show(children: React.ReactNode, history?: object) {
  const queries = new QueryClient({
    defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY, retry: false } },
  });
  queries.setQueryData(['slos', 'listSloAlerts'], []);
  if (history) queries.setQueryData(['slo-history', 'web', 'fast', 3600], history);
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={queries}>{children}</QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
}

const factOf = (name: string) => screen.getByText(name).nextElementSibling!.textContent;

it('has every figure of a budget with its unit', () => {
  show(<ObjectiveBudget budget={budget} />);
  expect(screen.getByText('Budget of 30 d')).toBeTruthy();
  expect(screen.getByText('98.6 %, 7 h 6 min; 6 min 0 s used')).toBeTruthy();
  expect(factOf('Compliance')).toBe('90.9 % of the judged time, goal 99 %');
  expect(factOf('Missed')).toBe('6 min 0 s');
  expect(factOf('Unknown')).toBe('1 min 0 s');
  expect(factOf('Burn rate, 1 h')).toBe('9.1 ×');
});

it('says that nothing is counted yet, and that there was no alert', () => {
  show(
    <>
      <ObjectiveBudget budget={null} />
      <ObjectiveAlerts chain_id="web" slo_id="fast" />
    </>,
  );
  expect(screen.getByText('Its seconds are not counted yet.')).toBeTruthy();
  expect(screen.getByText('None.')).toBeTruthy();
});

it('says where nothing was judged in place of an empty chart', () => {
  const empty = { chain_id: 'web', slo_id: 'fast', goal: 0.99, period_s: 3600, since_ms: 0, step_s: 10, points: [] };
  show(<HistoryCharts slo={slo} />, empty);
  expect(screen.getByText('Nothing was judged in this time.')).toBeTruthy();
  expect(screen.getByRole('radio', { name: '6 h' })).toBeTruthy();
});

it('has a budget over time as a table, until now by the server and not later', async () => {
  const point = { t_ms: 0, good_s: 0, bad_s: 10, unknown_s: 0, mean: null, worst: null, burn: 100, left_share: 0.75 };
  const head = { chain_id: 'web', slo_id: 'fast', goal: 0.99, period_s: 3600, since_ms: 0, step_s: 10 };
  show(<HistoryCharts slo={slo} />, { ...head, to_ms: 7000, points: [point] });
  expect(screen.getByRole('button', { name: 'Burn rate: download CSV' })).toBeTruthy();
  fireEvent.click(screen.getByRole('button', { name: 'Budget left: table' }));
  const table = await screen.findByRole('table', { name: 'Budget left, table' });
  expect(within(table).getByText('75.0 %')).toBeTruthy();
  expect(within(table).getByText(clockTextMs(7000))).toBeTruthy();
});

it('draws what was measured of a percentile of which there are no samples, beside its target', async () => {
  const point = { t_ms: 0, good_s: 10, bad_s: 0, unknown_s: 0, mean: 4000, worst: 4500, burn: 0, left_share: 1 };
  const head = { chain_id: 'web', slo_id: 'fast', goal: 0.99, period_s: 3600, since_ms: 0, step_s: 10 };
  show(<HistoryCharts slo={slo} />, { ...head, to_ms: 20_000, points: [point] });
  const figure = within(screen.getByRole('figure', { name: 'Measured' }));
  expect(figure.getAllByRole('listitem').map(({ textContent }) => textContent)).toEqual(['mean4.00ms', 'worst4.50ms']);
  expect(figure.getByText('Mean and worst of each 10 s. The dashed red line is the target.')).toBeTruthy();
  fireEvent.click(figure.getByRole('button', { name: 'Measured: table' }));
  const table = within(await screen.findByRole('table', { name: 'Measured, table' }));
  expect(table.getByText('4.50 ms')).toBeTruthy();
});
