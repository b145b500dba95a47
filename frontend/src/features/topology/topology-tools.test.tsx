import { MantineProvider } from '@mantine/core';
import { render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { expect, it, vi } from 'vitest';
import type { Overlay, OverlayEdge } from './overlay.js';
import { TopologyTools } from './topology-tools.js';
import type { ShownPath } from './use-shown-path.js';

const EDGE: OverlayEdge = { id: 'e', from: { node: 'host-1' }, to: { chip: 'web.fw.0' }, rate_bps: 1, cut: true };
const EMPTY: Overlay = {
  ...{ chainId: 'ch-1', edges: [], joints: new Map() },
  ...{ chips: new Set<string>(), nodes: new Set<string>(), links: new Set<string>() },
};

function show(change: Partial<ShownPath>) {
  const onShow = vi.fn();
  render(
    <MantineProvider env="test">
      <TopologyTools
        canvas={{ current: null }}
        listShown
        onList={() => undefined}
        chains={[{ value: 'ch-1', label: 'Shared NFs' }]}
        path={{ chainId: 'ch-1', wayId: '', ways: [], overlay: { ...EMPTY, edges: [EDGE] }, show: onShow, ...change }}
        onReset={() => undefined}
      />
    </MantineProvider>,
  );
  return onShow;
}

it('offers the ways of a chain that packets take', async () => {
  const taken = { id: 'w1', classes: [{ id: 'a', from: ['host-1'], match: [] }] };
  const onShow = show({ ways: [taken, { id: 'w2', classes: [] }] });
  await userEvent.click(screen.getByRole('combobox', { name: 'Show a way of the chain' }));
  expect((await screen.findAllByRole('option')).map(({ textContent }) => textContent)).toEqual(['w1']);
  await userEvent.click(screen.getByRole('option', { name: 'w1' }));
  expect(onShow).toHaveBeenCalledWith('ch-1', 'w1');
});

it('offers no ways of a chain that has none', () => {
  show({});
  expect(screen.queryByRole('combobox', { name: 'Show a way of the chain' })).toBeNull();
  expect(screen.getByText('1 of 1 edges cross the switch (dotted)')).toBeTruthy();
});

it('says that nothing runs along a way that is gone', () => {
  show({ wayId: 'w9', overlay: EMPTY });
  expect(screen.getByText('No edge that runs leads along w9')).toBeTruthy();
  const choice = screen.getByRole('combobox', { name: 'Show a way of the chain' }) as HTMLInputElement;
  expect(choice.value).toBe('w9');
});
