import { MantineProvider } from '@mantine/core';
import type { Webhook } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { stateDetail, wantedText } from './columns.js';
import { SecretDialog } from './secret-dialog.js';
import { WebhookForm } from './webhook-form.js';

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(),
}));
const { call } = await import('../../shared/api/client.js');
afterEach(() => vi.mocked(call).mockReset());

const HOOK: Webhook = {
  id: 'wh-1',
  title: 'Pager',
  url: 'https://pager.example/hook',
  least_severity: 'error',
  types: [],
  enabled: true,
  revision: 3,
  state: 'idle',
  attempts: 0,
  retry_in_s: null,
  delivered: 0,
  refused: 0,
  expired: 0,
  has_gap: false,
  last_attempt: null,
};

function show(webhook: Webhook | null) {
  const [onClose, onSecret] = [vi.fn(), vi.fn()];
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <WebhookForm webhook={webhook} onSecret={onSecret} onClose={onClose} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return { user: userEvent.setup(), onClose, onSecret };
}

describe('WebhookForm', () => {
  it('adds a webhook for the chosen types, and hands on its secret', async () => {
    const { user, onClose, onSecret } = show(null);
    vi.mocked(call).mockResolvedValueOnce({ id: 'wh-1', secret: 'whsec_x' });
    await user.type(screen.getByRole('textbox', { name: 'Name' }), ' Pager ');
    await user.type(screen.getByRole('textbox', { name: 'Address' }), 'https://pager.example/hook');
    await user.click(screen.getByRole('combobox', { name: 'Only of these types' }));
    await user.type(screen.getByRole('combobox', { name: 'Only of these types' }), 'slo.viol');
    await user.click(screen.getByRole('option', { name: /\(slo\.violated\)$/ }));
    await user.click(screen.getByRole('button', { name: 'Add' }));
    await waitFor(() => expect(onSecret).toHaveBeenCalledWith({ id: 'wh-1', secret: 'whsec_x' }));
    expect(onClose).toHaveBeenCalled();
    expect(vi.mocked(call).mock.calls[0]!.slice(0, 2)).toEqual([
      'createWebhook',
      {
        body: {
          title: 'Pager',
          url: 'https://pager.example/hook',
          least_severity: 'warning',
          types: ['slo.violated'],
          enabled: true,
        },
      },
    ]);
  });

  it('changes the webhook that was read, and no newer one', async () => {
    const { user, onSecret } = show(HOOK);
    await user.click(screen.getByRole('button', { name: 'Save' }));
    await waitFor(() => expect(call).toHaveBeenCalled());
    expect(vi.mocked(call).mock.calls[0]).toMatchObject(['putWebhook', { params: { id: 'wh-1' } }, { ifMatch: '"3"' }]);
    expect(onSecret).not.toHaveBeenCalled();
  });
});

it('closes the dialog of a secret only once it is said to be copied', async () => {
  const onClose = vi.fn();
  render(
    <MantineProvider env="test">
      <SecretDialog secret="whsec_x" onClose={onClose} />
    </MantineProvider>,
  );
  const user = userEvent.setup();
  await user.keyboard('{Escape}');
  const close = screen.getByRole('button', { name: 'Close' });
  expect(close).toHaveProperty('disabled', true);
  await user.click(close);
  expect(onClose).not.toHaveBeenCalled();
  expect(screen.getByText('whsec_x')).toBeTruthy();
  await user.click(screen.getByRole('checkbox', { name: 'I have copied it' }));
  await user.click(close);
  expect(onClose).toHaveBeenCalledOnce();
});

it('says which events are sent, what waits and what is missing', () => {
  expect(wantedText(HOOK)).toBe('errors');
  expect(wantedText({ least_severity: 'info', types: ['slo.violated'] })).toBe('Objective violated');
  expect(wantedText({ least_severity: 'warning', types: ['slo.violated', 'slo.met'] })).toBe('events of 2 types');
  expect(stateDetail(HOOK)).toBeNull();
  expect(stateDetail({ ...HOOK, state: 'retrying', attempts: 1, retry_in_s: 0.2 })).toBe(
    '1 failed attempt, the next now',
  );
  expect(stateDetail({ ...HOOK, has_gap: true })).toContain('missing');
});
