import { expect, it } from 'vitest';
import { settle } from '../../testing/fake-clock.js';
import { Turns } from './turns.js';

it('runs one at a time, urgent work before all that waits, and refuses what is too much, but never what is urgent', async () => {
  const turns = new Turns(2);
  const ran: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => () =>
    new Promise<string>((resolve) => {
      ran.push(name);
      ends.push(() => resolve(name));
    });
  const first = turns.run(false, work('first'));
  const [second, third] = [turns.run(false, work('second')), turns.run(false, work('third'))];
  await expect(turns.run(false, work('fourth'))).rejects.toThrow('2 calls wait');
  const urgent = [turns.run(true, work('urgent')), turns.run(true, work('urgent too'))];
  expect(ran).toEqual(['first']);
  for (const each of [first, ...urgent, second, third]) {
    ends.shift()!();
    await each;
    await settle();
  }
  expect(ran).toEqual(['first', 'urgent', 'urgent too', 'second', 'third']);
});

it('goes on after work that fails', async () => {
  const turns = new Turns(1);
  const failed = turns.run(false, () => Promise.reject(new Error('failed')));
  const next = turns.run(false, async () => 'next');
  await expect(failed).rejects.toThrow('failed');
  expect(await next).toBe('next');
  expect(await turns.run(false, async () => 'later')).toBe('later');
});
