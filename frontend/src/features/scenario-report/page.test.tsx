import { MantineProvider } from '@mantine/core';
import type { ScenarioReport } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, within } from '@testing-library/react';
import { MemoryRouter, Route, Routes } from 'react-router';
import { expect, it, vi } from 'vitest';
import { Component } from './page.js';

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(),
  callFull: vi.fn(),
}));
vi.mock('./lines.js', () => ({ default: () => <p>lines</p> }));
const { call, callFull } = await import('../../shared/api/client.js');

const figure = { unit: 's', published: 2.5, here: 2.75, source: 'CoNFV Fig. 9', modelled: true, note: 'the load' };
const report: ScenarioReport = {
  id: 'sr-1',
  scenario_id: 'swap',
  title: 'Detectors change places',
  source: 'CoNFV VI',
  parameters: { limit_bps: 4_000_000 },
  by: 'ann',
  state: 'completed',
  steps: [{ title: 'Deploy', state: 'done', progress: null, started_ms: 0, ended_ms: 5000, detail: null }],
  figures: [
    { ...figure, name: 'partial', bar: { least: null, most: 2 }, pass: false },
    { ...figure, name: 'full', bar: null, pass: null },
  ],
  plots: [
    {
      title: 'Load',
      source: 'CoNFV Fig. 10',
      x: { label: 'time', unit: 's' },
      y: { label: 'load', unit: 'Mbit/s' },
      series: [{ name: 'detector', published: true, modelled: false, points: [[0, 1]] }],
    },
  ],
  chains: [],
  detail: null,
  started_ms: 0,
  ended_ms: 60_000,
};

const properties = {
  limit_bps: { type: 'number', title: 'Threshold of the load', unit: 'bps' },
  loads: { type: 'string', enum: ['both', 'one'], titles: { both: 'Partial and full' } },
};

function show(shown: ScenarioReport) {
  vi.mocked(call).mockResolvedValue(shown as never);
  const data = { items: [{ id: 'swap', parameters: { properties } }], total: 1 };
  vi.mocked(callFull).mockResolvedValue({ data, next: null } as never);
  render(
    <MantineProvider env="test">
      <MemoryRouter initialEntries={[`/scenarios/runs/${shown.id}`]}>
        <QueryClientProvider client={new QueryClient()}>
          <Routes>
            <Route path="/scenarios/runs/:id" element={<Component />} />
          </Routes>
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
}

it('shows what was published beside what came out, whether it is within the bar, and what is modelled', async () => {
  show(report);
  const row = await screen.findByRole('row', { name: /partial/ });
  const cells = within(row).getAllByRole('cell');
  expect(cells.map(({ textContent }) => textContent)).toEqual([
    'partial',
    '2.5 s',
    '2.75 s',
    '1.1×',
    expect.stringMatching(/^at most 2 s .*violated/i),
    'CoNFV Fig. 9',
    'modelled: the load',
  ]);
  const state = screen.getByText('completed, 1 of 1 bar missed').closest('[data-status]');
  expect(state?.getAttribute('data-status')).toBe('degraded');
  expect(vi.mocked(call)).toHaveBeenCalledWith('getScenarioRun', { params: { id: 'sr-1' } }, expect.anything());
});

it('shows the plots, the steps and the command that repeats the run', async () => {
  show(report);
  const plot = await screen.findByRole('figure', { name: 'Load' });
  expect(within(plot).getByText('detector, published')).toBeTruthy();
  expect(within(screen.getByRole('list', { name: 'Steps of the run' })).getByText('Deploy')).toBeTruthy();
  expect(screen.getByText('npm run scenario -- swap --set limit_bps=4000000')).toBeTruthy();
  for (const name of ['Figures as CSV', 'Report as JSON', 'Load: download CSV'])
    expect(screen.getByRole('button', { name })).toBeTruthy();
});

it('names parameters and their values as the form does, and those it does not know by their names', async () => {
  show({ ...report, parameters: { limit_bps: 4_000_000, loads: 'both', slice_s: 11, fast: false } });
  expect(await screen.findByText('Threshold of the load')).toBeTruthy();
  for (const text of ['4 Mbit/s', 'Loads', 'Partial and full', 'Slice (s)', '11', 'Fast', 'no'])
    expect(screen.getByText(text)).toBeTruthy();
});

it('leaves out what a step was doing once it is done, and keeps what it found', async () => {
  const step = { state: 'done', started_ms: 0, ended_ms: 5000 } as const;
  show({
    ...report,
    steps: [
      { ...step, title: 'Send', progress: 1, detail: 'sending probes' },
      { ...step, title: 'Trace', progress: null, detail: 'left out: no BMv2' },
      { ...step, title: 'Wait', state: 'failed', progress: 0.5, detail: 'waiting for leaf-1' },
    ],
  });
  expect(await screen.findByText(/left out: no BMv2/)).toBeTruthy();
  expect(screen.getByText(/waiting for leaf-1/)).toBeTruthy();
  expect(screen.queryByText(/sending probes/)).toBeNull();
});

it('says why a run has no figures', async () => {
  show({ ...report, state: 'failed', detail: 'no board', figures: [], plots: [] });
  expect(await screen.findByText('No figures')).toBeTruthy();
  expect(screen.getByText('no board')).toBeTruthy();
});
