import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { withPositions } from '../../editor-model/edit.js';
import { callFull } from '../api/client.js';
import type { useChain } from '../api/queries.js';
import { useStreamStatus } from '../stream/hooks.js';
import { DraftSaver } from './draft-saver.js';
import { createEditorStore } from './store.js';

export type LoadedChain = NonNullable<ReturnType<typeof useChain>['data']>;

/** The draft's store and its saver, which live as long as a page of this chain is open. */
export function useDraftSession(loaded: LoadedChain) {
  const queries = useQueryClient();
  const { id } = loaded.chain;
  const [session] = useState(() => {
    const draft = withPositions(loaded.chain.draft);
    const initial = { chain: { ...loaded.chain, draft }, etag: loaded.etag ?? '' };
    const store = createEditorStore(draft);
    const remember = (answer: Awaited<ReturnType<typeof callFull<'getChain'>>>) => {
      queries.setQueryData(['chains', 'one', id], { chain: answer.data, etag: answer.etag });
      return { chain: answer.data, etag: answer.etag ?? '' };
    };
    const open = () =>
      new DraftSaver(
        store,
        {
          put: async (body, ifMatch) => remember(await callFull('putChain', { params: { id }, body }, { ifMatch })),
          get: async () => remember(await callFull('getChain', { params: { id } })),
          after: (ms, work) => {
            const timer = setTimeout(work, ms);
            return () => clearTimeout(timer);
          },
          now: () => Date.now(),
        },
        initial,
      );
    return { store, saver: open() };
  });
  const { saver, store } = session;
  useEffect(() => {
    saver.start();
    const warn = (event: BeforeUnloadEvent) => {
      const { unapplied, rejected } = store.getState();
      if (saver.dirty || unapplied !== null || rejected.size > 0) event.preventDefault();
    };
    window.addEventListener('beforeunload', warn);
    return () => {
      window.removeEventListener('beforeunload', warn);
      saver.stop();
    };
  }, [saver, store]);
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
