import { MantineProvider } from '@mantine/core';
import type { SloStatus } from '@orrery/contract';
import { render, screen } from '@testing-library/react';
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
  offered: null,
  carried: null,
  unit: 'us',
  window_s: 10,
  packets: 5,
  origin: 'twin',
  t_ms: 100,
});

it('says that what is measured on an emulated board was predicted for a real one', { timeout: 30_000 }, () => {
  const columns = objectiveColumns({
    titleOf: (id) => id,
    definitionOf: () => undefined,
    onEmulatedBoard: (id) => id === 'on-board',
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
