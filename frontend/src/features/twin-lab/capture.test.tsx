import { MantineProvider } from '@mantine/core';
import type { CaptureStatus, HostNode } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { sessionStore } from '../../shared/api/session.js';
import { Capture } from './capture.js';
import { lastCapture } from './last-capture.js';

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(),
}));
const { call, ApiError } = await import('../../shared/api/client.js');

const hosts = [{ id: 'client-1' }] as HostNode[];
interface Input {
  readonly body: CaptureStatus['request'];
  readonly params: { readonly id: string };
}

/** A server that takes no filter *nonsense* and whose captures have run to their end, except with the filter *endless*. */
function serve() {
  const captures = new Map<string, object>();
  vi.mocked(call).mockImplementation((async (name: string, { body, params }: Input) => {
    if (name === 'getCapture') return captures.get(params.id);
    if (name === 'stopCapture') {
      const stopped = { state: 'completed', stopped_by: 'user', elapsed_s: 2.5 };
      captures.set(params.id, { ...captures.get(params.id)!, ...stopped });
      return captures.get(params.id);
    }
    if (body.filter === 'nonsense') {
      const errors = [{ pointer: '/filter', detail: 'is not a filter' }];
      throw new ApiError({ type: 'about:blank', title: 'Invalid', status: 422, errors });
    }
    const id = `capture-${captures.size + 1}`;
    const end = { state: 'completed', packets: [], detail: null, stopped_by: null, elapsed_s: null };
    captures.set(id, { id, request: body, ...end, ...(body.filter === 'endless' ? { state: 'running' } : {}) });
    return captures.get(id);
  }) as unknown as typeof call);
}

function open(role: 'viewer' | 'operator' = 'operator') {
  sessionStore.setState({ session: { token: 't', name: 'a', role, expires_ms: Number.MAX_SAFE_INTEGER } });
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <Capture hosts={hosts} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return userEvent.setup();
}

async function chooseHost(user: ReturnType<typeof open>) {
  await user.click(screen.getByRole('combobox', { name: 'At host' }));
  await user.click(await screen.findByRole('option', { name: 'client-1' }));
}
const button = () => screen.getByRole<HTMLButtonElement>('button', { name: 'Capture' });
const filter = () => screen.getByRole('textbox', { name: 'Filter' });
const RESULT = /packets at client-1/;

describe('Capture', () => {
  beforeEach(() => {
    serve();
    lastCapture.setState({ id: null });
  });

  it('names the filter of a result, and shows no earlier one below a filter that was refused', async () => {
    const user = open();
    expect(screen.getByTitle('Choose a host').contains(button())).toBe(true);
    await chooseHost(user);
    await user.type(filter(), 'tcp');
    await user.click(button());
    expect((await screen.findByText(RESULT)).textContent).toContain('filter tcp');
    await user.clear(filter());
    await user.type(filter(), 'nonsense');
    await user.click(button());
    expect(await screen.findByText('is not a filter')).toBeTruthy();
    expect(screen.queryByText(RESULT)).toBeNull();
    await user.type(filter(), ' no more');
    expect(screen.queryByText('is not a filter')).toBeNull();
  });

  it('finds the capture again when its page was left', async () => {
    const user = open();
    await chooseHost(user);
    await user.click(button());
    expect(await screen.findByText(RESULT)).toBeTruthy();
    cleanup();
    open();
    expect((await screen.findByText(RESULT)).textContent).toContain('without a filter');
  });

  it('stops a capture before its limits and shows what it has', async () => {
    const user = open();
    await chooseHost(user);
    await user.type(filter(), 'endless');
    await user.click(button());
    await user.click(await screen.findByRole('button', { name: 'Stop capture' }));
    expect((await screen.findByText(RESULT)).textContent).toContain('stopped by a user after 2.5 s');
    expect(screen.queryByRole('button', { name: 'Stop capture' })).toBeNull();
  });

  it('tells a viewer which role it needs', () => {
    open('viewer');
    expect(button().disabled).toBe(true);
    expect(screen.getByTitle('Needs the role operator').contains(button())).toBe(true);
  });
});
