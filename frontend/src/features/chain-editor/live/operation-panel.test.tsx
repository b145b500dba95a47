import { MantineProvider } from '@mantine/core';
import type { Operation, Role } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { expect, it, vi } from 'vitest';
import { sessionStore } from '../../../shared/api/session.js';
import { EditorContext, type EditorContextValue } from '../../../shared/chain-draft/context.js';
import { OperationPanel } from './operation-panel.js';

const operation = {
  id: 'op-1',
  kind: 'deploy',
  state: 'FAILED',
  by: 'amara',
  started_ms: 1,
  updated_ms: 2,
  first_packet_ms: null,
  error: null,
  steps: [],
} as unknown as Operation;

vi.mock('../../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../../shared/api/client.js')>()),
  call: vi.fn(async () => operation),
}));
vi.mock('../../../shared/chain-draft/saver-context.js', () => ({ useSaver: () => ({}) }));

it.each([
  ['viewer', true],
  ['operator', false],
] as [Role, boolean][])('offers to try a failed operation again; for a %s the button is disabled: %s', (role, off) => {
  sessionStore.setState({ session: { token: 't', name: 'a', role, expires_ms: Number.MAX_SAFE_INTEGER } });
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={new QueryClient()}>
          <EditorContext value={{ chain: { id: 'ch-1' } } as unknown as EditorContextValue}>
            <OperationPanel operation={operation} />
          </EditorContext>
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
  const button = screen.getByRole<HTMLButtonElement>('button', { name: 'Try again' });
  expect(button.disabled).toBe(off);
  expect(screen.queryByTitle('Needs the role operator')?.contains(button) ?? false).toBe(off);
});
