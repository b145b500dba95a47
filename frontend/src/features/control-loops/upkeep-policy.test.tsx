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

it('changes what was read, and leaves quiet hours as they are', async () => {
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <UpkeepPolicyButton />
      </QueryClientProvider>
    </MantineProvider>,
  );
  expect(call).not.toHaveBeenCalled();
  fireEvent.click(screen.getByText('Upkeep policy…'));
  fireEvent.change(await screen.findByLabelText(/Most changes an hour/), { target: { value: '5' } });
  fireEvent.click(screen.getByText('Save'));
  const { revision: _, ...request } = POLICY;
  await waitFor(() =>
    expect(call).toHaveBeenCalledWith('putUpkeepPolicy', { body: { ...request, max_changes: 5 } }, { ifMatch: '"3"' }),
  );
});
