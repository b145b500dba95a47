import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { sessionStore } from '../../shared/api/session.js';
import { StartTraffic } from './start-traffic.js';

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(async () => ({})),
  callFull: vi.fn(async () => ({ data: { items: [], total: 0 }, next: null })),
}));
const { call } = await import('../../shared/api/client.js');

afterEach(() => vi.mocked(call).mockClear());

function show() {
  sessionStore.setState({ session: { token: 't', name: 'a', role: 'admin', expires_ms: Number.MAX_SAFE_INTEGER } });
  const hosts = ['client-1', 'web-1'].map((id) => ({ id, address: '10.0.0.1', role: 'client' }));
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <StartTraffic hosts={hosts as never} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return userEvent.setup();
}

describe('StartTraffic', { timeout: 30_000 }, () => {
  it('sends what the fields show, and nothing while one of them is empty', async () => {
    const user = show();
    const choose = async (label: string, host: RegExp) => {
      await user.click(screen.getByRole('combobox', { name: label }));
      await user.click(screen.getByRole('option', { name: host }));
    };
    await choose('From', /client-1/);
    await choose('To', /web-1/);
    const rate = screen.getByRole('textbox', { name: 'Rate' });
    await user.clear(rate);
    expect(screen.getByText('A number from 1 to 2000')).toBeTruthy();
    await user.click(screen.getByRole('button', { name: 'Start' }));
    expect(call).not.toHaveBeenCalled();
    await user.type(rate, '7');
    await user.click(screen.getByRole('button', { name: 'Start' }));
    expect(call).toHaveBeenCalledWith(
      'startTraffic',
      { body: expect.objectContaining({ from: 'client-1', to: 'web-1', rate_per_s: 7, port: 80 }) },
      expect.anything(),
    );
  });
});
