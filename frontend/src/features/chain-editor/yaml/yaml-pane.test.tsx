import { EditorView } from '@codemirror/view';
import { MantineProvider } from '@mantine/core';
import { act, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createStore } from 'zustand';
import { retitleNode } from '../../../editor-model/edit.js';
import { chain } from '../../../editor-model/testing.js';
import { sessionStore } from '../../../shared/api/session.js';
import { type Derived, EditorContext, type EditorContextValue } from '../../../shared/chain-draft/context.js';
import { createEditorStore } from '../../../shared/chain-draft/store.js';
import { dropText } from './kept-text.js';
import YamlPane from './yaml-pane.js';

vi.mock('../../../shared/ui/notify.js', async (original) => ({
  ...(await original<typeof import('../../../shared/ui/notify.js')>()),
  notifyKept: vi.fn(),
  withdraw: vi.fn(),
}));
const { notifyKept, withdraw } = await import('../../../shared/ui/notify.js');

const drawn = chain('ingress>monitor', 'monitor>egress');
const changed = retitleNode(drawn, 'monitor', 'Theirs');

function show(definition = drawn) {
  const store = createEditorStore(definition);
  const derived = createStore<Derived>(() => ({
    problems: { all: [], errors: 0, warnings: 0, byNode: new Map(), byEdge: new Map() },
    placed: new Map(),
    deployed: null,
    differences: [],
    untouched: false,
  }));
  const context = { store, derived, readOnly: false, chain: { id: 'ch-1' } } as unknown as EditorContextValue;
  const { container, unmount } = render(
    <EditorContext value={context}>
      <MantineProvider env="test">
        <YamlPane />
      </MantineProvider>
    </EditorContext>,
  );
  const view = EditorView.findFromDOM(container.querySelector<HTMLElement>('.cm-editor')!)!;
  /** Types at the start of the text and leaves it, as somebody does who presses a button next. */
  const type = (insert: string, to = 0) =>
    act(() => {
      view.dispatch({ changes: { from: 0, to, insert }, userEvent: 'input.type' });
      view.contentDOM.dispatchEvent(new FocusEvent('blur'));
    });
  return { store, type, unmount, text: () => view.state.doc.toString(), unapplied: () => store.getState().unapplied };
}

const signIn = (name: string) =>
  sessionStore.setState({ session: { token: 't', name, role: 'designer', expires_ms: Number.MAX_SAFE_INTEGER } });

beforeEach(() => {
  localStorage.clear();
  signIn('dora');
  vi.mocked(notifyKept).mockClear();
});

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

  it('says that a text that cannot be applied is kept when the page is left, and shows it again', async () => {
    const left = show();
    left.type('}{ ');
    const said = left.unapplied();
    left.unmount();
    await waitFor(() => expect(notifyKept).toHaveBeenCalledOnce());
    expect(vi.mocked(notifyKept).mock.calls[0]![0]).toContain(drawn.title);
    const notice = vi.mocked(notifyKept).mock.calls[0]![2];
    vi.mocked(withdraw).mockClear();
    const { text, type, unapplied, unmount } = show();
    expect(withdraw).toHaveBeenCalledWith(notice);
    expect(text()).toMatch(/^\}\{ /);
    expect(unapplied()).toBe(said);
    expect(screen.queryByRole('alert')).toBeNull();
    type('', 3);
    expect(unapplied()).toBeNull();
    unmount();
    expect(show().text()).not.toContain('}{');
    expect(notifyKept).toHaveBeenCalledOnce();
  });

  it('says nothing of a text that was discarded, and shows it to nobody else', async () => {
    const left = show();
    left.type('}{ ');
    signIn('eve');
    const other = show();
    expect(other.text()).not.toContain('}{');
    expect(screen.queryByRole('alert')).toBeNull();
    other.unmount();
    signIn('dora');
    dropText('ch-1');
    left.unmount();
    await Promise.resolve();
    expect(notifyKept).not.toHaveBeenCalled();
    expect(show().text()).not.toContain('}{');
  });

  it('keeps a text of a chain that changed meanwhile, and restores it on request', () => {
    const left = show();
    left.type('}{ ');
    left.unmount();
    const { text, unmount } = show(changed);
    expect(text()).not.toContain('}{');
    fireEvent.click(screen.getByRole('button', { name: 'Restore' }));
    expect(text()).toMatch(/^\}\{ /);
    unmount();
  });

  it('forgets a kept text once it is discarded, or once a text is applied', () => {
    for (const end of [
      () => void fireEvent.click(screen.getByRole('button', { name: 'Discard' })),
      (type: (insert: string, to?: number) => void) => type('# mended\n'),
    ]) {
      const left = show();
      left.type('}{ ');
      left.unmount();
      const { type, unmount } = show(changed);
      end(type);
      unmount();
      const { unmount: close } = show(changed);
      expect(screen.queryByRole('alert')).toBeNull();
      close();
    }
  });
});
