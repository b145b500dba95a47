import { MantineProvider } from '@mantine/core';
import { type AnyApplicationKind, APPLICATION_KINDS, applicationKindInfo } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { sessionStore } from '../../shared/api/session.js';
import { Applications } from './applications.js';

const KINDS = APPLICATION_KINDS.map((kind) => applicationKindInfo(kind as unknown as AnyApplicationKind));
const PAGES = {
  id: 'pages',
  definition: { id: 'pages', kind: 'http-client', node: 'client-1', enabled: true, config: { to: 'web-1', port: 80 } },
  revision: 3,
  created_ms: 1,
  updated_ms: 1,
  status: {
    state: 'running',
    since_ms: 1,
    detail: null,
    restarts: 0,
    pid: 7,
    metrics: [{ name: 'sent', title: 'Sent', unit: 'count', value: 12 }],
  },
};
const LISTS: Record<string, readonly unknown[]> = { listApplicationKinds: KINDS, listApplications: [PAGES] };

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(async () => ({})),
  callFull: vi.fn(async (name: string) => ({ data: { items: LISTS[name] ?? [], total: 0 }, next: null })),
}));
const { call } = await import('../../shared/api/client.js');

afterEach(() => vi.mocked(call).mockClear());

async function show(address = '/twin') {
  sessionStore.setState({ session: { token: 't', name: 'a', role: 'admin', expires_ms: Number.MAX_SAFE_INTEGER } });
  const nodes = ['client-1', 'web-1'].map((id) => ({ id, origin: 'twin' }));
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <MemoryRouter initialEntries={[address]}>
          <Applications infrastructure={{ hosts: nodes, servers: [] } as never} />
        </MemoryRouter>
      </QueryClientProvider>
    </MantineProvider>,
  );
  await screen.findByText('pages');
  return userEvent.setup();
}

describe('Applications', () => {
  it('lists what runs with what it measures, and stops it at the revision that is shown', async () => {
    const user = await show();
    const row = within(screen.getByRole('table', { name: 'Applications' }));
    expect(row.getByText('Sent')).toBeTruthy();
    const stop = screen.getByRole('button', { name: 'Stop pages' });
    expect(stop.textContent).toBe('Stop');
    await user.click(stop);
    expect(call).toHaveBeenCalledWith(
      'putApplication',
      { params: { id: 'pages' }, body: { ...PAGES.definition, enabled: false } },
      { ifMatch: '"3"' },
    );
  });

  it('adds what the form shows, and nothing while a field is missing', async () => {
    const user = await show();
    await user.click(screen.getByRole('button', { name: 'Add' }));
    const form = within(await screen.findByRole('dialog'));
    await user.click(form.getByRole('combobox', { name: 'Kind' }));
    await user.click(screen.getByRole('option', { name: 'HTTP client' }));
    const add = form.getByRole('button', { name: 'Add' });
    await user.click(add);
    expect(form.getAllByText('must be given')).toHaveLength(2);
    expect(call).not.toHaveBeenCalledWith('createApplication', expect.anything(), expect.anything());
    await user.click(form.getByRole('combobox', { name: 'Node' }));
    await user.click(screen.getByRole('option', { name: 'client-1' }));
    await user.type(form.getByPlaceholderText('Node or address'), 'web-1');
    const rate = form.getByRole('textbox', { name: /Rate/ });
    await user.clear(rate);
    await user.type(rate, '7');
    await user.click(add);
    const config = expect.objectContaining({ to: 'web-1', port: 80, rate_per_s: 7 });
    expect(call).toHaveBeenCalledWith(
      'createApplication',
      { body: { id: 'http-client-1', kind: 'http-client', node: 'client-1', enabled: true, config } },
      expect.anything(),
    );
  });

  it('opens the form that the address asks for, filled in', async () => {
    const user = await show('/twin?add=http-client&node=client-1&to=web-1&port=8080');
    const form = within(await screen.findByRole('dialog'));
    await user.click(form.getByRole('button', { name: 'Add' }));
    const config = expect.objectContaining({ to: 'web-1', port: 8080 });
    expect(call).toHaveBeenCalledWith(
      'createApplication',
      { body: { id: 'http-client-1', kind: 'http-client', node: 'client-1', enabled: true, config } },
      expect.anything(),
    );
  });
});
