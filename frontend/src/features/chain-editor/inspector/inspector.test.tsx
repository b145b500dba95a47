import { MantineProvider } from '@mantine/core';
import { act, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';
import { createStore } from 'zustand';
import { check } from '../../../editor-model/problems.js';
import { chain, MONITOR } from '../../../editor-model/testing.js';
import { type Derived, EditorContext, type EditorContextValue } from '../../../shared/chain-draft/context.js';
import type { DraftSaver } from '../../../shared/chain-draft/draft-saver.js';
import { SaverContext } from '../../../shared/chain-draft/saver-context.js';
import { createEditorStore } from '../../../shared/chain-draft/store.js';
import type { EditorActions } from '../actions/use-editor-actions.js';
import { useHindrance } from '../actions/use-hindrance.js';
import { Inspector } from './inspector.js';

const table_size = { type: 'integer', title: 'Table size', minimum: 1, maximum: 100_000 };
const descriptors = [
  { ...MONITOR, config_schema: { type: 'object', required: ['table_size'], properties: { table_size } } },
];
const hosts = ['client-1', 'client-2'].map((id, index) => ({ id, addresses: [{ address: `10.0.1.${index + 1}` }] }));
const saver = { status: createStore(() => ({ state: 'saved' })) } as unknown as DraftSaver;

const Hindrance = () => <output>{useHindrance() ?? 'none'}</output>;

function show() {
  const definition = chain('ingress>first', 'first>second', 'second>egress');
  const store = createEditorStore(definition);
  const problems = check(definition, { descriptors, hosts });
  const derived = createStore(() => ({ problems, placed: new Map() }) as unknown as Derived);
  const context = { store, derived, descriptors, infrastructure: { hosts }, chain: { deployed_version: null } };
  render(
    <MantineProvider env="test">
      <EditorContext value={context as unknown as EditorContextValue}>
        <SaverContext value={saver}>
          <Inspector actions={{} as EditorActions} />
          <Hindrance />
        </SaverContext>
      </EditorContext>
    </MantineProvider>,
  );
  const user = userEvent.setup();
  return {
    store,
    hindrance: () => screen.getByRole('status').textContent,
    replace: async (name: string, text: string) => {
      const field = screen.getByRole('textbox', { name });
      await user.clear(field);
      await user.type(field, text);
    },
    user,
  };
}

describe('an entry of the inspector that is not taken', () => {
  it.each([
    ['Expected rate', 'fast', 'must be a rate'],
    ['Mean packet', '9', 'must be at least 64'],
    ['Name', 'Not a name', 'must'],
  ])('%s: keeps the draft from being planned and deployed until it is mended', async (name, entry, reason) => {
    const { hindrance, replace, user } = show();
    expect(hindrance()).toBe('none');
    await replace(name, entry);
    expect(hindrance()).toContain(`An entry is not applied. ${name}: `);
    expect(hindrance()).toContain(reason);
    await replace(name, { 'Expected rate': '30M', 'Mean packet': '200', Name: 'fine' }[name]!);
    await user.tab();
    expect(hindrance()).toBe('none');
  });

  it('is dropped with the NF that it is of, though the next one has the same configuration', async () => {
    const { store, hindrance, user } = show();
    act(() => store.select({ nodes: ['first'] }));
    await user.clear(screen.getByRole('textbox', { name: 'Table size' }));
    expect(hindrance()).toContain('Table size');
    act(() => store.select({ nodes: ['second'] }));
    expect(await screen.findByText('none')).toBeTruthy();
    expect(screen.getByRole<HTMLInputElement>('textbox', { name: 'Table size' }).value).toBe('1,024');
  });

  it('is dropped with its field', async () => {
    const { store, hindrance, replace } = show();
    await replace('Mean packet', '9');
    act(() => store.select({ nodes: ['first'] }));
    expect(await screen.findByText('none')).toBeTruthy();
    expect(hindrance()).toBe('none');
  });
});
