import { expect, it } from 'vitest';

it("programs get PATH and language of the agent's environment, and none of its secrets", async () => {
  Object.assign(process.env, { ORRERY_JOIN_TOKEN: 'secret', REDIS_URL: 'redis://:secret@x', LANG: 'C.UTF-8' });
  const { PROGRAM_ENV } = await import('./namespace-commands.js');
  expect(Object.values(PROGRAM_ENV).filter((value) => value?.includes('secret'))).toEqual([]);
  expect(PROGRAM_ENV).toMatchObject({ LANG: 'C.UTF-8', PATH: expect.stringContaining('/usr/sbin') });
});
