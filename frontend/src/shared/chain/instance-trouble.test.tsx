import type { NfInstance, Session } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { expect, it, vi } from 'vitest';
import { sessionStore } from '../api/session.js';
import { InstanceTrouble } from './instance-trouble.js';

vi.mock('../api/client.js', async (original) => ({
  ...(await original<typeof import('../api/client.js')>()),
  call: vi.fn(async () => ({ instance_id: 'web.proxy.0', figures: null, state: { log: 'starting\nno memory\n' } })),
}));
const { call } = await import('../api/client.js');

function show(role: Session['role'], detail: string | null, state: NfInstance['state'] = 'failed') {
  sessionStore.setState({ session: { role, token: 't', name: 'ann', expires_ms: 9e15 } as Session });
  const queries = new QueryClient();
  const page = (told: string | null) => (
    <QueryClientProvider client={queries}>
      <InstanceTrouble instance={{ id: 'web.proxy.0', state, detail: told }} />
    </QueryClientProvider>
  );
  const { container, rerender } = render(page(detail));
  return { container, tell: (told: string | null) => rerender(page(told)) };
}

it('says why a container ended, with its log behind a disclosure that asks for it once opened', async () => {
  show('operator', 'the container ended: exit code 1: no memory');
  expect(screen.getByText('The container ended: its program reported an error (exit code 1).')).toBeTruthy();
  expect(call).not.toHaveBeenCalled();
  await userEvent.click(screen.getByText('Last lines of its log'));
  await waitFor(() => expect(document.querySelector('pre')?.textContent).toBe('starting\nno memory'));
});

it('asks for the log of each end anew, and says that it is being read, or why it cannot be', async () => {
  const { container, tell } = show('operator', 'the container ended: exit code 1');
  await userEvent.click(screen.getByText('Last lines of its log'));
  await waitFor(() => expect(document.querySelector('pre')?.textContent).toBe('starting\nno memory'));
  let refuse: (error: Error) => void = () => {};
  vi.mocked(call).mockImplementationOnce(() => new Promise((_, reject) => (refuse = reject)));
  tell('the container ended: exit code 2');
  await screen.findByText('It is being read…');
  expect(container.querySelector('pre')).toBeNull();
  refuse(new Error('Its agent does not answer.'));
  await screen.findByText('It could not be read: Its agent does not answer.');
  expect(container.textContent).not.toContain('wrote nothing');
});

it('says that a program wrote nothing once that is known', async () => {
  show('operator', 'the container ended: exit code 1');
  vi.mocked(call).mockResolvedValueOnce({ instance_id: 'web.proxy.0', figures: null, state: { log: '' } } as never);
  await userEvent.click(screen.getByText('Last lines of its log'));
  await screen.findByText('It wrote nothing, or its agent does not have it.');
});

it('shows who may not ask the line that is known', () => {
  show('viewer', 'the container ended: exit code 1: no memory');
  expect(document.querySelector('details:not([open]) pre')?.textContent).toBe('no memory');
});

it('says nothing of what runs, and is no alarm while it starts', () => {
  expect(show('viewer', null, 'running').container.textContent).toBe('');
  const { container } = show('viewer', 'it does not answer yet', 'starting');
  expect(container.textContent).toBe('it does not answer yet');
  expect(container.querySelector('[data-failed]')).toBeNull();
});
