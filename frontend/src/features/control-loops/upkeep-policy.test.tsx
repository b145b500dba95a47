import { MantineProvider } from '@mantine/core';
import { UpkeepPolicyRequest } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { UpkeepPolicyButton } from './upkeep-policy.js';

const POLICY = { ...UpkeepPolicyRequest.parse({ quiet_hours: { from: 8, to: 18 } }), revision: 3 };
vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(async () => POLICY),
}));
const { call } = await import('../../shared/api/client.js');

function show(readOnly = false) {
  vi.mocked(call).mockClear();
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <UpkeepPolicyButton readOnly={readOnly} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  expect(call).not.toHaveBeenCalled();
}

it('changes what was read, and leaves the rest as it is', async () => {
  show();
  fireEvent.click(screen.getByText('Upkeep policy…'));
  fireEvent.change(await screen.findByLabelText(/Most changes an hour/), { target: { value: '5' } });
  fireEvent.click(screen.getByText('Save'));
  const { revision: _, ...request } = POLICY;
  await waitFor(() =>
    expect(call).toHaveBeenCalledWith('putUpkeepPolicy', { body: { ...request, max_changes: 5 } }, { ifMatch: '"3"' }),
  );
});

it('is read by those who may not change it, and read again where that failed', async () => {
  show(true);
  let fail: (error: Error) => void = () => undefined;
  const pending = new Promise<never>((_, reject) => {
    fail = reject;
  });
  vi.mocked(call).mockReturnValueOnce(pending);
  const open = screen.getByRole('button', { name: 'Upkeep policy…' });
  fireEvent.click(open);
  await waitFor(() => expect(open.getAttribute('aria-busy')).toBe('true'));
  // A browser takes the focus away from a button that is disabled.
  expect(open).toHaveProperty('disabled', false);
  fireEvent.click(open);
  fail(new Error('the server is away'));
  await waitFor(() => expect(open.getAttribute('aria-busy')).toBeNull());
  expect(call).toHaveBeenCalledTimes(1);
  fireEvent.click(open);
  expect(((await screen.findByLabelText(/Most changes an hour/)) as HTMLInputElement).disabled).toBe(true);
  expect(screen.getByRole('button', { name: 'Save' })).toHaveProperty('disabled', true);
});

it('sets and clears quiet hours, both of them', async () => {
  show();
  fireEvent.click(screen.getByText('Upkeep policy…'));
  const type = async (label: RegExp, value: string) =>
    fireEvent.change(await screen.findByLabelText(label), { target: { value } });
  await type(/Quiet from/, '');
  fireEvent.click(screen.getByText('Save'));
  expect(await screen.findByText('must be given with the other hour')).toBeTruthy();
  await type(/Quiet until/, '');
  fireEvent.click(screen.getByText('Save'));
  const { revision: _, ...request } = POLICY;
  const body = { ...request, quiet_hours: null };
  await waitFor(() => expect(call).toHaveBeenCalledWith('putUpkeepPolicy', { body }, { ifMatch: '"3"' }));
  expect(vi.mocked(call).mock.calls.filter(([name]) => name === 'putUpkeepPolicy')).toHaveLength(1);
});
