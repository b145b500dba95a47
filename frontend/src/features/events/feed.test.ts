import type { Event } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { matchesFilter, matchesText, mergeNewestFirst, takeLive } from './feed.js';

const event = (id: string): Event => ({
  id,
  t_ms: 0,
  project: 'default',
  type: 'link.down',
  severity: 'warning',
  subject: 'server-1-fabric',
  message: 'Link went down',
  actor: 'system',
  data: {},
});
const ids = (events: readonly Event[]) => events.map(({ id }) => id);

describe('mergeNewestFirst', () => {
  it('has every event once, whatever the lists share', () => {
    const page = [event('10-0'), event('9-1'), event('9-0')];
    const live = [event('9-1'), event('10-0'), event('11-0')];
    expect(ids(mergeNewestFirst(page, live))).toEqual(['11-0', '10-0', '9-1', '9-0']);
  });
});

describe('takeLive', () => {
  it('adds only what is new', () => {
    const { list, gap } = takeLive([event('1-0'), event('2-0')], [event('1-0'), event('2-0'), event('3-0')], false);
    expect(ids(list)).toEqual(['1-0', '2-0', '3-0']);
    expect(gap).toBe(false);
  });

  it('sees when the stream has forgotten events in between', () => {
    const kept = [event('8-0'), event('9-0')];
    expect(takeLive([event('2-0')], kept, true).gap).toBe(true);
    expect(takeLive([event('8-0')], kept, true).gap).toBe(false);
    expect(takeLive([event('2-0')], kept, false).gap).toBe(false);
  });
});

describe('filters', () => {
  it('ask for every word, in any column', () => {
    expect(matchesText(event('1-0'), 'Leaf link', 'fabric DOWN leaf')).toBe(true);
    expect(matchesText(event('1-0'), '', 'fabric up')).toBe(false);
    expect(matchesText(event('1-0'), '', '')).toBe(true);
  });

  it('compare type and severity as a whole', () => {
    expect(matchesFilter(event('1-0'), { type: 'link.down', severity: '' })).toBe(true);
    expect(matchesFilter(event('1-0'), { type: 'link.up', severity: '' })).toBe(false);
    expect(matchesFilter(event('1-0'), { type: '', severity: 'info' })).toBe(false);
  });
});
