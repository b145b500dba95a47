import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { expect, it, vi } from 'vitest';
import NewChain from './new-chain.js';

const create = vi.fn(async (_: { name: string; title: string }) => null);
vi.mock('../../shared/chain/use-chain-actions.js', () => ({ useChainActions: () => ({ create }) }));
vi.mock('../../shared/api/queries.js', () => ({ useInfrastructure: () => ({ data: undefined }) }));

it('shows the name that the chain gets, also without a title', async () => {
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={new QueryClient()}>
          <NewChain others={[]} onClose={() => {}} />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
  const user = userEvent.setup();
  const made = () => create.mock.calls.at(-1)?.[0].name;
  for (const title of ['Web guard', '']) {
    const field = screen.getByRole('textbox', { name: 'Title' });
    await user.clear(field);
    if (title) await user.type(field, title);
    await user.click(screen.getByRole('button', { name: 'Create' }));
    expect(screen.getByText(`Name: ${made()}`)).toBeTruthy();
  }
  expect(made()).toBe('empty-chain');
});
