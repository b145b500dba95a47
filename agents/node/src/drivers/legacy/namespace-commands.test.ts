import { expect, it } from 'vitest';

it("programs get PATH and language of the agent's environment, and none of its secrets", async () => {
  Object.assign(process.env, { ORRERY_JOIN_TOKEN: 'secret', REDIS_URL: 'redis://:secret@x', LANG: 'C.UTF-8' });
  const { PROGRAM_ENV } = await import('./namespace-commands.js');
  expect(Object.values(PROGRAM_ENV).filter((value) => value?.includes('secret'))).toEqual([]);
  expect(PROGRAM_ENV).toMatchObject({ LANG: 'C.UTF-8', PATH: expect.stringContaining('/usr/sbin') });
});

it('a command of a container enters all its namespaces, by programs that nothing in it can replace', async () => {
  const { confined } = await import('./namespace-commands.js');
  const free = { pid: 7, group: { folders: [] }, file_bytes: 4096 };
  const inside = confined({ ...free, directory: '/instance', contained: { path: '/usr/bin' } }, ['nft', 'list']);
  const words = inside.join(' ');
  expect(words).toMatch(
    /^nsenter -t 7 -n -m -p -i -u -- \/usr\/bin\/setpriv --no-new-privs --bounding-set=-all,\+net_admin/,
  );
  expect(words).toMatch(
    / --pdeathsig=KILL -- \/usr\/bin\/prlimit --fsize=4096 \/usr\/bin\/env --chdir=\/instance PATH=\/usr\/bin HOME=\/tmp nft list$/,
  );
  // The folder of the host would be a way out.
  expect(words).not.toContain('--wd');
  const outside = confined({ ...free, directory: '/d', contained: null }, ['nft']);
  expect(outside.slice(0, 6)).toEqual(['nsenter', '-t', '7', '-n', '--wd=/d', '--']);
  expect(outside.slice(-3)).toEqual(['/usr/bin/prlimit', '--fsize=4096', 'nft']);
  // The limits of the program, before anything of it runs.
  const limited = confined({ ...free, group: { folders: ['/cg'] }, directory: '/d', contained: null }, ['nft']);
  expect(limited.slice(-outside.length - 2)).toEqual(['/cg/cgroup.procs', '--', ...outside]);
});
