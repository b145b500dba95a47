import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { BoardNf } from './nfs.js';
import PolicyForm from './policy-form.js';
import { boardWith } from './testing.js';

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(),
  callFull: vi.fn(async () => ({ data: { items: [], total: 0 }, next: null })),
}));
const { call, ApiError } = await import('../../shared/api/client.js');
afterEach(() => vi.mocked(call).mockReset());

const nfs: BoardNf[] = [
  {
    id: 'web.sqli',
    chain_id: 'ch-1',
    node_id: 'sqli',
    nf: 'sqli',
    server: 's',
    driver: 'engine',
    slot: null,
    slotState: null,
  },
];

function show() {
  const onClose = vi.fn();
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <PolicyForm policy={null} boards={[boardWith({ id: 'board-1' })]} nfs={nfs} onClose={onClose} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return { user: userEvent.setup(), onClose };
}

describe('PolicyForm', () => {
  it('keeps what was typed, and says that it must be a whole number', async () => {
    const { user } = show();
    const priority = screen.getByRole<HTMLInputElement>('textbox', { name: 'Priority' });
    // The dialog takes the focus once it is open.
    await waitFor(() => expect(document.activeElement).not.toBe(document.body));
    await user.clear(priority);
    await user.type(priority, '1.5');
    await user.click(screen.getByRole('button', { name: 'Add' }));
    expect(priority.value).toBe('1.5');
    expect(screen.getByText('must be a whole number')).toBeTruthy();
    expect(call).not.toHaveBeenCalled();
  });

  it('sends nothing while a field is wrong, then shows at its field what the server says of it', async () => {
    const { user, onClose } = show();
    const add = screen.getByRole('button', { name: 'Add' });
    await user.click(add);
    expect(screen.getAllByText('must be given').length).toBeGreaterThanOrEqual(4);
    expect(call).not.toHaveBeenCalled();

    await user.type(screen.getByRole('textbox', { name: 'Name' }), 'Onto the board');
    await user.click(screen.getByRole('combobox', { name: /^NF that moves/ }));
    await user.click(screen.getByRole('option', { name: /^sqli/ }));
    await user.type(screen.getByRole('textbox', { name: 'To the board above' }), '408');
    await user.type(screen.getByRole('textbox', { name: 'Back to software below' }), '300');
    vi.mocked(call).mockRejectedValueOnce(
      new ApiError({
        type: 'about:blank',
        title: 'Not acceptable',
        status: 422,
        errors: [{ pointer: '/threshold/up', detail: 'is more than any board carries' }],
      }),
    );
    await user.click(add);
    expect(await screen.findByText('is more than any board carries')).toBeTruthy();
    expect(onClose).not.toHaveBeenCalled();
    expect(call).toHaveBeenCalledWith(
      'createReconfigurationPolicy',
      {
        body: expect.objectContaining({
          title: 'Onto the board',
          nf: { chain_id: 'ch-1', node_id: 'sqli' },
          threshold: { metric: 'bps', up: 408e6, down: 300e6, for_s: 3 },
          slot: null,
        }),
      },
      expect.anything(),
    );
    vi.mocked(call).mockResolvedValueOnce({} as never);
    await user.click(add);
    await waitFor(() => expect(onClose).toHaveBeenCalled());
  });
});
