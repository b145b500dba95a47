import type { Chain, ChainDefinition } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, cleanup, renderHook, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { retitleNode, setDetails } from '../../editor-model/edit.js';
import { chain } from '../../editor-model/testing.js';
import { sessionStore } from '../api/session.js';
import { useDraftSession } from './draft-session.js';

vi.mock('../api/client.js', async (original) => ({
  ...(await original<typeof import('../api/client.js')>()),
  callFull: vi.fn(),
}));
vi.mock('../ui/notify.js', () => ({ notifyKept: vi.fn() }));
const { callFull, ApiError } = await import('../api/client.js');
const { notifyKept } = await import('../ui/notify.js');

const draft = chain('ingress>monitor', 'monitor>egress');
const answer = (definition: ChainDefinition, revision: number) => ({
  data: { id: 'ch-1', draft: definition, revision, versions: [], deployed_version: null } as unknown as Chain,
  etag: `"${revision}"`,
  location: null,
  next: null,
});

/** A server with one draft that somebody else may change and that takes no chain named *taken*. */
function serverOf(definition: ChainDefinition) {
  const server = { draft: definition, revision: 1, puts: 0 };
  const refuse = (status: number, title: string) => new ApiError({ type: 'about:blank', title, status });
  vi.mocked(callFull).mockImplementation((async (name: string, input: { body?: ChainDefinition }, options) => {
    if (name === 'putChain') {
      server.puts++;
      if (options?.ifMatch !== `"${server.revision}"`) throw refuse(412, 'Changed');
      if (input.body!.name === 'taken') throw refuse(409, 'The name is taken');
      server.draft = input.body!;
      server.revision++;
    }
    return answer(server.draft, server.revision);
  }) as typeof callFull);
  const queries = new QueryClient();
  const wrapper = ({ children }: { readonly children: ReactNode }) => (
    <QueryClientProvider client={queries}>{children}</QueryClientProvider>
  );
  const open = () => {
    const { data, etag } = answer(server.draft, server.revision);
    const loaded = { chain: data, etag };
    return renderHook(() => useDraftSession(loaded), { wrapper });
  };
  return { server, open };
}

const signIn = (name: string) =>
  sessionStore.setState({ session: { token: 't', name, role: 'designer', expires_ms: Number.MAX_SAFE_INTEGER } });
type Opened = ReturnType<ReturnType<typeof serverOf>['open']>;
const editor = ({ result }: Opened) => result.current.store;
const saver = ({ result }: Opened) => result.current.saver;
const stateOf = (page: Opened) => saver(page).status.getState().state;
const asksBeforeClosing = () => !window.dispatchEvent(new Event('beforeunload', { cancelable: true }));

describe('leaving the pages of a chain', () => {
  beforeEach(() => {
    signIn('dora');
    vi.mocked(notifyKept).mockClear();
  });

  it('keeps changes that are in conflict with those of somebody else', async () => {
    const { server, open } = serverOf(draft);
    const page = open();
    server.draft = retitleNode(draft, 'monitor', 'theirs');
    server.revision = 2;
    act(() => editor(page).apply((now) => retitleNode(now, 'monitor', 'ours')));
    await act(() => saver(page).flush());
    expect(stateOf(page)).toBe('conflict');
    page.unmount();
    await waitFor(() => expect(notifyKept).toHaveBeenCalledOnce());
    expect(asksBeforeClosing()).toBe(true);

    const back = open();
    expect(editor(back).getState().definition.nodes[1]).toMatchObject({ title: 'ours' });
    expect(stateOf(back)).toBe('conflict');
    await act(() => saver(back).overwrite());
    expect(server.draft.nodes[1]).toMatchObject({ title: 'ours' });
    back.unmount();
    expect(asksBeforeClosing()).toBe(false);
    expect(editor(open()).getState().definition.nodes[1]).toMatchObject({ title: 'ours' });
    expect(notifyKept).toHaveBeenCalledOnce();
    cleanup();
  });

  it('keeps changes that the server refused, with their history, and saves them once it takes them', async () => {
    const { server, open } = serverOf(draft);
    const page = open();
    act(() => editor(page).apply((now) => setDetails(now, { name: 'taken' })));
    act(() => editor(page).apply((now) => retitleNode(now, 'monitor', 'ours')));
    await act(() => saver(page).flush());
    expect(stateOf(page)).toBe('refused');
    page.unmount();

    const back = open();
    await waitFor(() => expect(stateOf(back)).toBe('refused'));
    expect(editor(back).getState().definition).toMatchObject({ name: 'taken', nodes: [{}, { title: 'ours' }, {}] });
    act(() => editor(back).undo());
    act(() => editor(back).undo());
    expect(editor(back).getState().definition.name).toBe('demo');
    act(() => editor(back).redo());
    act(() => editor(back).apply((now) => setDetails(now, { name: 'free' })));
    await act(() => saver(back).flush());
    expect(server.draft.name).toBe('free');
    back.unmount();
  });

  it('is asked about while a text is not applied', () => {
    const page = serverOf(draft).open();
    expect(asksBeforeClosing()).toBe(false);
    act(() => editor(page).setState({ unapplied: 'line 2: a bracket is missing' }));
    expect(asksBeforeClosing()).toBe(true);
    page.unmount();
  });

  it('keeps them for whoever made them, also when the sign-in ended first', async () => {
    const { open } = serverOf(draft);
    const page = open();
    act(() => editor(page).apply((now) => setDetails(now, { name: 'taken' })));
    await act(() => saver(page).flush());
    sessionStore.setState({ session: null });
    page.unmount();

    signIn('eve');
    const other = open();
    expect(editor(other).getState().definition.name).toBe('demo');
    act(() => editor(other).apply((now) => retitleNode(now, 'monitor', 'hers')));
    await act(() => saver(other).flush());
    expect(stateOf(other)).toBe('saved');
    other.unmount();

    signIn('dora');
    const back = open();
    expect(editor(back).getState().definition.name).toBe('taken');
    expect(editor(back).getState().definition.nodes[1]).not.toHaveProperty('title', 'hers');
    act(() => editor(back).undo());
    back.unmount();
    expect(asksBeforeClosing()).toBe(false);
  });
});
