import { MantineProvider } from '@mantine/core';
import type { NfInstance } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { describe, expect, it } from 'vitest';
import { sessionStore } from '../../../shared/api/session.js';
import { EditorContext, type EditorContextValue } from '../../../shared/chain-draft/context.js';
import { RunsOn } from './runs-on.js';

const cost = { cycles_per_packet: 100, cycles_per_byte: 0, base_latency_us: 0.5, memory_bytes: 0 };
const software = { kind: 'software', driver: 'engine', cost, resources: {} };
const container = { kind: 'container', driver: 'container', cost, resources: {} };
const instance = (driver: NfInstance['driver']) =>
  ({
    id: 'web.ids.0',
    chain_id: 'ch-1',
    node_id: 'ids',
    nf: 'ids',
    driver,
    slot: null,
    server: 'server-1',
    core: 1,
    state: 'running',
    detail: null,
    origin: 'twin',
  }) as NfInstance;

function show(
  role: 'viewer' | 'operator',
  driver: NfInstance['driver'],
  implementations: readonly object[],
  deployment_state = 'running',
) {
  sessionStore.setState({ session: { token: 't', name: 'a', role, expires_ms: Number.MAX_SAFE_INTEGER } });
  const chain = { deployment_state };
  const context = { chain, descriptors: [{ id: 'ids', implementations }] } as unknown as EditorContextValue;
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={new QueryClient()}>
          <EditorContext value={context}>
            <RunsOn instances={[instance(driver)]} />
          </EditorContext>
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
}

const change = () => screen.queryByRole('button', { name: 'Change what the NF runs on' });

describe('RunsOn', () => {
  it('opens the choice of its forms for who may move it', async () => {
    show('operator', 'container', [software, container]);
    expect(screen.getByText('a container on server-1')).toBeTruthy();
    await userEvent.setup().click(change()!);
    expect(await screen.findByRole('dialog', { name: 'Change what ids runs on' })).toBeTruthy();
    expect(screen.getByRole<HTMLInputElement>('radio', { name: 'Container' }).checked).toBe(true);
  });

  it('offers no choice of a single form', () => {
    show('operator', 'engine', [software]);
    expect(screen.getByText(/engine software/)).toBeTruthy();
    expect(change()).toBeNull();
  });

  it('shows the choice disabled to who may not move it, with the reason', () => {
    show('viewer', 'engine', [software, container]);
    expect(change()).toHaveProperty('disabled', true);
    expect(screen.getByTitle('Needs the role operator').contains(change())).toBe(true);
  });

  it('does not call an NF well whose chain loses packets', () => {
    show('viewer', 'engine', [software], 'degraded');
    expect(screen.queryByText('running')).toBeNull();
    expect(screen.getByText('runs, its chain is degraded')).toBeTruthy();
  });

  it('shows the latency in the NF where it is measured', () => {
    show('viewer', 'container', [software, container]);
    expect(screen.queryByText('Latency p99')).toBeNull();
    show('viewer', 'engine', [software, container]);
    expect(screen.getByText('Latency p99')).toBeTruthy();
  });
});
