import { MantineProvider } from '@mantine/core';
import type { SlotState } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { describe, expect, it } from 'vitest';
import { LaneView } from './lane-view.js';
import { foldLanes, type Lane } from './lanes.js';
import { boardWith, slotEvent, slotWith } from './testing.js';

const nat = { module: 'nat', chain_id: 'ch-1', node_id: 'nat' };
const board = boardWith({ id: 'board-1', title: 'Board 1', slots: [slotWith({ slot: 0, state: 'active', ...nat })] });
const slot = (t: number, state: SlotState) => slotEvent(t, { board: 'board-1', slot: 0, state, ...nat });

function show(lanes: readonly Lane[], from_s: number, to_s: number, lost_ms: number | null = null, chains?: string[]) {
  const queries = new QueryClient({ defaultOptions: { queries: { enabled: false } } });
  const listed = chains?.map((id) => ({ id, draft: { title: `Chain ${id}` } }));
  queries.setQueryData(['chains', 'listChains'], listed);
  return render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={queries}>
          <LaneView
            boards={[board]}
            lanes={lanes}
            nfs={[]}
            reconfigurations={[]}
            range={{ from_s, to_s }}
            lost_ms={lost_ms}
          />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
}

async function openTable() {
  await userEvent.setup().click(screen.getByRole('button', { name: 'Board slots: table' }));
  return screen.getByRole('table', { name: 'Board slots' });
}

it('says of a board that it, or its server, is in maintenance', () => {
  const maintenance = { reason: 'new fan', by: 'a', since_ms: 1, force: false };
  const queries = new QueryClient({ defaultOptions: { queries: { enabled: false } } });
  queries.setQueryData(['out-of-service', 'listOutOfService'], [{ id: 'board-2', maintenance, lost: null }]);
  const boards = [board, boardWith({ id: 'board-2', title: 'Board 2' })];
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={queries}>
          <LaneView
            boards={boards}
            lanes={[]}
            nfs={[]}
            reconfigurations={[]}
            range={{ from_s: 0, to_s: 9 }}
            lost_ms={null}
          />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
  expect(screen.getAllByText(/is in maintenance$/).map(({ textContent }) => textContent)).toEqual([
    'Board 2 is in maintenance',
  ]);
});

describe('LaneView', () => {
  it('has a bar for each phase within the window, and the same as a table, the newest first', async () => {
    const log = [slot(1000, 'quiescing'), slot(20_000, 'loading'), slot(30_000, 'active')];
    const { container } = show(foldLanes([board], 0, log, 0), 25, 45);
    const bars = [...container.querySelectorAll<HTMLElement>('[role="img"] [data-state]')];
    expect(bars.map(({ dataset, style }) => [dataset.state, style.left, style.width])).toEqual([
      ['loading', '0%', '25%'],
      ['active', '25%', '75%'],
    ]);
    expect(screen.queryByRole('status')).toBeNull();
    const rows = within(await openTable())
      .getAllByRole('row')
      .slice(1);
    expect(rows.map(({ textContent }) => textContent)).toEqual([
      expect.stringMatching(/board-1 slot 0active.*nat.*until now, 15.0 s$/),
      expect.stringMatching(/board-1 slot 0loading.*10.0 s$/),
    ]);
  });

  it('ends what still goes on where the connection was lost, and says so', () => {
    const { container } = show(foldLanes([board], 0, [slot(20_000, 'active')], 0), 20, 40, 35_000);
    expect(container.querySelector<HTMLElement>('[role="img"] [data-state="active"]')?.style.width).toBe('75%');
    expect(screen.getByRole('status').textContent).toMatch(/the connection is lost/);
  });

  it('leads from its table to chains that are there, and not to one that was deleted', async () => {
    const other = { ...nat, chain_id: 'ch-2' };
    const gone = slotEvent(10_000, { board: 'board-1', slot: 0, state: 'active', ...other });
    show(foldLanes([board], 0, [gone, slot(20_000, 'active')], 0), 0, 40, null, ['ch-1']);
    const table = within(await openTable());
    expect(table.getAllByRole('link').map((link) => link.getAttribute('href'))).toEqual(['/chains/ch-1']);
    expect(table.getByText(/a deleted chain \(ch-2\)/)).toBeTruthy();
  });
});
