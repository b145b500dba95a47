import { MantineProvider } from '@mantine/core';
import type { NfDescriptor, NfInstance } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { afterEach, describe, expect, it, vi } from 'vitest';
import RunOnDialog from './run-on-dialog.js';

vi.mock('../../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../../shared/api/client.js')>()),
  call: vi.fn(),
  callFull: vi.fn(async () => ({ data: { items: [], total: 0 }, next: null })),
}));
const { call, ApiError } = await import('../../../shared/api/client.js');
afterEach(() => vi.mocked(call).mockReset());

const cost = { cycles_per_packet: 100, cycles_per_byte: 0, base_latency_us: 0.5, memory_bytes: 0 };
const descriptor = {
  id: 'ids',
  implementations: [
    { kind: 'software', driver: 'engine', cost, resources: {} },
    { kind: 'container', driver: 'container', cost, resources: {} },
    { kind: 'board', driver: 'board', cost, resources: {} },
  ],
} as unknown as NfDescriptor;
const instance = {
  id: 'web.ids.0',
  chain_id: 'ch-1',
  node_id: 'ids',
  nf: 'ids',
  driver: 'engine',
  slot: null,
  server: 'server-1',
  core: 1,
} as NfInstance;
const slo = {
  chain_id: 'ch-1',
  slo_id: 'fast',
  kind: 'latency',
  unit: 'us',
  target: 100,
  attainable: 9,
  band: { low_us: 30, high_us: 80 },
  model: 'm',
};
const plan = {
  id: 'pn-2',
  base_plan: 'pn-1',
  chains: [],
  request: { implementations: [] },
  reasons: [],
  feasible: true,
  problems: [],
  conflicts: [],
  slos: [{ ...slo, predicted: 60, met: true }],
  migrations: [{ from: 'web.ids.0', from_server: 'server-1', to: 'web.ids.container-0', to_server: 'server-2' }],
  steps: [
    {
      ordinal: 0,
      kind: 'prepare-node',
      subject: 'server-2',
      summary: '1 instance started on server-2',
      interrupts: [],
    },
  ],
  diff: { added: ['web.ids.container-0'], removed: ['web.ids.0'], moved: [], reconfigured: [], kept: [] },
};
const base = { ...plan, id: 'pn-1', slos: [{ ...slo, predicted: 40, met: true }] };

function show(answers: Record<string, unknown>) {
  vi.mocked(call).mockImplementation(async (name) => {
    const answer = answers[name];
    if (answer instanceof Error) throw answer;
    return answer as never;
  });
  const onClose = vi.fn();
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
          <RunOnDialog instances={[instance]} descriptor={descriptor} onClose={onClose} />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
  return { user: userEvent.setup(), onClose };
}

const asked = (route: string) => vi.mocked(call).mock.calls.filter(([name]) => name === route);
const deploy = () => screen.getByRole<HTMLButtonElement>('button', { name: 'Deploy' });

describe('RunOnDialog', () => {
  it('plans nothing until another form is chosen, then deploys exactly the plan that it showed', async () => {
    const { user, onClose } = show({ createPlan: plan, getPlan: base, createDeployment: { id: 'op-1' } });
    expect(screen.getByText(/engine software on server-1, core 1/)).toBeTruthy();
    expect(deploy().disabled).toBe(true);
    expect(asked('createPlan')).toEqual([]);
    await user.click(screen.getByRole('radio', { name: 'Container' }));
    expect(await screen.findByText('Prepare: 1 instance started on server-2')).toBeTruthy();
    expect(asked('createPlan')[0]?.[1]).toEqual({
      body: { implementations: [expect.objectContaining({ chain_id: 'ch-1', node_id: 'ids', on: 'container' })] },
    });
    const moved = within(screen.getByRole('list', { name: 'Migrations' })).getByRole('listitem');
    expect(moved.textContent).toBe('web.ids.0 on server-1 to web.ids.container-0 on server-2');
    await user.click(deploy());
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(asked('createDeployment')[0]?.[1]).toEqual({ body: { plan_id: 'pn-2' } });
  });

  it('sets what the plan expects beside what is expected now', async () => {
    const { user } = show({ createPlan: plan, getPlan: base });
    await user.click(screen.getByRole('radio', { name: 'Container' }));
    await screen.findByRole('columnheader', { name: 'So far', hidden: true });
    const row = screen.getByText('fast').closest('tr')!;
    const cell = (label: string) => row.querySelector(`[data-label="${label}"]`)?.textContent;
    expect([cell('So far'), cell('Predicted')]).toEqual(['40.0 µs', '60.0 µs']);
    expect(asked('getPlan')[0]?.[1]).toEqual({ params: { id: 'pn-1' } });
  });

  it('says why it cannot be, and cannot be deployed then', async () => {
    const problem = { chain_id: 'ch-1', pointer: '/nodes/1', message: 'no server offers containers' };
    const { user } = show({ createPlan: { ...plan, feasible: false, steps: [], problems: [problem] }, getPlan: base });
    await user.click(screen.getByRole('radio', { name: 'Container' }));
    expect(await screen.findByText('No server offers containers.')).toBeTruthy();
    expect(deploy().disabled).toBe(true);
  });

  it('leads to where slots are for a board', async () => {
    const { user } = show({});
    await user.click(screen.getByRole('radio', { name: 'Board' }));
    const link = screen.getByRole<HTMLAnchorElement>('link', { name: 'Choose a slot' });
    expect(link.getAttribute('href')).toBe('/accelerators?program=ch-1%20ids');
    expect(asked('createPlan')).toEqual([]);
  });

  it('plans again when something else was deployed meanwhile', async () => {
    const stale = new ApiError({ type: 'about:blank', title: 'Conflict', status: 409, detail: 'Plan again.' });
    const { user, onClose } = show({ createPlan: plan, getPlan: base, createDeployment: stale });
    await user.click(screen.getByRole('radio', { name: 'Container' }));
    await screen.findByText('Prepare: 1 instance started on server-2');
    await user.click(deploy());
    expect((await screen.findByRole('alert')).textContent).toContain('Plan again.');
    expect(onClose).not.toHaveBeenCalled();
    await user.click(screen.getByRole('button', { name: 'Plan again' }));
    await waitFor(() => expect(asked('createPlan')).toHaveLength(2));
    await waitFor(() => expect(deploy().disabled).toBe(false));
  });
});
