import { MantineProvider } from '@mantine/core';
import type { BoardNode, Fault } from '@orrery/contract';
import { render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { describe, expect, it, vi } from 'vitest';
import { BoardFaults } from './board-faults.js';

function show(faults: readonly Fault[], refusal: string | null = null) {
  const actions = { faults, refusal, busy: null, inject: vi.fn(), clear: vi.fn() };
  const boards = [{ id: 'board-1', slots: 2 }] as BoardNode[];
  render(
    <MantineProvider env="test">
      <BoardFaults boards={boards} actions={actions} />
    </MantineProvider>,
  );
  return { actions, user: userEvent.setup() };
}

describe('BoardFaults', () => {
  it('breaks a board, or one of its slots, once that was confirmed', async () => {
    const { actions, user } = show([]);
    await user.click(screen.getByRole('button', { name: 'Slot 1 stuck: board-1' }));
    expect(actions.inject).not.toHaveBeenCalled();
    await user.click(await screen.findByRole('button', { name: 'Hang the slot' }));
    expect(actions.inject).toHaveBeenLastCalledWith('slot-stuck', 'board-1', 1);
    await user.click(screen.getByRole('button', { name: 'Board power loss: board-1' }));
    await user.click(await screen.findByRole('button', { name: 'Power off' }));
    expect(actions.inject).toHaveBeenLastCalledWith('board-kill', 'board-1');
  });

  it('says why its buttons are disabled', () => {
    show([], 'Needs the role operator');
    for (const button of screen.getAllByRole<HTMLButtonElement>('button')) {
      expect(button.disabled).toBe(true);
      expect(button.closest('[title]')?.getAttribute('title')).toBe('Needs the role operator');
    }
  });

  it('mends what is broken', async () => {
    const { actions, user } = show([
      { id: 'f-1', kind: 'board-kill', target: 'board-1', since_ms: 0 },
      { id: 'f-2', kind: 'slot-stuck', target: 'board-1', slot: 0, since_ms: 0 },
    ]);
    await user.click(screen.getByRole('button', { name: 'Power on board-1' }));
    expect(actions.clear).toHaveBeenLastCalledWith('f-1');
    await user.click(screen.getByRole('button', { name: 'Free slot 0' }));
    expect(actions.clear).toHaveBeenLastCalledWith('f-2');
  });
});
