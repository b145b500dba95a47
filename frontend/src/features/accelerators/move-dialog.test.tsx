import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it, vi } from 'vitest';
import MoveDialog from './move-dialog.js';
import type { BoardNf } from './nfs.js';
import { boardWith, reconfigurationWith } from './testing.js';

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(),
  callFull: vi.fn(async () => ({ data: { items: [], total: 0 }, next: null })),
}));
const { call, ApiError } = await import('../../shared/api/client.js');
afterEach(() => vi.mocked(call).mockReset());

const nf = (node_id: string, chain_id: string, slot: BoardNf['slot']): BoardNf => ({
  id: `${chain_id}.${node_id}`,
  chain_id,
  node_id,
  nf: node_id,
  server: 'server-1',
  driver: 'engine',
  slot,
  slotState: slot && 'active',
});
const nfs = [nf('sqli', 'ch-1', null), nf('ddos', 'ch-2', { board: 'board-1', slot: 0 })];
const plan = {
  id: 'pn-1',
  feasible: true,
  request: { implementations: [] },
  chains: [],
  reasons: [],
  problems: [],
  conflicts: [],
  slos: [],
  migrations: [],
  steps: [{ ordinal: 0, kind: 'switch-node', subject: 'server-1', summary: 'sqli loaded', interrupts: [] }],
  diff: { added: [], removed: [], moved: ['ch-1.sqli.0'], reconfigured: [], kept: [] },
};

function show(answers: Record<string, unknown>) {
  vi.mocked(call).mockImplementation(async (name) => {
    const answer = answers[name];
    if (answer instanceof Error) throw answer;
    return (Array.isArray(answer) ? answer[asked(name).length - 1] : answer) as never;
  });
  const onStarted = vi.fn();
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <MoveDialog
          start={{ to: 'board', slot: { board: 'board-1', slot: 0 }, nf: '' }}
          boards={[boardWith({ id: 'board-1' })]}
          nfs={nfs}
          onClose={() => undefined}
          onStarted={onStarted}
        />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return { user: userEvent.setup(), onStarted };
}

const asked = (route: string) => vi.mocked(call).mock.calls.filter(([name]) => name === route);

/** Room is made, then the slot is loaded. */
const both = [plan, { ...plan, id: 'pn-2', base_plan: 'pn-1' }];

describe('MoveDialog', () => {
  it('shows the plan of exactly the move that it then asks for, with what it displaces', async () => {
    const { user, onStarted } = show({ createPlan: both, createReconfiguration: reconfigurationWith({ id: 'rc-7' }) });
    const program = screen.getByRole<HTMLButtonElement>('button', { name: 'Program' });
    expect(program.disabled).toBe(true);
    await user.click(screen.getByRole('combobox', { name: 'NF' }));
    await user.click(screen.getByRole('option', { name: /^sqli/ }));
    expect(await screen.findAllByText('Switch: sqli loaded')).toHaveLength(2);
    const first = [expect.objectContaining({ node_id: 'ddos', on: 'software' })];
    const then = [expect.objectContaining({ node_id: 'sqli', on: 'board', slot: { board: 'board-1', slot: 0 } })];
    expect(asked('createPlan').map(([, options]) => options)).toEqual([
      { body: { implementations: first } },
      { body: { implementations: then, on_top_of: plan.id } },
    ]);
    expect(asked('createReconfiguration')).toHaveLength(0);
    await user.click(program);
    await waitFor(() => expect(onStarted).toHaveBeenCalledWith('rc-7'));
    expect(asked('createReconfiguration')[0]?.[1]).toEqual({
      body: expect.objectContaining({ to: 'board', displaces: [{ chain_id: 'ch-2', node_id: 'ddos' }] }),
    });
  });

  it('cannot be applied while the plan is not feasible, and says why', async () => {
    const conflict = { constraint: 'throughput', needed: 3e8, available: 0, unit: 'bps', where: 'board-1' };
    const { user } = show({ createPlan: { ...plan, feasible: false, steps: [], conflicts: [conflict] } });
    await user.click(screen.getByRole('combobox', { name: 'NF' }));
    await user.click(screen.getByRole('option', { name: /^sqli/ }));
    await screen.findByText(/Throughput on board-1: needs 300 Mbit\/s/);
    expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Program' }).disabled).toBe(true);
  });

  it('offers no NF that the server would refuse there, and says why', async () => {
    const refused = {
      nf: { chain_id: 'ch-1', node_id: 'sqli' },
      board: 'board-1',
      slot: 0,
      displaces: [],
      verdict: 'refused',
      problem: 'no bitstream',
      conflict: null,
    };
    const { user } = show({ listSlotOffers: { items: [refused] } });
    await user.click(screen.getByRole('combobox', { name: 'NF' }));
    const option = await screen.findByRole('option', { name: /^sqli.*: no bitstream$/ });
    expect(option.getAttribute('data-combobox-disabled') ?? option.getAttribute('aria-disabled')).toBeTruthy();
    await user.click(option);
    expect(asked('createPlan')).toHaveLength(0);
    // One question for all NFs.
    expect(asked('listSlotOffers').map(([, options]) => options)).toMatchObject([
      { query: { board: 'board-1', slot: 0, load: 'partial' } },
    ]);
  });

  it('says that the NFs could not be checked where the server does not answer', async () => {
    const { user } = show({ listSlotOffers: new Error('away'), createPlan: both });
    await user.click(screen.getByRole('combobox', { name: 'NF' }));
    await user.click(await screen.findByRole('option', { name: /^sqli.*\(could not be checked\)$/ }));
    await waitFor(() => expect(asked('createPlan')).not.toHaveLength(0));
  });

  it('cannot be applied while room can be made but the slot not be loaded', async () => {
    const { user } = show({ createPlan: [plan, { ...both[1], feasible: false, steps: [] }] });
    await user.click(screen.getByRole('combobox', { name: 'NF' }));
    await user.click(screen.getByRole('option', { name: /^sqli/ }));
    expect(await screen.findByText('not feasible')).toBeTruthy();
    expect(screen.getByText('feasible')).toBeTruthy();
    expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Program' }).disabled).toBe(true);
  });

  it('tells why the server refused the move', async () => {
    const refusal = new ApiError({
      type: 'about:blank',
      title: 'Conflict',
      status: 409,
      detail: 'A move is under way.',
    });
    const { user, onStarted } = show({ createPlan: both, createReconfiguration: refusal });
    await user.click(screen.getByRole('combobox', { name: 'NF' }));
    await user.click(screen.getByRole('option', { name: /^sqli/ }));
    await screen.findAllByText('Switch: sqli loaded');
    await user.click(screen.getByRole('button', { name: 'Program' }));
    expect((await screen.findByRole('alert')).textContent).toContain('A move is under way.');
    expect(onStarted).not.toHaveBeenCalled();
  });
});
