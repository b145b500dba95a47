import { EditorView } from '@codemirror/view';
import { act, render, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { createStore } from 'zustand';
import { retitleNode } from '../../../editor-model/edit.js';
import { chain } from '../../../editor-model/testing.js';
import { type Derived, EditorContext, type EditorContextValue } from '../../../shared/chain-draft/context.js';
import { createEditorStore } from '../../../shared/chain-draft/store.js';
import YamlPane from './yaml-pane.js';

function show() {
  const store = createEditorStore(chain('ingress>monitor', 'monitor>egress'));
  const derived = createStore<Derived>(() => ({
    problems: { all: [], errors: 0, warnings: 0, byNode: new Map(), byEdge: new Map() },
    placed: new Map(),
    deployed: null,
    differences: [],
  }));
  const context = { store, derived, readOnly: false } as unknown as EditorContextValue;
  const { container, unmount } = render(
    <EditorContext value={context}>
      <YamlPane />
    </EditorContext>,
  );
  const view = EditorView.findFromDOM(container.querySelector<HTMLElement>('.cm-editor')!)!;
  /** Types at the start of the text and leaves it, as somebody does who presses a button next. */
  const type = (insert: string, to = 0) =>
    act(() => {
      view.dispatch({ changes: { from: 0, to, insert }, userEvent: 'input.type' });
      view.contentDOM.dispatchEvent(new FocusEvent('blur'));
    });
  return { store, type, unmount, unapplied: () => store.getState().unapplied };
}

describe('YamlPane', () => {
  it('says at once that a text with an error is not applied, and takes it back when the error is mended', () => {
    const { type, unapplied } = show();
    type('}{ ');
    expect(unapplied()).toMatch(/^line \d+: /);
    expect(screen.getByRole('status').textContent).toBe(`Not applied: ${unapplied()}`);
    type('', 3);
    expect(unapplied()).toBeNull();
  });

  it('leaves nothing unapplied behind when the chain changes elsewhere or the text is closed', () => {
    const { store, type, unmount, unapplied } = show();
    type('}{ ');
    act(() => store.apply((definition) => retitleNode(definition, 'monitor', 'Theirs')));
    expect(unapplied()).toBeNull();
    type('}{ ');
    unmount();
    expect(unapplied()).toBeNull();
  });
});
