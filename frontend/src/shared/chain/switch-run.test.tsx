import { MantineProvider } from '@mantine/core';
import type { Deployment, Plan, Role, Session } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sessionStore } from '../api/session.js';
import { SwitchRun } from './switch-run.js';

vi.mock('../api/client.js', async (original) => ({
  ...(await original<typeof import('../api/client.js')>()),
  call: vi.fn(),
  callFull: vi.fn(async () => ({ data: { items: [], total: 0 }, next: null })),
}));
const { call } = await import('../api/client.js');

const OPTIONS = {
  strategy: 'e2',
  chaining: 'hyper',
  parallelization: 'sequential',
  scheduling: 'alpine',
  scheduling_mode: 'constrained',
  seed: 7,
} as const;
const planOf = (id: string, execution: string, more: object = {}) =>
  ({
    ...OPTIONS,
    id,
    base_plan: null,
    feasible: true,
    problems: [],
    conflicts: [],
    chains: [{ chain_id: 'ch-1', version: 2, execution, definition: {} }],
    classes: [],
    parallel: [],
    schedules: [],
    slos: [],
    reasons: [],
    graph: { nodes: [], edges: [] },
    steps: [{ ordinal: 0, kind: 'prepare-node', subject: 'server-1', summary: '2 started', interrupts: [] }],
    diff: { added: ['web.mon.0'], removed: [], moved: [], reconfigured: [], kept: [] },
    migrations: [],
    request: { chains: [{ chain_id: 'ch-1' }], remove: [], implementations: [] },
    ...more,
  }) as unknown as Plan;
const deployment = { chain_id: 'ch-1', version: 2, plan_id: 'pn-1', state: 'running' } as Deployment;
const operation = (id: string, execution: string | undefined, from_version: number | null) => ({
  id,
  state: 'COMPLETED',
  started_ms: 0,
  updated_ms: 0,
  by: 'ann',
  chains: [{ chain_id: 'ch-1', from_version, to_version: 2 }],
  request: { chains: [{ chain_id: 'ch-1', execution }] },
});

/** The server's answers, and what was asked of it. */
function serve({
  operations = [] as object[],
  plan = planOf('pn-2', 'parallel'),
  now = planOf('now', 'sequential', { feasible: false }),
}) {
  const bodies: { name: string; body: unknown }[] = [];
  vi.mocked(call).mockImplementation((async (name: string, input: { body: unknown }) => {
    if (name === 'listOperations') return { items: operations, total: operations.length };
    if (name === 'previewPlan') return now;
    bodies.push({ name, body: input.body });
    return name === 'createPlan' ? plan : { id: 'op-9' };
  }) as unknown as typeof call);
  return bodies;
}

function show(role: Role, props: Partial<Parameters<typeof SwitchRun>[0]> = {}, queries = new QueryClient()) {
  sessionStore.setState({ session: { role, token: 't', name: 'ann', expires_ms: 9e15 } as Session });
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={queries}>
          <SwitchRun
            deployment={deployment}
            plan={planOf('pn-1', 'sequential')}
            title="Web"
            dimension="execution"
            {...props}
          />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
}

beforeEach(() => localStorage.clear());
afterEach(() => vi.mocked(call).mockReset());

describe('changing how a running chain runs', () => {
  it('plans the running version in the other execution, shows what that changes, and deploys that very plan', async () => {
    const bodies = serve({});
    show('operator');
    await userEvent.click(screen.getByRole('button', { name: 'Run in parallel' }));
    const dialog = await screen.findByRole('dialog', { name: 'Run in parallel: Web' });
    expect(await within(dialog).findByText('Prepare: 2 started')).toBeTruthy();
    await userEvent.click(within(dialog).getByRole('button', { name: 'Run in parallel' }));
    await waitFor(() => expect(bodies.map(({ name }) => name)).toEqual(['createPlan', 'createDeployment']));
    // A strategy that never runs NFs in parallel would make the change useless.
    expect(bodies[0]!.body).toEqual({
      ...OPTIONS,
      parallelization: 'orrery',
      chains: [{ chain_id: 'ch-1', version: 2, execution: 'parallel' }],
    });
    expect(bodies[1]!.body).toEqual({ plan_id: 'pn-2' });
  });

  it('compares with what the chain would take now, not with what was predicted when it was deployed', async () => {
    const taking = (mean_us: number) => ({
      classes: [{ chain_id: 'ch-1', rate_bps: 1, mean_us, p99_us: 2 * mean_us }],
    });
    serve({
      plan: planOf('pn-2', 'parallel', taking(150)),
      now: planOf('now', 'sequential', taking(200)),
    });
    show('operator', { plan: planOf('pn-1', 'sequential', taking(311)) });
    await userEvent.click(screen.getByRole('button', { name: 'Run in parallel' }));
    const row = await screen.findByRole('row', { name: /Shorter by/ });
    await waitFor(() => expect(row.textContent).toContain('25'));
  });

  it('says why it is refused, and deploys nothing', async () => {
    const conflict = { constraint: 'engine-ability', needed: 1, available: 0, unit: 'merge', where: 'server-1' };
    serve({ plan: planOf('pn-2', 'parallel', { feasible: false, conflicts: [conflict], steps: [] }) });
    show('operator');
    await userEvent.click(screen.getByRole('button', { name: 'Run in parallel' }));
    const dialog = await screen.findByRole('dialog');
    expect(await within(dialog).findByText(/What the data plane can run on server-1: needs 1 merge/)).toBeTruthy();
    expect(within(dialog).getByRole<HTMLButtonElement>('button', { name: 'Run in parallel' }).disabled).toBe(true);
  });

  it('takes the last change back, with all of the options and the version before', async () => {
    const bodies = serve({ operations: [operation('op-2', 'parallel', 1), operation('op-1', undefined, null)] });
    show('operator', { plan: planOf('pn-1', 'parallel') });
    await userEvent.click(await screen.findByRole('button', { name: 'Undo' }));
    await screen.findByRole('dialog', { name: 'Undo: run Web as before' });
    await waitFor(() => expect(bodies).toHaveLength(1));
    expect(bodies[0]!.body).toMatchObject({
      chains: [{ chain_id: 'ch-1', version: 1, execution: 'sequential', schedule: 'round-robin' }],
    });
  });

  it('offers no undo of a change that is not in effect', () => {
    serve({});
    const items = [operation('op-2', 'parallel', 1), operation('op-1', undefined, null)];
    const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
    queries.setQueryData(['operations', 'list', 200], { items, total: 2 });
    show('operator', { plan: planOf('pn-1', 'sequential') }, queries);
    expect(screen.getByRole('button', { name: 'Run in parallel' })).toBeTruthy();
    expect(screen.queryByRole('button', { name: 'Undo' })).toBeNull();
  });

  it('is disabled with the reason while the chain is being changed, and where it would change nothing', () => {
    serve({});
    show('operator', { deployment: { ...deployment, state: 'deploying' } });
    expect(screen.getByTitle('The chain is being changed.')).toBeTruthy();
    expect(screen.getByRole<HTMLButtonElement>('button').disabled).toBe(true);
  });

  it('is not there for viewers', () => {
    serve({});
    show('viewer');
    expect(screen.queryByRole('button')).toBeNull();
  });
});
