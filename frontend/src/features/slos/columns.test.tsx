import { MantineProvider } from '@mantine/core';
import type { Deployment, SloStatus } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, within } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { expect, it } from 'vitest';
import { DataTable } from '../../shared/table/data-table.js';
import { objectiveColumns } from './columns.js';

const slo = (chain_id: string): SloStatus => ({
  chain_id,
  slo_id: 'latency',
  kind: 'latency',
  state: 'violated',
  target: 1000,
  measured: 58_000,
  predicted: 203,
  band: null,
  error: null,
  budget: null,
  offered: null,
  carried: null,
  unit: 'us',
  window_s: 10,
  packets: 5,
  origin: 'twin',
  t_ms: 100,
});

it('says that what is measured on an emulated board was predicted for a real one', () => {
  const columns = objectiveColumns({
    titleOf: (id) => id,
    definitionOf: () => undefined,
    onEmulatedBoard: (id) => id === 'on-board',
    stateOf: () => undefined,
  });
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <DataTable
          label="Objectives"
          cards={620}
          columns={columns}
          rows={[slo('on-board'), slo('software')]}
          rowKey={({ chain_id }) => chain_id}
        />
      </MemoryRouter>
    </MantineProvider>,
  );
  const predicted = (chain: RegExp) =>
    screen.getByText(chain).closest('tr')!.querySelector('[data-label="Predicted"]')!.textContent;
  expect(predicted(/^on-board/)).toBe('203 µson a real board; this one is emulated');
  expect(predicted(/^software/)).toBe('203 µs');
});

it('has what is measured beside the state and the target, before what is derived from them', () => {
  const columns = objectiveColumns({
    titleOf: (id) => id,
    definitionOf: () => undefined,
    onEmulatedBoard: () => false,
    stateOf: () => undefined,
  });
  const ids = columns.map(({ id }) => id);
  expect(ids.slice(0, 6)).toEqual(['chain', 'objective', 'state', 'measured', 'target', 'budget']);
  expect(new Set(ids).size).toBe(ids.length);
});

it('says why the chain of an objective is degraded, with a link to it', () => {
  const reason = 'loses everything: the link server-1 to leaf-1 is down';
  const deployments = [
    { chain_id: 'cut', state: 'degraded', reason },
    { chain_id: 'well', state: 'running', reason: null },
  ] as Deployment[];
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  queries.setQueryData(['deployments', 'listDeployments'], deployments);
  const columns = objectiveColumns({
    titleOf: (id) => id,
    definitionOf: () => undefined,
    onEmulatedBoard: () => false,
    stateOf: (id) => deployments.find(({ chain_id }) => chain_id === id)?.state,
  });
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={queries}>
          <DataTable
            label="Objectives"
            cards={620}
            columns={columns}
            rows={[slo('cut'), slo('well')]}
            rowKey={({ chain_id }) => chain_id}
            onSelect={() => undefined}
          />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
  const [cut, well] = screen.getAllByRole('row').slice(1);
  expect(within(cut!).getByText(reason)).toBeTruthy();
  expect(within(cut!).getByText('degraded')).toBeTruthy();
  expect(within(cut!).getByRole('link').getAttribute('href')).toBe('/chains/cut');
  expect(within(well!).queryByRole('link')).toBeNull();
});
