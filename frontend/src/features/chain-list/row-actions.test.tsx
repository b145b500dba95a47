import { MantineProvider } from '@mantine/core';
import type { Chain } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { describe, expect, it, vi } from 'vitest';
import { sessionStore } from '../../shared/api/session.js';
import type { Question } from '../../shared/ui/confirm-dialog.js';
import { RowActions } from './row-actions.js';

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(async () => ({})),
  callFull: vi.fn(async () => ({ data: { items: [], total: 0 }, next: null })),
}));

function show(deployment_state: Chain['deployment_state']) {
  sessionStore.setState({ session: { token: 't', name: 'a', role: 'admin', expires_ms: Number.MAX_SAFE_INTEGER } });
  const chain = {
    id: 'ch-1',
    draft: { title: 'Web guard', name: 'web' },
    deployment_state,
    deployed_version: deployment_state === 'none' ? null : 1,
    versions: [],
  } as unknown as Chain;
  const asked: Question[] = [];
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <MemoryRouter>
          <RowActions chain={chain} ask={(question) => void asked.push(question)} />
        </MemoryRouter>
      </QueryClientProvider>
    </MantineProvider>,
  );
  return asked;
}

describe('the actions of a chain in its row', () => {
  it('undeploy it by a button with that word, which asks first', async () => {
    const asked = show('running');
    const undeploy = screen.getByRole('button', { name: 'Undeploy Web guard' });
    expect(undeploy.textContent).toBe('Undeploy');
    await userEvent.setup().click(undeploy);
    expect(asked).toMatchObject([{ title: 'Take Web guard down?', confirm: 'Undeploy' }]);
  });

  it('deploy it by a button with that word where nothing runs', () => {
    show('none');
    expect(screen.getByRole('button', { name: 'Deploy Web guard' }).textContent).toBe('Deploy');
  });
});
