import { MantineProvider } from '@mantine/core';
import type { Plan } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { expect, it, vi } from 'vitest';
import { Predictions } from './predictions.js';

const boards = [
  { id: 'board-1', origin: 'twin' },
  { id: 'board-2', origin: 'live' },
];
vi.mock('../api/queries.js', async (original) => ({
  ...(await original<typeof import('../api/queries.js')>()),
  useInfrastructure: () => ({ data: { boards } }),
  useChains: () => ({ data: [] }),
}));

const slo = (chain_id: string, met: boolean) => ({
  chain_id,
  slo_id: `of-${chain_id}`,
  kind: 'latency',
  unit: 'us',
  target: 1000,
  predicted: met ? 203 : 3000,
  met,
  band: null,
  attainable: 203,
  constraint: null,
  model: 'm',
});
const instance = (chain_id: string, board?: string) => ({ kind: 'nf', chain_id, board: board && { board, slot: 0 } });

it('does not say that an emulated board will meet what a real one does', () => {
  const plan = {
    slos: [slo('software', true), slo('emulated', true), slo('missed', false), slo('live', true)],
    graph: {
      nodes: [
        instance('software'),
        instance('emulated', 'board-1'),
        instance('missed', 'board-1'),
        instance('live', 'board-2'),
      ],
    },
  } as unknown as Plan;
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={new QueryClient()}>
          <Predictions slos={plan.slos} plan={plan} />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
  const said = (chain: string) =>
    screen.getByText(`of-${chain}`).closest('tr')!.querySelector('[data-label="Prediction"]')!;
  expect(['software', 'emulated', 'missed', 'live'].map((chain) => said(chain).textContent)).toEqual([
    'will be met',
    'met on a real boardthis one is emulated',
    'will be missed',
    'will be met',
  ]);
  expect(said('emulated').querySelector('[data-status="healthy"]')).toBeNull();
});
