import fc from 'fast-check';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { TestServer } from '../testing/server.js';
import { IdempotencyAnswers } from './idempotency-answers.js';

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(() => server.stop());

const BOUNDS = { answers: 5, bytes: 400 };
const held = async () => {
  const { redis } = server.running.store;
  const keys = (await redis.keys('orrery:idempotency:*')).filter((key) => !/:(order|sizes|bytes)$/.test(key));
  const sizes = await Promise.all(keys.map((key) => redis.strlen(key)));
  return { count: keys.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
};

it('stays within its bounds, and forgets what was unused longest', async () => {
  const inc = vi.fn();
  const answers = new IdempotencyAnswers(server.running.store, { answersEvicted: { inc } as never }, BOUNDS);
  const step = fc.record({
    key: fc.integer({ min: 0, max: 8 }).map(String),
    size: fc.integer({ min: 1, max: 150 }),
    act: fc.constantFrom('claim', 'replace', 'release'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      await server.running.store.redis.eval(
        "for _,k in ipairs(redis.call('keys','orrery:idempotency:*')) do redis.call('del',k) end",
        0,
      );
      for (const { key, size, act } of steps) {
        const value = 'x'.repeat(size);
        if (act === 'claim') await answers.claim(key, value);
        else if (act === 'replace') await answers.replace(key, value);
        else await answers.release(key, value);
        const { count, bytes } = await held();
        expect(count).toBeLessThanOrEqual(BOUNDS.answers);
        expect(bytes).toBeLessThanOrEqual(BOUNDS.bytes);
        expect(Number((await server.running.store.redis.get('orrery:idempotency:bytes')) ?? 0)).toBe(bytes);
      }
    }),
    { numRuns: 30, seed: 1 },
  );
  expect(inc).toHaveBeenCalled();
});
