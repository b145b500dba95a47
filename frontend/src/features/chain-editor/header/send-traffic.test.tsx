import { MantineProvider } from '@mantine/core';
import type { ChainDefinition, Infrastructure } from '@orrery/contract';
import { act, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter, useLocation } from 'react-router';
import { describe, expect, it } from 'vitest';
import { createStore } from 'zustand';
import { sessionStore } from '../../../shared/api/session.js';
import { type Derived, EditorContext, type EditorContextValue } from '../../../shared/chain-draft/context.js';
import { live } from '../../../shared/stream/stream.js';
import { SendTraffic } from './send-traffic.js';

const deployed = { traffic_class: { from: ['client-1'], match: [], rate_bps: 1e7 } } as unknown as ChainDefinition;
const host = (id: string, role: 'client' | 'server', address: string) => ({
  id,
  role,
  origin: 'twin',
  addresses: [{ address }],
});
const infrastructure = {
  hosts: [host('client-1', 'client', '10.0.1.1'), host('web-1', 'server', '10.0.2.1')],
} as unknown as Infrastructure;

function Address() {
  const { pathname, search } = useLocation();
  return <p>{pathname + search}</p>;
}

function show(id: string, deployment_state: string, role: 'viewer' | 'operator' = 'operator') {
  sessionStore.setState({ session: { token: 't', name: 'a', role, expires_ms: Number.MAX_SAFE_INTEGER } });
  const derived = createStore(() => ({ deployed }) as unknown as Derived);
  const context = { chain: { id, deployment_state }, infrastructure, derived } as unknown as EditorContextValue;
  render(
    <MantineProvider env="test">
      <MemoryRouter initialEntries={['/chains/x']}>
        <EditorContext value={context}>
          <SendTraffic />
          <Address />
        </EditorContext>
      </MemoryRouter>
    </MantineProvider>,
  );
}
const button = () => screen.queryByRole<HTMLButtonElement>('button', { name: 'Send traffic' });

describe('Send traffic', () => {
  it('is there on a chain that was just deployed, and leads to the form of an application that sends some', async () => {
    show('ch-new', 'running');
    await userEvent.setup().click(button()!);
    expect(screen.getByText('/twin?add=http-client&node=client-1&to=web-1')).toBeTruthy();
  });

  it('goes when packets come', async () => {
    show('ch-busy', 'running');
    expect(button()).toBeTruthy();
    act(() => live.addSamples([{ key: 'chain/ch-busy/pps', t_ms: 1, value: 0, origin: 'twin' }]));
    expect(button()).toBeTruthy();
    act(() => live.addSamples([{ key: 'chain/ch-busy/pps', t_ms: 2, value: 20, origin: 'twin' }]));
    await expect.poll(button).toBeNull();
  });

  it('is not there before the chain runs, and disabled with the reason for who may not send', () => {
    show('ch-new', 'deploying');
    expect(button()).toBeNull();
    show('ch-new', 'running', 'viewer');
    expect(button()!.disabled).toBe(true);
    expect(button()!.title).toBe('Sending traffic needs the role operator.');
  });
});
