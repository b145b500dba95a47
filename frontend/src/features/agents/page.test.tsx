import { MantineProvider } from '@mantine/core';
import type { NodeStatus, Role } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, render, screen, waitFor, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { createMemoryRouter, RouterProvider } from 'react-router';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { sessionStore } from '../../shared/api/session.js';
import { live } from '../../shared/stream/stream.js';
import { Component } from './page.js';

const node = (id: string, changed: Partial<NodeStatus> = {}): NodeStatus => ({
  id,
  kind: 'server',
  origin: 'live',
  state: 'connected',
  engine: 'running',
  generation: { desired: 1, observed: 1 },
  version: '0.1.0',
  capabilities: {},
  last_seen_ms: 1,
  detail: null,
  ...changed,
});
const NODES = [
  node('edge-1'),
  node('server-1', { origin: 'twin', state: 'disconnected', detail: 'silent for 2 s' }),
  node('tor', { kind: 'switch', state: 'never-seen', version: null, last_seen_ms: null }),
];

const LINKS = [{ id: 'uplink', a: { node: 'edge-1', port: 'nic0' }, b: { node: 'tor', port: 'p1' } }];

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(async (name: string) =>
    name === 'getInfrastructure' ? { links: LINKS } : { node: 'tor', token: 'jt-secret', expires_ms: 1 },
  ),
  callFull: vi.fn(async (name: string) => ({
    data: { items: name === 'listNodes' ? NODES : [], total: NODES.length },
    next: null,
  })),
}));
vi.mock('../../shared/ui/subject-link.js', () => ({ SubjectLink: ({ subject }: { subject: string }) => subject }));
vi.mock('../../shared/page/page-header.js', async (original) => ({
  ...(await original<typeof import('../../shared/page/page-header.js')>()),
  PageHeader: ({ description }: { description: string }) => <p>{description}</p>,
}));
const { call } = await import('../../shared/api/client.js');
afterEach(() => vi.mocked(call).mockClear());

async function show(role: Role) {
  sessionStore.setState({ session: { token: 't', name: 'a', role, expires_ms: Number.MAX_SAFE_INTEGER } });
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <RouterProvider router={createMemoryRouter([{ path: '/', element: <Component /> }])} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  await screen.findByText('1 of 3 are connected.');
  return userEvent.setup();
}
const row = (id: string) => screen.getByRole('row', { name: new RegExp(id) });
const buttons = () =>
  within(screen.getByRole('table', { name: 'Agents' })).getAllByRole<HTMLButtonElement>('button', {
    name: /^(Join token|Revoke)/,
  });

describe('the page of agents', () => {
  it('shows state, last contact, version and detail of each', async () => {
    await show('viewer');
    expect(row('edge-1').textContent).toMatch(/connected.*now.*0\.1\.0/);
    expect(row('server-1').textContent).toMatch(/disconnected.*silent for 2 s/);
    expect(row('tor').textContent).toMatch(/never seen.*never/);
  });

  it('says which links of a node are down', async () => {
    await show('viewer');
    expect(row('edge-1').textContent).not.toContain('is down');
    const link = { link_id: 'uplink', t_ms: 1, a_to_b_bps: 0, b_to_a_bps: 0 };
    act(() => live.addLinks([{ ...link, utilization: 0, drops: 0, up: false }]));
    await waitFor(() => expect(row('edge-1').textContent).toContain('link uplink is down'));
    expect(row('tor').textContent).toContain('link uplink is down');
  });

  it.each(['viewer', 'operator', 'designer'] as const)('lets a %s change nothing, and says why', async (role) => {
    await show(role);
    expect(buttons()).toHaveLength(6);
    for (const button of buttons()) {
      expect(button.disabled).toBe(true);
      expect(button.closest('[title]')!.getAttribute('title')).toBe('Needs the role admin');
    }
  });

  it('leaves agents of the twin to the twin', async () => {
    await show('admin');
    const disabled = buttons().filter((each) => each.disabled);
    expect(disabled.map((each) => each.closest('[title]')!.getAttribute('title'))).toEqual([
      'Emulated: the twin gives its agents their credentials',
      'Emulated: the twin gives its agents their credentials',
    ]);
    expect(disabled.every((each) => row('server-1').contains(each))).toBe(true);
  });

  it('shows a join token once', async () => {
    const user = await show('admin');
    await user.click(screen.getByRole('button', { name: 'Join token for tor' }));
    const dialog = await screen.findByRole('dialog', { name: 'Join token for tor' });
    expect(call).toHaveBeenCalledWith('createJoinToken', { body: { node: 'tor' } });
    expect(dialog.textContent).toContain('jt-secret');
    await user.click(within(dialog).getByRole('button', { name: 'Close' }));
    await waitFor(() => expect(screen.queryByText('jt-secret')).toBeNull());
  });

  it.each([
    ['edge-1', /engine forwards packets as before.*degraded/],
    ['tor', /switch forwards packets with the entries/],
  ])('says what becomes of the traffic before it revokes the credential of %s', async (id, text) => {
    const user = await show('admin');
    await user.click(screen.getByRole('button', { name: `Revoke the credential of ${id}` }));
    expect(await screen.findByText(text)).toBeTruthy();
    expect(call).not.toHaveBeenCalledWith('revokeCredential', expect.anything());
    await user.click(screen.getByRole('button', { name: 'Revoke' }));
    expect(call).toHaveBeenCalledWith('revokeCredential', { params: { id } });
  });
});
