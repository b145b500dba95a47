import { MantineProvider } from '@mantine/core';
import { act, render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { createStore } from 'zustand';
import { ApiError } from '../api/client.js';
import { ConflictNotice } from './conflict-notice.js';
import type { DraftSaver, SaveStatus } from './draft-saver.js';
import { SaverContext } from './saver-context.js';

it('says which field was refused by its label, until the draft changes', () => {
  const errors = [{ pointer: '/name', detail: 'is the name of another chain', code: 'duplicate-name' }];
  const error = new ApiError({ type: 'about:blank', title: 'Conflict', status: 409, detail: 'Taken.', errors });
  const status = createStore<SaveStatus>(() => ({ state: 'refused', error, saved_ms: null }));
  render(
    <MantineProvider env="test">
      <SaverContext value={{ status } as unknown as DraftSaver}>
        <ConflictNotice />
      </SaverContext>
    </MantineProvider>,
  );
  expect(screen.getByRole('alert').textContent).toBe('Not saved: Taken.Name: is the name of another chain');
  act(() => status.setState({ state: 'waiting' }));
  expect(screen.queryByRole('alert')).toBeNull();
});
