import { MantineProvider } from '@mantine/core';
import type { Infrastructure } from '@orrery/contract';
import { render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { buildScene } from '../model.js';
import { Details } from './details.js';

const EMPTY = { name: 'lab', servers: [], switches: [], hosts: [], boards: [], links: [] };

const view = (isPending: boolean) => (
  <MantineProvider env="test">
    <Details
      target={{ kind: 'joint', id: 'web.e1.split' }}
      scene={buildScene(EMPTY as unknown as Infrastructure, [])}
      nodes={[]}
      plans={[]}
      isPending={isPending}
      onSelect={() => undefined}
    />
  </MantineProvider>
);

it('says that an element does not exist only once it is known what runs', () => {
  const { rerender } = render(view(true));
  expect(screen.queryByText(/does not exist/)).toBeNull();
  rerender(view(false));
  expect(screen.getByText(/does not exist/)).toBeTruthy();
  expect(screen.getByText(/No such mirror, merge, split or queue/)).toBeTruthy();
});
