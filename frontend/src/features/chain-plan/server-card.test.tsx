import { MantineProvider } from '@mantine/core';
import type { Accelerator, BoardNode, ServerNode } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { ServerCard } from './server-card.js';

const server: ServerNode = {
  id: 'server-1',
  origin: 'twin',
  cores: 1,
  ghz: 1,
  memory_bytes: 0,
  nics: [],
  addresses: [],
};
const board = {
  id: 'board-1',
  server: 'server-1',
  origin: 'twin',
  device: 'DE5-Net',
  attached: 'engine',
  bandwidth_bps: 1e9,
  slots: 2,
} as unknown as BoardNode;

function slots(now: Partial<Accelerator> | null, slotState = 'unknown'): (string | null)[] {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  const known = now && {
    id: 'board-1',
    detail: null,
    ...now,
    slots: [0, 1].map((slot) => ({ slot, state: slotState })),
  };
  client.setQueryData(['accelerators', 'list'], known ? [known] : []);
  const { unmount } = render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <ServerCard
          server={server}
          boards={[board]}
          instances={[]}
          modules={[]}
          chainId="ch-1"
          selected=""
          onSelect={() => undefined}
          onPoint={() => undefined}
        />
      </QueryClientProvider>
    </MantineProvider>,
  );
  const list = within(screen.getByRole('list', { name: 'Slots of board-1' }));
  const texts = list.getAllByRole('listitem').map(({ textContent }) => textContent);
  unmount();
  return texts;
}

it('calls a slot free only if its board can load something', () => {
  expect(slots({ state: 'operating' }, 'empty')).toEqual(['slot 0: free', 'slot 1: free']);
  expect(slots({ state: 'starting' })).toEqual(['slot 0: board starting', 'slot 1: board starting']);
  expect(slots({ state: 'absent' })).toEqual(['slot 0: board absent', 'slot 1: board absent']);
  expect(slots({ state: 'operating' })).toEqual(['slot 0: board unknown', 'slot 1: board unknown']);
});
