import { afterEach, describe, expect, it, vi } from 'vitest';
import { readServerClock, serverNow } from './server-clock.js';

const answer = (date: string | null) => ({ headers: new Headers(date === null ? {} : { date }) });

describe('the clock of the server', { sequential: true }, () => {
  afterEach(() => vi.useRealTimers());

  it('is the browser’s before the first answer', () => {
    vi.useFakeTimers({ now: 1_000_000 });
    readServerClock(answer(null));
    readServerClock(answer('soon'));
    expect(serverNow()).toBe(1_000_000);
  });

  it('is that of the last answer plus the time since, whatever the browser’s clock is set to', () => {
    vi.useFakeTimers({ now: 5_000_000_000 });
    readServerClock(answer('Tue, 14 Nov 2023 22:13:20 GMT'));
    vi.advanceTimersByTime(1500);
    expect(serverNow()).toBe(1_700_000_001_500);
    vi.setSystemTime(9_000_000_000);
    expect(serverNow()).toBe(1_700_000_001_500);
  });
});
