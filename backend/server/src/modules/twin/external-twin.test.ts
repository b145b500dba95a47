import { expect, it } from 'vitest';
import { ExternalTwin } from './external-twin.js';

const never = new AbortController().signal;

it('waits until twind answers, and says that it did not start it', async () => {
  const answers = [false, false, true];
  const twin = new ExternalTwin('/run/orrery/twind.sock');
  expect(await twin.ensure(async () => answers.shift()!, never)).toBe(false);
  expect(answers).toEqual([]);
});

it('names the socket at which nobody answers', async () => {
  const twin = new ExternalTwin('/run/orrery/twind.sock', 150);
  await expect(twin.ensure(async () => false, never)).rejects.toThrow(
    'ORRERY_TWIN=external), does not answer at /run/orrery/twind.sock',
  );
});

it('ends its waiting when it is aborted', async () => {
  const abort = new AbortController();
  const waiting = new ExternalTwin('/run/orrery/twind.sock').ensure(async () => false, abort.signal);
  abort.abort(new Error('the server ends'));
  await expect(waiting).rejects.toThrow('the server ends');
});
