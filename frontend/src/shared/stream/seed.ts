import { useEffect } from 'react';
import { call } from '../api/client.js';
import { serverNow } from '../api/server-clock.js';
import { useWantSamples } from './hooks.js';
import { live } from './stream.js';

const SEED_MS = 35_000;

/** Like `useWantSamples`, but also reads the last half minute, so that sparklines are not empty at first. */
export function useSeededSamples(prefixes: readonly string[]): void {
  useWantSamples(prefixes);
  const text = prefixes.join(',');
  useEffect(() => {
    if (text === '') return;
    const ended = new AbortController();
    call('listSamples', { query: { keys: text, since: serverNow() - SEED_MS } }, { signal: ended.signal })
      .then(({ items }) => {
        for (const { key, points } of items) live.seed(key, points);
      })
      // Without history the lines begin now.
      .catch(() => undefined);
    return () => ended.abort();
  }, [text]);
}
