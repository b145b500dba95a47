import { MantineProvider } from '@mantine/core';
import type { ChainDefinition } from '@orrery/contract';
import { render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';
import { createStore, useStore } from 'zustand';
import { check } from '../../../editor-model/problems.js';
import { chain, IDS, MONITOR } from '../../../editor-model/testing.js';
import { type Derived, EditorContext, type EditorContextValue } from '../../../shared/chain-draft/context.js';
import { createEditorStore, type EditorStore } from '../../../shared/chain-draft/store.js';
import { ClassSloForm } from './class-slo-form.js';

const forked = chain('ingress>a', 'a>b', 'a>c', 'b>d', 'c>d', 'd>egress');

function Form({ store }: { readonly store: EditorStore }) {
  const definition = useStore(store, (state) => state.definition);
  const context = { descriptors: [IDS, MONITOR], hosts: [] };
  const derived = createStore(() => ({ problems: check(definition, context) }) as unknown as Derived);
  return (
    <MantineProvider env="test">
      <EditorContext
        value={{ store, derived, readOnly: false, chain: { deployed_version: null } } as unknown as EditorContextValue}
      >
        <ClassSloForm definition={definition} />
      </EditorContext>
    </MantineProvider>
  );
}

function show(definition: ChainDefinition) {
  const store = createEditorStore(definition);
  render(<Form store={store} />);
  return { store, slos: () => store.getState().definition.class_slos };
}

describe('ClassSloForm', () => {
  it('adds an objective between two classes that part, changes its kind, and takes all of it back', async () => {
    const { store, slos } = show(forked);
    await userEvent.click(screen.getByRole('button', { name: 'Objective between classes' }));
    expect(slos()).toEqual([{ id: 'class-priority', kind: 'priority', above: 'e2', below: 'e3' }]);
    await userEvent.click(screen.getByRole('combobox', { name: 'Kind' }));
    await userEvent.click(screen.getByRole('option', { name: 'Processor time' }));
    expect(slos()).toEqual([{ id: 'class-priority', kind: 'cpu-time', a: 'e2', b: 'e3', ratio: 1 }]);
    store.undo();
    store.undo();
    expect(slos()).toEqual([]);
  });

  it('says what is wrong at the field', () => {
    const slo = { id: 'first', kind: 'priority' as const, above: 'e1', below: 'e3' };
    show({ ...forked, class_slos: [slo] });
    const invalid = (name: string) => screen.getByRole('combobox', { name }).getAttribute('aria-invalid');
    expect(invalid('Served first')).toBe('true');
    expect(invalid('Before')).not.toBe('true');
    expect(screen.getByText(/2 paths use edge/)).toBeDefined();
  });

  it('offers nothing where there is one class only', () => {
    show(chain('ingress>a', 'a>egress'));
    expect(screen.queryByRole('button')).toBeNull();
    expect(screen.getByText(/one traffic class/)).toBeDefined();
  });
});
