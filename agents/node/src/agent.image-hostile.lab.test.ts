import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DockerClient } from './drivers/container/docker-client.js';
import { DockerSandbox } from './testing/docker-sandbox.js';
import { hostTar } from './testing/host-image.js';
import { filterChain, type ImageInput, ImageLab, imagesMissing, nothing } from './testing/image-lab.js';
import { scratchDirectory, until } from './testing/scratch.js';

const missing = imagesMissing();
const RULES = 'nft -f {{dir}}/ruleset.nft';
/** Where an ELF file says which processors it is for, and the number of 64-bit Arm. */
const ELF_MACHINE = 18;
const ARM_64 = 0xb7;
const UNRUNNABLE = /^\/image\/reference: test\/odd:1 runs what this server cannot: .*or a script without `#!`/;
/** Docker keeps the last two files of 1 MB of each container. */
const KEPT_KB = 4096;

const script = (words: string): ImageInput => ({ entrypoint: ['/bin/sh', '-c', words] });

/** An image with two programs that this machine cannot run: one for another processor, and a script that names no interpreter. */
async function unrunnableImage(docker: DockerClient): Promise<void> {
  const root = scratchDirectory();
  execFileSync('/usr/bin/tar', ['-C', root, '-xf', hostTar(['sleep'])]);
  const program = readFileSync(join(root, 'bin/sleep'));
  program.writeUInt16LE(ARM_64, ELF_MACHINE);
  writeFileSync(join(root, 'bin/sleep'), program);
  writeFileSync(join(root, 'bin/script'), 'echo hello\n', { mode: 0o755 });
  execFileSync('/usr/bin/tar', ['-C', root, '-cf', `${root}.tar`, '.']);
  await docker.importImage('test/odd', '1', `${root}.tar`, []);
}

/** What does not pass stays out while the agent looks for interfaces to repair, again and again. */
async function staysClosed(lab: ImageLab): Promise<void> {
  for (let looks = 0; looks < 3; looks++) {
    await lab.interfacesChecked();
    expect(await lab.passed(80, 1, 0.5)).toBe(0);
  }
}

describe.skipIf(missing !== null)(
  `agent with images that misbehave${missing ? ` (skipped: ${missing})` : ''}`,
  { timeout: 180_000 },
  () => {
    it('says why an image cannot run, and makes nothing that stays', async () => {
      const lab = await ImageLab.start();
      await unrunnableImage(lab.docker.client);
      const sleeps = { entrypoint: ['/bin/sleep', '9'], files: [], health: undefined };
      const refused: [ImageInput, RegExp][] = [
        [{ limits: { cpus: 64 } }, /^\/image\/limits\/cpus: is more than the server has \(.*only \d+ CPUs/],
        [{ ...sleeps, reference: 'test/odd:1' }, UNRUNNABLE],
        [{ ...sleeps, reference: 'test/odd:1', entrypoint: ['/bin/script'] }, UNRUNNABLE],
        [script('echo bye'), /ended at once: the container ended: exit code 0: bye$/],
        [{ limits: { processes: 1 } }, /ended at once: .*Cannot fork/],
        [
          { health: { by: 'command', command: ['/no/check'], interval_s: 0.5, start_s: 3 } },
          /not healthy within 3 s: its health check fails.*\/no\/check/,
        ],
      ];
      for (const [i, [image, words]] of refused.entries()) {
        lab.server.send({ type: 'desired', spec: filterChain(i + 1, [], image) });
        await lab.detail(words);
      }
      await lab.desire(nothing(refused.length + 1));
      expect(await lab.docker.list()).toEqual([]);
      expect(lab.interfaces()).toEqual(['e0']);
    });

    it('restarts a container each time that it takes more memory than it may, and says so', async () => {
      const lab = await ImageLab.start();
      const grows = `${RULES}; until test -e /run/go; do sleep 0.1; done; x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done`;
      await lab.desire(filterChain(1, [], { ...script(grows), limits: { memory_bytes: 8 * 2 ** 20 } }));
      for (const ends of [1, 2]) {
        lab.touch((await lab.state()).pid, '/run/go');
        await until('its end is told', () => lab.told('instance.ended').length === ends, 30_000);
        await lab.crosses();
      }
      expect(lab.told('instance.ended')).toEqual(
        [1, 2].map(() => expect.stringContaining('the container ended: it took more than 8 MiB of memory')),
      );
    });

    it('passes packets while a container writes 100 MB of lines, and keeps the last of them', async () => {
      const lab = await ImageLab.start();
      const line = 'x'.repeat(700);
      const chatty = `${RULES}; i=0; while test $i -lt 150000; do echo $i ${line}; i=$((i+1)); done; echo all told; exec sleep infinity`;
      await lab.desire(filterChain(1, [], script(chatty)));
      const told = async () => {
        expect(await lab.passed(80)).toBe(3);
        return (await lab.log()).lines.at(-1)?.text === 'all told';
      };
      await until('all is told', told, 120_000);
      const [kept_kb] = spawnSync('/usr/bin/du', ['-sk', join(lab.docker.directory, 'data/containers')], {
        encoding: 'utf8',
      }).stdout.split('\t');
      expect(Number(kept_kb)).toBeLessThan(KEPT_KB);
      expect(lab.told('instance.ended')).toEqual([]);
    });

    it.each([
      ['hangs', (docker: DockerSandbox) => docker.freezeDocker(), (docker: DockerSandbox) => docker.thawDocker()],
      ['is killed', (docker: DockerSandbox) => docker.killDocker(), (docker: DockerSandbox) => docker.startDocker()],
    ])('while Docker %s, packets pass; without its program none does, and that is told', async (_, away, back) => {
      const lab = await ImageLab.start();
      await lab.desire(filterChain(1, ['udp dport 23 drop']));
      const { pid } = await lab.state();
      await away(lab.docker);
      expect([await lab.passed(80), await lab.passed(23, 3, 0.5)]).toEqual([3, 0]);
      lab.docker.killInside(pid);
      await lab.observes('its end', ({ instances: [nf] }) => nf?.state === 'failed');
      await staysClosed(lab);
      expect(lab.server.all('observed').at(-1)!.observed.state).not.toBe('converged');
      await back(lab.docker);
      await lab.crosses();
      expect(await lab.passed(23, 3, 0.5)).toBe(0);
      await lab.observes('it runs', ({ state }) => state === 'converged');
    });

    it('passes packets while the disk of Docker is full of what others write, and is told of its end', async () => {
      const lab = await ImageLab.start({ sandbox: new DockerSandbox(96) });
      const chatty = `${RULES}; while echo here >/dev/shm/last; do echo still here; sleep 0.01; done`;
      const writable = ['/tmp', '/run', '/dev/shm'];
      await lab.desire(filterChain(1, ['udp dport 23 drop'], { ...script(chatty), writable }));
      const { pid } = await lab.state();
      lab.docker.fillDisk(true);
      expect([await lab.passed(80), await lab.passed(23, 3, 0.5)]).toEqual([3, 0]);
      lab.docker.killInside(pid);
      await until('its end is told', () => lab.told('instance.ended').length > 0);
      lab.docker.fillDisk(false);
      await lab.crosses();
      expect(await lab.passed(23, 3, 0.5)).toBe(0);
    });
  },
);
