import { afterEach, describe, expect, it, vi } from 'vitest';
import { byServerClock, readServerClock, serverNow } from './server-clock.js';

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

  it('goes on evenly although answers tell whole seconds, and follows a clock that is set', () => {
    vi.useFakeTimers({ now: 5_000_000_000 });
    const began = Date.UTC(2023, 10, 14, 23);
    readServerClock(answer('Tue, 14 Nov 2023 23:00:00 GMT'));
    vi.advanceTimersByTime(900);
    readServerClock(answer('Tue, 14 Nov 2023 23:00:00 GMT'));
    expect(serverNow()).toBe(began + 900);
    vi.advanceTimersByTime(200);
    readServerClock(answer('Tue, 14 Nov 2023 23:00:02 GMT'));
    expect(serverNow()).toBe(began + 2000);
    readServerClock(answer('Tue, 14 Nov 2023 22:00:00 GMT'));
    expect(serverNow()).toBe(began - 3_600_000);
  });

  it('tells when something was that the browser’s clock has stamped', () => {
    vi.useFakeTimers({ now: 5_000_000_000 });
    readServerClock(answer('Wed, 15 Nov 2023 23:00:00 GMT'));
    expect(byServerClock(5_000_000_000 - 700)).toBe(Date.UTC(2023, 10, 15, 23) - 700);
  });
});
