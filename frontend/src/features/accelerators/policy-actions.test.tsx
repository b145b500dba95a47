import { MantineProvider } from '@mantine/core';
import type { ReconfigurationPolicy, ReconfigurationPolicyRequest } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { expect, it, vi } from 'vitest';
import { EnabledSwitch, PolicyActions } from './policy-actions.js';
import PolicyForm from './policy-form.js';
import { boardWith } from './testing.js';

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(async () => ({})),
  callFull: vi.fn(async () => ({ data: { items: [], total: 0 }, next: null })),
}));
const { call } = await import('../../shared/api/client.js');

const fields: ReconfigurationPolicyRequest = {
  title: 'Onto the board',
  enabled: true,
  nf: { chain_id: 'ch-1', node_id: 'sqli' },
  slot: null,
  threshold: { metric: 'bps', up: 4e8, down: 3e8, for_s: 3 },
  displaces: [],
  load: 'full',
  policy: 'hold',
  cooldown_s: 10,
  priority: 0,
};
const policy: ReconfigurationPolicy = { ...fields, id: 'rp-1', revision: 4, load_now: null, state: 'watching' };

it('changes and deletes a policy only as it is shown', async () => {
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <EnabledSwitch policy={policy} may />
        <PolicyActions policy={policy} onEdit={() => undefined} />
        <PolicyForm policy={policy} boards={[boardWith({ id: 'board-1' })]} nfs={[]} onClose={() => undefined} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  const user = userEvent.setup();
  const options = { ifMatch: '"4"' };
  const params = { id: 'rp-1' };
  const press = (role: string, name: string) => user.click(screen.getByRole(role, { name, hidden: true }));
  await press('switch', 'Onto the board enabled');
  const body = { ...fields, enabled: false };
  await waitFor(() => expect(call).toHaveBeenLastCalledWith('putReconfigurationPolicy', { params, body }, options));
  await press('button', 'Save');
  await waitFor(() =>
    expect(call).toHaveBeenLastCalledWith('putReconfigurationPolicy', { params, body: fields }, options),
  );
  await press('button', 'Delete Onto the board');
  await press('button', 'Delete');
  await waitFor(() => expect(call).toHaveBeenLastCalledWith('deleteReconfigurationPolicy', { params }, options));
});
