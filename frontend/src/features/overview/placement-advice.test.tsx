import { MantineProvider } from '@mantine/core';
import type { PlacementAdvice } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { sessionStore } from '../../shared/api/session.js';
import { Placement } from './placement-advice.js';

const ADVICE: PlacementAdvice = {
  state: 'advise',
  why: '31 % less traffic between servers',
  revision: 7,
  compared_ms: 1,
  drift: [
    {
      chain_id: 'web',
      node_id: 'fw',
      planned_bps: 1e9,
      measured_bps: 3e9,
      rate_error: 2,
      planned_cycles: 0.5,
      measured_cycles: 0.4,
      cost_error: -0.2,
    },
  ],
  drift_omitted: 3,
  gain: { cross_traffic_bps: 3.1e9, cross_traffic_percent: 31, cores: 0, overloaded_cores: 0, objectives: 0 },
  disruption: {
    moved: ['a', 'b'].map((nf) => ({ instance: `web.${nf}.0`, from: 'server-1', to: 'server-2' })),
    flows: 12,
    states_moved: 2,
    states_lost: 0,
    seconds: 4,
  },
  plan_id: 'pn-1',
  operation_id: null,
  refusal: null,
  dismissed_until_ms: null,
};

let advice: PlacementAdvice | Error;
vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(async () => {
    if (advice instanceof Error) throw advice;
    return advice;
  }),
}));
const { call } = await import('../../shared/api/client.js');
afterEach(() => vi.mocked(call).mockClear());

function show(given: typeof advice, role: 'operator' | 'viewer' = 'operator') {
  advice = given;
  sessionStore.setState({ session: { token: 't', name: 'a', role, expires_ms: Number.MAX_SAFE_INTEGER } });
  return render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <Placement />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

it('tells what is saved and moved, and applies or dismisses the advice that was read', async () => {
  show(ADVICE);
  expect(await screen.findByText(/saves 3\.10.Gbit\/s between servers, and moves 2 NFs/)).toBeTruthy();
  expect(
    screen.getByText(/Flow state of 2 NFs moves along\. 12 flows are in progress there\. The last moves took 4\.00.s/),
  ).toBeTruthy();
  fireEvent.click(screen.getByText('Apply…'));
  expect(await screen.findByText(/web\.a\.0 moves from server-1 to server-2/)).toBeTruthy();
  fireEvent.click(screen.getByText('Apply'));
  await waitFor(() => expect(call).toHaveBeenCalledWith('applyPlacementAdvice', {}, { ifMatch: '"7"' }));
  fireEvent.click(screen.getByText('Dismiss for a day'));
  await waitFor(() =>
    expect(call).toHaveBeenCalledWith('dismissPlacementAdvice', { body: { hours: 24 } }, { ifMatch: '"7"' }),
  );
});

it('shows what drifted, with units, and how much is not listed', async () => {
  show(ADVICE, 'viewer');
  fireEvent.click(await screen.findByText('What drifted'));
  const row = (await screen.findByText('fw')).closest('tr')!;
  const texts = [...row.querySelectorAll('td, th')].map((cell) => cell.textContent);
  expect(texts.join(' | ')).toMatch(/1\.00.Gbit\/s \| 3\.00.Gbit\/s \| \+200.% \| 0\.5 \| 0\.4 \| −20.%/);
  expect(screen.getByText('3 more NFs differ less.')).toBeTruthy();
});

it('a viewer cannot apply it, and a refusal is told', async () => {
  show({ ...ADVICE, refusal: 'Something else was deployed.' }, 'viewer');
  expect((await screen.findByRole('alert')).textContent).toBe('Not applied: Something else was deployed.');
  for (const name of ['Apply…', 'Dismiss for a day']) {
    const button = screen.getByRole('button', { name });
    expect(button).toHaveProperty('disabled', true);
    expect(button.closest('[title]')?.getAttribute('title')).toBe('Needs the role operator');
  }
});

it('names some of many moves and counts the rest, and tells what becomes of flow state', async () => {
  const moved = Array.from({ length: 8 }, (_, nr) => ({ instance: `web.n${nr}.0`, from: 'server-1', to: 'server-2' }));
  show({ ...ADVICE, disruption: { moved, flows: 1, states_moved: 0, states_lost: 0, seconds: null } });
  expect(await screen.findByText(/No flow state has to move\. 1 flow is in progress there\.$/)).toBeTruthy();
  fireEvent.click(screen.getByText('Apply…'));
  expect(await screen.findByText(/web\.n5\.0 moves from server-1 to server-2\. And 2 more move\.$/)).toBeTruthy();
});

it('tells without an advice why there is none, and what drifted', async () => {
  const nothing = { gain: null, disruption: null, plan_id: null };
  const why = '31 % less traffic between servers. Not advised: the policy is to tell drift only.';
  show({ ...ADVICE, ...nothing, state: 'keep', why });
  expect(await screen.findByText(why)).toBeTruthy();
  expect(screen.getByText(/^Compared/).textContent).toMatch(/Compared .* ago\.$/);
  expect(screen.queryByText('Show plan')).toBeNull();
  expect(screen.queryByText('Apply…')).toBeNull();
  fireEvent.click(screen.getByText('What drifted'));
  expect(await screen.findByRole('table', { name: 'NFs beside their plan' })).toBeTruthy();
});

it('tells until when it was dismissed, and that nothing was compared', async () => {
  const nothing = { gain: null, disruption: null, plan_id: null, drift: [], drift_omitted: 0 };
  const { unmount } = show({ ...ADVICE, ...nothing, state: 'keep', dismissed_until_ms: 1_700_000_000_000 });
  expect(await screen.findByText(/^Dismissed: nothing is advised until .*2023/)).toBeTruthy();
  unmount();
  show({ ...ADVICE, ...nothing, state: 'none', why: 'Upkeep is switched off.', compared_ms: null });
  expect(await screen.findByText('Upkeep is switched off.')).toBeTruthy();
  expect(screen.queryByText(/Compared/)).toBeNull();
  expect(screen.queryByRole('button')).toBeNull();
});

it('says where it is not known whether another is better', async () => {
  show(new Error('the server is away'));
  expect(await screen.findByText(/not known: the server is away/)).toBeTruthy();
});
