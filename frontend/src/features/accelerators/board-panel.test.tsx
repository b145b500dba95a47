import { MantineProvider } from '@mantine/core';
import type { Role } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, cleanup, render, screen, waitFor, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { sessionStore } from '../../shared/api/session.js';
import { live } from '../../shared/stream/stream.js';
import { Boards } from './board-panel.js';
import type { BoardNf } from './nfs.js';
import { boardWith, slotWith } from './testing.js';

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(async () => ({ items: [], total: 0 })),
  callFull: vi.fn(async () => ({ data: { items: [], total: 0 }, next: null })),
}));
const { call, callFull } = await import('../../shared/api/client.js');
afterEach(() => vi.mocked(call).mockClear());

const nat: BoardNf = {
  id: 'web.nat',
  chain_id: 'ch-1',
  node_id: 'nat',
  nf: 'nat',
  server: 'server-1',
  driver: 'engine',
  slot: { board: 'board-1', slot: 0 },
  slotState: 'active',
};
const board = boardWith({
  id: 'board-1',
  title: 'Board 1',
  slots: [
    slotWith({ slot: 0, state: 'active', module: 'nat', chain_id: 'ch-1', node_id: 'nat' }),
    slotWith({ slot: 1, reservation: { board: 'board-1', slot: 1, by: 'amara', reason: 'bench', since_ms: 7 } }),
  ],
});

function show(role: Role, shown = board) {
  sessionStore.setState({ session: { token: 't', name: 'a', role, expires_ms: Number.MAX_SAFE_INTEGER } });
  const onMove = vi.fn();
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={new QueryClient()}>
          <Boards boards={[shown]} nfs={[nat]} onMove={onMove} />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
  return { user: userEvent.setup(), onMove };
}

describe('Boards', () => {
  it('offers a viewer nothing that it may not do, and says that the board is emulated', () => {
    show('viewer');
    const inHeader = (button: HTMLElement) => button.closest('th') !== null;
    expect(screen.getAllByRole('button').filter((button) => !inHeader(button))).toEqual([]);
    expect(screen.getByText('emulated')).toBeTruthy();
    expect(screen.getByText(/by amara/)).toBeTruthy();
  });

  it('offers no move on a board of which nothing is known', () => {
    const offered = () => screen.getAllByRole<HTMLButtonElement>('button', { name: /^(Program|Drain)/ });
    show('operator');
    expect(offered().some(({ disabled }) => !disabled)).toBe(true);
    cleanup();
    show('operator', { ...board, slots: board.slots.map((slot) => ({ ...slot, state: 'unknown' as const })) });
    expect(offered().every(({ disabled }) => disabled)).toBe(true);
    expect(screen.queryByText('operating')).toBeNull();
  });

  it('says why a slot of a board that is being built cannot be programmed', () => {
    const slots = board.slots.map((slot) => ({ ...slot, state: 'unknown' as const }));
    show('operator', { ...board, state: 'starting', detail: 'being built: 13 of 25', slots });
    expect(screen.getAllByText('board starting')).toHaveLength(2);
    expect(screen.queryByText('unknown')).toBeNull();
    const program = screen.getByRole<HTMLButtonElement>('button', { name: 'Program slot 1 of Board 1' });
    expect(program.disabled).toBe(true);
    expect(program.closest('[title]')?.getAttribute('title')).toBe('Board 1 is starting: being built: 13 of 25');
  });

  it('leads from a slot to the chain that it serves, unless that is deleted', async () => {
    const chain = { id: 'ch-1', draft: { title: 'Web guard' } };
    const none = { data: { items: [], total: 0 }, next: null };
    const listed = { data: { items: [chain], total: 1 }, next: null };
    vi.mocked(callFull).mockImplementation(async (name: string) => (name === 'listChains' ? listed : none) as never);
    show('viewer');
    const link = await screen.findByRole('link', { name: 'Web guard' });
    expect(link.getAttribute('href')).toBe('/chains/ch-1');
    cleanup();
    vi.mocked(callFull).mockResolvedValue(none as never);
    show('viewer');
    await waitFor(() => expect(screen.queryByRole('link', { name: /Web guard/ })).toBeNull());
    expect(screen.getByText(/Web guard \(deleted\)/)).toBeTruthy();
  });

  it('lets an operator drain what a slot runs, program a slot, and release a reserved one', async () => {
    const { user, onMove } = show('operator');
    await user.click(screen.getByRole('button', { name: /^Drain slot 0/ }));
    expect(onMove).toHaveBeenLastCalledWith({ to: 'software', nf: nat });
    expect(screen.queryByRole('button', { name: /^Drain slot 1/ })).toBeNull();
    await user.click(screen.getByRole('button', { name: 'Program slot 1 of Board 1' }));
    expect(onMove).toHaveBeenLastCalledWith({ to: 'board', slot: { board: 'board-1', slot: 1 }, nf: '' });
    const row = screen.getByRole('row', { name: /slot 1/ });
    expect(row.textContent).toContain('bench');
    await user.click(within(row).getByRole('button', { name: /^Release/ }));
    expect(call).toHaveBeenCalledWith('releaseSlot', { params: { id: 'board-1', slot: 1 } }, { ifMatch: '"7"' });
  });

  it('asks for the reason of a reservation, which may be left out', async () => {
    const { user } = show('operator');
    const reserve = async (reason: string) => {
      await user.click(screen.getByRole('button', { name: 'Reserve slot 0 of Board 1' }));
      const dialog = within(await screen.findByRole('dialog', { name: 'Reserve slot 0 of Board 1' }));
      if (reason) await user.type(dialog.getByLabelText('Reason'), reason);
      await user.click(dialog.getByRole('button', { name: 'Reserve' }));
      await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
    };
    await reserve('firmware test ');
    await reserve('');
    const params = { id: 'board-1', slot: 0 };
    expect(vi.mocked(call).mock.calls.filter(([name]) => name === 'reserveSlot')).toEqual([
      ['reserveSlot', { params, body: { reason: 'firmware test' } }],
      ['reserveSlot', { params, body: { reason: '' } }],
    ]);
  });

  it('shows what a slot at a switch drops for want of a next hop, which one beside an engine never does', async () => {
    show('viewer');
    expect(screen.queryByRole('columnheader', { name: /No next hop/ })).toBeNull();
    cleanup();
    show('viewer', { ...board, switches: ['leaf-1'] });
    expect(screen.getByRole('columnheader', { name: /No next hop/ })).toBeTruthy();
    await act(async () => live.addSamples([{ key: 'slot/board-1.0/no_hop_pps', value: 37, t_ms: 3, origin: 'twin' }]));
    await waitFor(() => expect(screen.getByRole('row', { name: /slot 0/ }).textContent).toContain('37'));
  });

  it('says how slow an emulated board runs only while packets go through it', async () => {
    const put = (key: string, value: number, t_ms: number) =>
      act(async () => live.addSamples([{ key, value, t_ms, origin: 'twin' }]));
    show('viewer');
    await put('board/board-1/slowdown', 287, 1);
    await put('slot/board-1.1/pps', 0, 1);
    expect(screen.queryByText(/slower than hardware/)).toBeNull();
    await put('slot/board-1.1/pps', 40, 2);
    expect(await screen.findByText(/slower than hardware/)).toBeTruthy();
    await put('slot/board-1.1/pps', 0, 3);
    await waitFor(() => expect(screen.queryByText(/slower than hardware/)).toBeNull());
  });
});

it('a board is drained as a whole, and says that it is out of service', async () => {
  const out = {
    id: 'board-1',
    kind: 'board',
    origin: 'twin',
    maintenance: { reason: 'new cable', by: 'a', since_ms: 1, force: false },
    lost: null,
    operation_id: null,
    left: [],
    return_refused: null,
  };
  const seen = { part: null, operation_id: null, moves: [], not_kept: [], warnings: [] };
  vi.mocked(call).mockImplementation(
    async (name: string) => (name === 'listScenarioRuns' ? { items: [], total: 0 } : seen) as never,
  );
  const { user } = show('operator');
  await user.click(await screen.findByRole('button', { name: 'Drain board-1' }));
  expect(await screen.findByRole('dialog', { name: 'Drain board-1' })).toBeTruthy();
  cleanup();
  vi.mocked(callFull).mockImplementation(async (name: string) => {
    const items = name === 'listOutOfService' ? [out] : [];
    return { data: { items, total: items.length }, next: null } as never;
  });
  const second = show('operator');
  await screen.findByText('new cable', {}, { timeout: 5000 });
  await second.user.click(screen.getByRole('button', { name: 'board-1 back in service' }));
  expect(call).toHaveBeenCalledWith('endMaintenance', { params: { id: 'board-1' }, body: { return: false } });
});

it('a board whose server is in maintenance says so, and no slot of it can be programmed', async () => {
  const maintenance = { reason: 'new fan', by: 'a', since_ms: 1, force: false };
  const out = { id: 'server-1', kind: 'server', origin: 'twin', maintenance, lost: null, operation_id: null, left: [] };
  vi.mocked(callFull).mockImplementation(async (name: string) => {
    const items = name === 'listOutOfService' ? [out] : [];
    return { data: { items, total: items.length }, next: null } as never;
  });
  show('operator');
  expect(await screen.findByText('server-1 is in maintenance')).toBeTruthy();
  expect(screen.queryByText('in service')).toBeNull();
  const program = screen.getByRole<HTMLButtonElement>('button', { name: 'Program slot 1 of Board 1' });
  expect(program.disabled).toBe(true);
  expect(program.closest('[title]')?.getAttribute('title')).toBe('server-1 is in maintenance');
});
