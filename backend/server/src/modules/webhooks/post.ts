import type { WebhookAttempt } from '@orrery/contract';
import { failureWords, statusWords } from './failure-words.js';
import { type Message, signedHeaders } from './message.js';
import type { StoredWebhook } from './stored.js';

const ANSWER_LIMIT_MS = 10_000;
const MOST_ERROR = 300;

/** One attempt; it never throws, except when `signal` aborts. The answer's body is not read. */
export async function post(
  { url, secret }: Pick<StoredWebhook, 'url' | 'secret'>,
  message: Message,
  eventId: string | null,
  version: string,
  signal?: AbortSignal,
): Promise<WebhookAttempt> {
  const at_ms = Date.now();
  const startMs = performance.now();
  const limit = AbortSignal.timeout(ANSWER_LIMIT_MS);
  const attempt = (status: number | null, error: string | null): WebhookAttempt => ({
    at_ms,
    event_id: eventId,
    status,
    error: error?.slice(0, MOST_ERROR) ?? null,
    took_ms: performance.now() - startMs,
  });
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: { ...signedHeaders(message, secret, Math.floor(at_ms / 1000)), 'user-agent': `orrery/${version}` },
      body: message.body,
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    void response.body?.cancel().catch(() => undefined);
    const { status, ok, headers } = response;
    return attempt(status, ok ? null : statusWords(status, headers.get('location')));
  } catch (error) {
    signal?.throwIfAborted();
    const why = limit.aborted ? `no answer within ${ANSWER_LIMIT_MS / 1000} s` : failureWords(error as Error, url);
    return attempt(null, why);
  }
}

/** What becomes of the event. `refused`: another attempt with the same content would be answered alike. */
export function verdictOf({ status }: Pick<WebhookAttempt, 'status'>): 'delivered' | 'refused' | 'again' {
  if (status !== null && status >= 200 && status < 300) return 'delivered';
  return status !== null && [400, 413, 415, 422].includes(status) ? 'refused' : 'again';
}
