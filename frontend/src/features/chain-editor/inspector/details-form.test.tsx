import { MantineProvider } from '@mantine/core';
import { act, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';
import { createStore, useStore } from 'zustand';
import { chain } from '../../../editor-model/testing.js';
import { type Derived, EditorContext, type EditorContextValue } from '../../../shared/chain-draft/context.js';
import { createEditorStore, type EditorStore } from '../../../shared/chain-draft/store.js';
import { DetailsForm } from './details-form.js';

const derived = createStore(() => ({ problems: { all: [] } }) as unknown as Derived);

function Form({ store }: { readonly store: EditorStore }) {
  const definition = useStore(store, (state) => state.definition);
  const context = { store, derived, readOnly: false, chain: { deployed_version: 1 } };
  return (
    <MantineProvider env="test">
      <EditorContext value={context as unknown as EditorContextValue}>
        <DetailsForm definition={definition} />
      </EditorContext>
    </MantineProvider>
  );
}

function show() {
  const store = createEditorStore({ ...chain('ingress>a', 'a>egress'), name: 'web', title: 'Web', description: 'Old' });
  render(<Form store={store} />);
  const field = (name: string) => screen.getByRole<HTMLInputElement>('textbox', { name });
  return { store, field, user: userEvent.setup(), now: () => store.getState().definition };
}

describe('DetailsForm', () => {
  it('takes a title as it is typed, in one step of undo, and never a blank one', async () => {
    const { store, field, user, now } = show();
    await user.type(field('Title'), ' shop');
    expect(now().title).toBe('Web shop');
    act(() => store.undo());
    expect(now().title).toBe('Web');
    await user.clear(field('Title'));
    expect(now().title).not.toBe('');
    expect(screen.getByText('must be given')).toBeTruthy();
  });

  it('takes a name when the field is left, and keeps one of the wrong form in sight with the reason', async () => {
    const { field, user, now } = show();
    expect(screen.getByText(/starts new instances/)).toBeTruthy();
    await user.type(field('Name'), '-2');
    expect(now().name).toBe('web');
    await user.tab();
    expect(now().name).toBe('web-2');
    await user.type(field('Name'), ' X');
    await user.tab();
    expect(now().name).toBe('web-2');
    expect(field('Name').value).toBe('web-2 X');
    expect(screen.getByText(/must start with a letter/)).toBeTruthy();
  });

  it('takes an empty description', async () => {
    const { field, user, now } = show();
    await user.clear(field('Description'));
    expect(now().description).toBe('');
  });
});
