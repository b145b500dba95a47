import { MantineProvider } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { Plan } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, renderHook, screen, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { deployQuestion } from '../plan/deploy-question.js';
import type { Question } from '../ui/confirm-dialog.js';
import { useDeployChain } from './use-deploy-chain.js';

vi.mock('../api/client.js', async (original) => ({
  ...(await original<typeof import('../api/client.js')>()),
  call: vi.fn(),
  callFull: vi.fn(async () => ({ data: { items: [], total: 0 }, next: null })),
}));
const { call, ApiError } = await import('../api/client.js');
afterEach(() => vi.mocked(call).mockReset());

const stale = new ApiError({
  type: 'about:blank',
  title: 'Conflict',
  status: 409,
  errors: [{ pointer: '/plan_id', detail: 'builds on another plan', code: 'stale-plan' }],
});

type PlanUsed = Pick<Plan, 'id' | 'feasible'> & Parameters<typeof deployQuestion>[0];

/** Deploys a chain with a server that makes such plans and refuses so many deployments; what was asked and deployed. */
async function deployed({ moved = [] as string[], refusals = 0 }) {
  const plans: string[] = [];
  const attempts: unknown[] = [];
  const asked: Question[] = [];
  const plan = (): PlanUsed => ({
    id: `pn-${plans.length}`,
    feasible: true,
    problems: [],
    diff: { added: [], removed: [], moved, reconfigured: [], kept: [] },
    migrations: [],
    steps: [],
    request: { chains: [{ chain_id: 'ch-1' }], remove: [] },
  });
  vi.mocked(call).mockImplementation((async (name: string, input: { body: unknown }) => {
    if (name === 'createPlan') {
      plans.push(JSON.stringify(input.body));
      return plan() as unknown as Plan;
    }
    if (name !== 'createDeployment') return { items: [], total: 0 };
    attempts.push(input.body);
    if (attempts.length <= refusals) throw stale;
    return { id: 'op-1' };
  }) as unknown as typeof call);
  const queries = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={queries}>{children}</QueryClientProvider>
  );
  const ask = (question: Question) => void asked.push(question);
  const { result } = renderHook(() => useDeployChain(ask), { wrapper });
  await result.current('ch-1');
  return { plans, attempts, asked };
}

describe('deploying a chain without its plan on the screen', () => {
  it('asks before instances move, and deploys the plan that was asked about', async () => {
    const { attempts, asked } = await deployed({ moved: ['web.fw.0-2'] });
    expect(attempts).toEqual([]);
    expect(asked).toMatchObject([
      { title: 'Move what runs?', message: expect.stringContaining('web.fw.0-2'), confirm: 'Move and deploy' },
    ]);
    asked[0]!.run();
    await waitFor(() => expect(attempts).toEqual([{ plan_id: 'pn-1' }]));
  });

  it('offers to plan again where something else was accepted while it asked, and asks about the new plan', async () => {
    const show = vi.spyOn(notifications, 'show').mockReturnValue('');
    const { plans, attempts, asked } = await deployed({ moved: ['web.fw.0-2'], refusals: 1 });
    asked[0]!.run();
    await waitFor(() => expect(show).toHaveBeenCalledOnce());
    expect(attempts).toHaveLength(1);
    render(<MantineProvider env="test">{show.mock.calls[0]![0].message}</MantineProvider>);
    screen.getByRole('button', { name: 'Plan again' }).click();
    await waitFor(() => expect(asked).toHaveLength(2));
    expect(plans[1]).toBe(plans[0]);
    asked[1]!.run();
    await waitFor(() => expect(attempts).toEqual([{ plan_id: 'pn-1' }, { plan_id: 'pn-2' }]));
    show.mockRestore();
  });

  it('asks nothing where nothing moves', async () => {
    const { attempts, asked } = await deployed({});
    expect(asked).toEqual([]);
    expect(attempts).toEqual([{ plan_id: 'pn-1' }]);
  });

  it('plans again when something else was accepted in between, a few times', async () => {
    expect((await deployed({ refusals: 1 })).attempts).toEqual([{ plan_id: 'pn-1' }, { plan_id: 'pn-2' }]);
    expect((await deployed({ refusals: 9 })).attempts).toHaveLength(3);
  });
});
