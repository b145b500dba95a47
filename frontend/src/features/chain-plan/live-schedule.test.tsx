import { MantineProvider } from '@mantine/core';
import type { Deployment, Infrastructure, Plan, Session } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, render, screen, waitFor, within } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { expect, it, vi } from 'vitest';
import { sessionStore } from '../../shared/api/session.js';
import { live } from '../../shared/stream/stream.js';
import { LiveSchedule } from './live-schedule.js';

vi.mock('../../shared/charts/time-series-chart.js', () => ({ TimeSeriesChart: () => null }));
vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(async () => ({ items: [], total: 0 })),
  callFull: vi.fn(async () => ({ data: { items: [], total: 0 }, next: null })),
}));
Object.assign(window, { scrollTo: () => undefined });

const deployment = { chain_id: 'ch-1', version: 1, plan_id: 'pn-1', state: 'running' } as Deployment;
const planOf = (schedule: string | undefined) =>
  ({
    id: 'pn-1',
    chains: [{ chain_id: 'ch-1', version: 1, ...(schedule ? { schedule } : {}) }],
    classes: [{ id: 'web.a', chain_id: 'ch-1', nodes: ['ids', 'nat'] }],
    graph: {
      nodes: [{ kind: 'queue', id: 'web.q', chain_id: 'ch-1', tasks: ['t'], server: 'server-1', core: 1 }],
      edges: [],
    },
    schedules: [
      {
        chain_id: 'ch-1',
        tasks: [
          {
            id: 't',
            modules: ['ids'],
            classes: ['web.a'],
            useful_cycles_per_second: 3e8,
            idle_cycles_per_second: 0,
            overhead_cycles_per_second: 0,
          },
        ],
      },
    ],
    nodes: {
      'server-1': {
        schedulers: [
          {
            core: 1,
            tree: [{ kind: 'task', id: 'root', parent: null, weight: null, level: null, starts_at: 'web.q' }],
          },
        ],
      },
    },
  }) as unknown as Plan;
const infrastructure = { servers: [{ id: 'server-1', ghz: 1 }] } as Infrastructure;

function show(plan: Plan, role: Session['role'] = 'operator') {
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  queries.setQueryData(['deployments', 'listDeployments'], [deployment]);
  queries.setQueryData(['plans', 'one', 'pn-1'], plan);
  sessionStore.setState({ session: { role, token: 't', name: 'ann', expires_ms: 9e15 } as Session });
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={queries}>
          <LiveSchedule chainId="ch-1" title="Web" infrastructure={infrastructure} />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
}

it('shows what each task takes beside what is planned, with the signed difference', async () => {
  show(planOf('planned'));
  const table = screen.getByRole('table', { name: 'Tasks and policies of server-1, core 1' });
  const cells = () =>
    within(table)
      .getAllByRole('cell')
      .map(({ textContent }) => textContent);
  expect(cells()[0]).toBe('idsids → nat');
  expect(cells()[1]).toBe('30.0 %');
  expect(cells()[3]).toBe('–');
  act(() => live.addSamples([{ key: 'scheduler/server-1 1 root/cpu', t_ms: 1, value: 0.28, origin: 'twin' }]));
  await waitFor(() => expect(cells()[3]).toBe('2.0 points less'));
  expect(cells()[2]).toBe('28.0%');
  expect(screen.getByRole('button', { name: 'Serve in turn' })).toBeTruthy();
});

it('says that a chain without a schedule is served in turn, and offers the change to operators only', () => {
  show(planOf(undefined), 'viewer');
  expect(screen.getByText('One task for each instance')).toBeTruthy();
  expect(screen.queryByRole('button', { name: 'Serve as scheduled' })).toBeNull();
});
