import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { withPositions } from '../../editor-model/edit.js';
import { callFull } from '../api/client.js';
import type { useChain } from '../api/queries.js';
import { sessionStore } from '../api/session.js';
import { useStreamStatus } from '../stream/hooks.js';
import { notifyKept } from '../ui/notify.js';
import { DraftSaver, type DraftServer } from './draft-saver.js';
import { type DraftSession, keepDraft, keptDraft } from './kept-drafts.js';
import { createEditorStore } from './store.js';

export type LoadedChain = NonNullable<ReturnType<typeof useChain>['data']>;

/** The server has answered, and nothing is saved before somebody decides. */
const isRejected = ({ status }: DraftSaver) => ['conflict', 'refused'].includes(status.getState().state);

function sayKept({ store }: DraftSession): void {
  const { title } = store.getState().definition;
  notifyKept(`Your changes of ${title} are not saved`, 'They are kept in this window. Open the chain again to go on.');
}

/**
 * The draft's store and its saver, which live as long as a page of this chain is open, and longer while the server has not
 * accepted the draft: then the next page of this chain goes on with them.
 */
export function useDraftSession(loaded: LoadedChain): DraftSession {
  const queries = useQueryClient();
  const { id } = loaded.chain;
  const [session] = useState((): DraftSession => {
    const user = sessionStore.getState().session?.name;
    const left = keptDraft(id, user);
    if (left) return left;
    const draft = withPositions(loaded.chain.draft);
    const initial = { chain: { ...loaded.chain, draft }, etag: loaded.etag ?? '' };
    const store = createEditorStore(draft);
    const remember = (answer: Awaited<ReturnType<typeof callFull<'getChain'>>>) => {
      queries.setQueryData(['chains', 'one', id], { chain: answer.data, etag: answer.etag });
      return { chain: answer.data, etag: answer.etag ?? '' };
    };
    const server: DraftServer = {
      put: async (body, ifMatch) => remember(await callFull('putChain', { params: { id }, body }, { ifMatch })),
      get: async () => remember(await callFull('getChain', { params: { id } })),
      after: (ms, work) => {
        const timer = setTimeout(work, ms);
        return () => clearTimeout(timer);
      },
      now: () => Date.now(),
    };
    return { store, saver: new DraftSaver(store, server, initial), user };
  });
  const { saver, store } = session;
  const open = useRef(false);
  useEffect(() => {
    open.current = true;
    saver.start();
    // What was refused before may be accepted now: a name that was taken, a sign-in that had ended.
    void saver.flush();
    const warn = (event: BeforeUnloadEvent) => {
      const { unapplied, rejected } = store.getState();
      if (saver.dirty || unapplied !== null || rejected.size > 0) event.preventDefault();
    };
    window.addEventListener('beforeunload', warn);
    return () => {
      window.removeEventListener('beforeunload', warn);
      open.current = false;
      keepDraft(id, session);
      void saver.stop().then(() => {
        if (!open.current && keptDraft(id, session.user) === session && isRejected(saver)) sayKept(session);
      });
    };
  }, [id, session, saver, store]);
  const { etag } = loaded;
  useEffect(() => {
    if (etag) saver.observe({ chain: loaded.chain, etag });
  }, [saver, loaded, etag]);
  const connected = useStreamStatus((status) => status.state === 'connected');
  useEffect(() => {
    if (connected) saver.retry();
  }, [connected, saver]);
  return session;
}
