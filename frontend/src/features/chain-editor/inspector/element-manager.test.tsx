import { MantineProvider } from '@mantine/core';
import type { ElementState, NfInstance } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { beforeEach, expect, it, vi } from 'vitest';
import { sessionStore } from '../../../shared/api/session.js';
import { ElementManager } from './element-manager.js';

vi.mock('../../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../../shared/api/client.js')>()),
  call: vi.fn(),
}));
const { call } = await import('../../../shared/api/client.js');

const PLAIN: ElementState = {
  instance_id: 'web.tunnel.0',
  accelerated: false,
  kinds: ['instructions'],
  cpu_share: 0.2,
  cpu_limit: 0.4,
  bps: 1e7,
  switched_ms: null,
};
let answers: Record<string, ElementState | Error>;
beforeEach(() => {
  answers = { getNfInstanceElement: PLAIN, accelerateNfInstance: { ...PLAIN, accelerated: true, switched_ms: 1 } };
  vi.mocked(call).mockReset();
  vi.mocked(call).mockImplementation((async (name: string) => {
    const answer = answers[name];
    if (answer instanceof Error) throw answer;
    return answer;
  }) as unknown as typeof call);
});

function show(role: 'viewer' | 'operator' = 'operator') {
  sessionStore.setState({ session: { token: 't', name: 'a', role, expires_ms: Number.MAX_SAFE_INTEGER } });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <ElementManager instance={{ id: 'web.tunnel.0' } as NfInstance} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

it('tells the mode and the limit, and switches after it has said what happens', async () => {
  show();
  expect(screen.getByText('reading…')).toBeTruthy();
  expect(await screen.findByText('software')).toBeTruthy();
  expect(screen.getByText(/of 40/)).toBeTruthy();
  const user = userEvent.setup();
  await user.click(screen.getByRole('button', { name: 'Accelerate…' }));
  expect(await screen.findByText(/Its sessions stay up/)).toBeTruthy();
  expect(vi.mocked(call).mock.calls.some(([name]) => name === 'accelerateNfInstance')).toBe(false);
  await user.click(screen.getByRole('button', { name: 'Accelerate' }));
  expect(await screen.findByText('accelerated')).toBeTruthy();
  expect(screen.getByRole('button', { name: 'Release accelerator…' })).toBeTruthy();
});

it('says why it cannot be switched', async () => {
  answers.getNfInstanceElement = { ...PLAIN, kinds: [] };
  show();
  const button = await screen.findByRole('button', { name: 'Accelerate…' });
  expect(button).toHaveProperty('disabled', true);
  expect(screen.getByTitle('Its server has no accelerator for it').contains(button)).toBe(true);
});

it('lets only operators switch', async () => {
  show('viewer');
  const button = await screen.findByRole('button', { name: 'Accelerate…' });
  expect(button).toHaveProperty('disabled', true);
});

it('shows what went wrong, and no mode that nobody told', async () => {
  answers.getNfInstanceElement = new Error('The agent of server-1 is not connected.');
  show();
  expect(await screen.findByText('unknown')).toBeTruthy();
  expect(await screen.findByText(/is not connected/)).toBeTruthy();
  expect(screen.queryByRole('button')).toBeNull();
});
