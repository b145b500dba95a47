import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { describe, expect, it } from 'vitest';
import { LaneView } from './lane-view.js';
import { foldLanes } from './lanes.js';
import { boardEvent, boardWith, slotWith } from './testing.js';

const nat = { module: 'nat', pipeline_id: 'pl-1', node_id: 'nat' };
const board = boardWith({ id: 'board-1', title: 'Board 1', slots: [slotWith({ slot: 0, state: 'active', ...nat })] });
const slot = (t: number, state: string) => boardEvent(t, { board: 'board-1', slot: 0, state, ...nat });

describe('LaneView', { timeout: 30_000 }, () => {
  it('has a bar for each phase within the window, and the same as a table, the newest first', async () => {
    const log = [slot(1000, 'quiescing'), slot(20_000, 'loading'), slot(30_000, 'active')];
    const { container } = render(
      <MantineProvider env="test">
        <MemoryRouter>
          <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { enabled: false } } })}>
            <LaneView
              boards={[board]}
              lanes={foldLanes([board], 0, log, 0)}
              nfs={[]}
              reconfigurations={[]}
              range={{ from_s: 25, to_s: 45 }}
              lost_ms={null}
            />
          </QueryClientProvider>
        </MemoryRouter>
      </MantineProvider>,
    );
    const bars = [...container.querySelectorAll<HTMLElement>('[role="img"] [data-state]')];
    expect(bars.map(({ dataset, style }) => [dataset.state, style.left, style.width])).toEqual([
      ['loading', '0%', '25%'],
      ['active', '25%', '75%'],
    ]);
    expect(screen.queryByRole('status')).toBeNull();
    await userEvent.setup().click(screen.getByRole('button', { name: 'Board slots: table' }));
    const rows = within(screen.getByRole('region', { name: 'Board slots, table' }))
      .getAllByRole('row')
      .slice(1);
    expect(rows.map(({ textContent }) => textContent)).toEqual([
      expect.stringMatching(/board-1 slot 0active.*nat.*until now, 15.0 s$/),
      expect.stringMatching(/board-1 slot 0loading.*10.0 s$/),
    ]);
  });

  it('ends what still goes on where the connection was lost, and says so', () => {
    const { container } = render(
      <MantineProvider env="test">
        <MemoryRouter>
          <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { enabled: false } } })}>
            <LaneView
              boards={[board]}
              lanes={foldLanes([board], 0, [slot(20_000, 'active')], 0)}
              nfs={[]}
              reconfigurations={[]}
              range={{ from_s: 20, to_s: 40 }}
              lost_ms={35_000}
            />
          </QueryClientProvider>
        </MemoryRouter>
      </MantineProvider>,
    );
    expect(container.querySelector<HTMLElement>('[role="img"] [data-state="active"]')?.style.width).toBe('75%');
    expect(screen.getByRole('status').textContent).toMatch(/the connection is lost/);
  });
});
