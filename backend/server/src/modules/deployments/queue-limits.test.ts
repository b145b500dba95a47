import { describe, expect, it } from 'vitest';
import { queueRefusal } from './queue-limits.js';

const running = (count: number) => Array.from({ length: count }, () => ({ set_aside: null }));
const aside = (count: number, ...waiting_for: string[]) =>
  Array.from({ length: count }, () => ({ set_aside: { waiting_for, since_ms: 0 } }));

describe('a further operation', () => {
  it('is refused beside 16 in progress, and not because of others that are set aside', () => {
    expect(queueRefusal([...running(15), ...aside(20, 'leaf-3')])).toBeNull();
    expect(queueRefusal(running(16))).toBe('16 operations are already queued.');
  });

  it('is refused beside 64 that are set aside, and the nodes that they wait for are named', () => {
    expect(queueRefusal(aside(63, 'leaf-3'))).toBeNull();
    expect(queueRefusal(aside(64, 'leaf-3'))).toMatch(/^64 operations are set aside until leaf-3 is back/);
    expect(queueRefusal([...aside(60, 'b'), ...aside(4, 'a', 'b')])).toMatch(/until a, b are back/);
    expect(queueRefusal(aside(64, 'a', 'b', 'c', 'd', 'e', 'f', 'g'))).toContain('a, b, c, d, e and 2 others are back');
  });
});
