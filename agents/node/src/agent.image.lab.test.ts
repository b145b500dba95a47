import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { childOf, DockerSandbox } from './testing/docker-sandbox.js';
import { hostImage, shippedImage } from './testing/host-image.js';
import { filterChain, ImageLab, imagesMissing, NF, nothing, REFERENCE, TOOLS } from './testing/image-lab.js';
import { ended } from './testing/lab.js';
import { scratchDirectory, until } from './testing/scratch.js';

const missing = imagesMissing();
const PASSWORD = 'correct-horse-7f3a';
const WRONG = 'battery-staple-91c2';

const running = (name: string) => name.replace(/orp[0-9a-f]+/, 'STEM');

describe.skipIf(missing !== null)(
  `agent with images of users${missing ? ` (skipped: ${missing})` : ''}`,
  { timeout: 180_000 },
  () => {
    it('filters packets in a container, heals it whatever ends it, and leaves nothing behind', async () => {
      const lab = await ImageLab.start();
      await lab.desire(filterChain(1, ['udp dport 23 drop']));
      expect([await lab.passed(80), await lab.passed(23, 3, 0.5)]).toEqual([3, 0]);
      const first = await lab.state();
      expect(first).toMatchObject({
        limits: { cpus: 1, memory_bytes: 512 * 2 ** 20, processes: 256 },
        container: { image: REFERENCE, ends: 0, health: { status: 'healthy' }, measured_by: /Docker/ },
      });

      // Killed: traffic goes on between the same interfaces; the time without is bounded.
      const indices = lab.interfaceIndices();
      const killedMs = performance.now();
      lab.docker.killInside(first.pid);
      await until('its end is told', () => lab.told('instance.ended').length === 1);
      expect(lab.told('instance.ended')[0]).toContain('the container ended: exit code 137');
      await lab.crosses();
      const gapMs = performance.now() - killedMs;
      expect(gapMs).toBeLessThan(30_000);
      expect(await lab.passed(23, 3, 0.5)).toBe(0);
      expect(lab.interfaceIndices()).toEqual(indices);
      const second = await lab.state();
      expect(second.container).toMatchObject({ ends: 1 });
      expect(second.container.id).not.toBe(first.container.id);

      // The next agent finds the container, and packets cross in between.
      process.kill(childOf(lab.agent.pid!)!, 'SIGKILL');
      await ended(lab.agent);
      expect(await lab.passed(80)).toBe(3);
      const hellos = lab.server.all('hello').length;
      lab.startAgent();
      await until('it is back', () => lab.server.all('hello').length > hellos, 30_000);
      await lab.observes('converged', (it) => it.state === 'converged' && it.instances[0]?.state === 'running');
      expect((await lab.state()).container.id).toBe(second.container.id);

      await lab.desire(nothing(2));
      expect(await lab.docker.list()).toEqual([]);
      expect(lab.interfaces()).toEqual(['e0']);
      expect(lab.docker.cgroups()).toEqual([]);
      console.info(`traffic resumed after ${Math.round(gapMs)} ms`);
    });

    it('says that an image is missing, makes nothing without it, and starts when it is there', async () => {
      const lab = await ImageLab.start({ hasImage: false });
      lab.server.send({ type: 'desired', spec: filterChain(1, []) });
      const told = await lab.detail(/does not have/);
      expect(told).toContain(`/image/reference: Docker on n1 does not have ${REFERENCE}, and /image/pull is "never"`);
      expect(await lab.docker.list()).toEqual([]);
      expect(lab.interfaces()).toEqual(['e0']);

      await hostImage(lab.docker.client, REFERENCE, TOOLS);
      await lab.crosses();
      await until(
        'it is told',
        () => lab.server.all('hello').at(-1)!.capabilities.containers!.images!.includes(REFERENCE),
        30_000,
      );
    });

    it('pulls an image for a configuration, and restarts it when its registry is gone', async () => {
      const lab = await ImageLab.start({ hasImage: false });
      const registry = await lab.serveImage(5000, TOOLS);
      const reference = '127.0.0.1:5000/test/tools:1';
      await lab.desire(filterChain(1, ['udp dport 23 drop'], { reference, pull: 'always' }));
      expect([await lab.passed(80), await lab.passed(23, 3, 0.5)]).toEqual([3, 0]);
      const { pid, container } = await lab.state();
      expect(container.image).toBe(reference);

      process.kill(childOf(registry.pid!)!, 'SIGKILL');
      await ended(registry);
      lab.docker.killInside(pid);
      await until('its end is told', () => lab.told('instance.ended').length === 1);
      await lab.crosses();
      expect((await lab.state()).container.image_id).toBe(container.image_id);

      // Nor does the next agent need it.
      process.kill(childOf(lab.agent.pid!)!, 'SIGKILL');
      await ended(lab.agent);
      const hellos = lab.server.all('hello').length;
      lab.startAgent();
      await until('it is back', () => lab.server.all('hello').length > hellos, 30_000);
      lab.docker.killInside((await lab.state()).pid);
      await until('its end is told', () => lab.told('instance.ended').length === 2);
      await lab.crosses();

      // A configuration that needs it waits, and what runs goes on.
      const { container: before } = await lab.state();
      lab.server.send({ type: 'desired', spec: filterChain(2, [], { reference, pull: 'always' }) });
      await lab.detail(/its registry cannot be reached/);
      expect(lab.told('instance.refused').at(-1)).toContain('keeps running unchanged');
      expect([await lab.passed(80), await lab.passed(23, 3, 0.5)]).toEqual([3, 0]);
      expect((await lab.state()).container.id).toBe(before.id);
      await lab.desire(filterChain(3, [], { reference, pull: 'if-missing' }));
      await lab.crosses();
    });

    it('pulls a private image with the password of its server, and says what to do without one', async () => {
      const folder = scratchDirectory();
      const file = join(folder, 'config.json');
      const login = (password: string) =>
        writeFileSync(
          file,
          JSON.stringify({ auths: { '127.0.0.1:5000': { auth: Buffer.from(`ada:${password}`).toString('base64') } } }),
        );
      writeFileSync(file, '{}');
      const lab = await ImageLab.start({ hasImage: false, flags: ['--docker-config', file] });
      await lab.serveImage(5000, TOOLS, `ada:${PASSWORD}`);
      const reference = '127.0.0.1:5000/test/tools:1';
      lab.server.send({ type: 'desired', spec: filterChain(1, ['udp dport 23 drop'], { reference, pull: 'always' }) });
      await lab.detail(/is refused by its registry; .* has no password of 127\.0\.0\.1:5000: run "docker login/);
      login(WRONG);
      await lab.detail(/is refused by its registry; the password of 127\.0\.0\.1:5000 in .* is not accepted/);
      expect(lab.interfaces()).toEqual(['e0']);
      login(PASSWORD);
      await lab.crosses();
      expect(await lab.passed(23, 3, 0.5)).toBe(0);
      // Neither what it told the server nor what it left on its disk has a password.
      const secrets = [PASSWORD, WRONG].flatMap((one) => [one, Buffer.from(`ada:${one}`).toString('base64')]);
      const told = JSON.stringify(lab.server.received) + lab.agentLog;
      expect(secrets.filter((one) => told.includes(one))).toEqual([]);
      expect(secrets.filter((one) => lab.keeps(one))).toEqual([]);
    });

    it('says that the disk is full, leaves nothing on it, and starts when there is room', async () => {
      const lab = await ImageLab.start({ sandbox: new DockerSandbox(96) });
      lab.docker.fillDisk(true);
      lab.server.send({ type: 'desired', spec: filterChain(1, []) });
      expect(await lab.detail(/no space/)).toContain('no space is left on the disk of Docker');
      lab.docker.fillDisk(false);
      await lab.crosses();
      lab.docker.fillDisk(true);
      lab.server.send({ type: 'desired', spec: filterChain(2, ['udp dport 23 drop']) });
      await lab.detail(/no space is left on the disk of Docker/);
      await lab.desire(nothing(3));
      expect(await lab.docker.list()).toEqual([]);
      expect(lab.interfaces()).toEqual(['e0']);
    });

    it('loads the image of an NF that came with it from its folder, and filters packets with it', async () => {
      const images = scratchDirectory();
      const elsewhere = new DockerSandbox();
      await elsewhere.setUp();
      const reference = await shippedImage(elsewhere.client, 'nftables-container', TOOLS);
      await elsewhere.save(reference, join(images, 'nftables-container.tar'));
      const lab = await ImageLab.start({ hasImage: false, flags: ['--images', images, '--legacy-nfs', 'off'] });
      expect(lab.server.all('hello').at(-1)!.capabilities.containers!.images).toContain(reference);
      const config = { policy: 'accept', rules: ['udp dport 23 drop'] };
      await lab.desire(filterChain(1, [], {}, { nf: 'nftables-container', config }));
      expect([await lab.passed(80), await lab.passed(23, 3, 0.5)]).toEqual([3, 0]);
      const told = filterChain(2, [], {});
      lab.server.send({ type: 'desired', spec: told });
      await lab.detail(/--legacy-nfs on/);
    });

    it('names the field of what an image cannot do', async () => {
      const lab = await ImageLab.start();
      const refused: [object, RegExp][] = [
        [{ entrypoint: ['/bin/none'] }, /\/image\/entrypoint\/0: is no program of the image/],
        [{ health: { by: 'image' } }, /\/image\/health\/by: test\/tools:1 has no HEALTHCHECK/],
        [{ entrypoint: undefined }, /\/image\/command: is missing/],
        [{ pull: 'always', reference: '127.0.0.1:9/none:1' }, /\/image\/reference: .* its registry cannot be reached/],
      ];
      for (const [i, [image, words]] of refused.entries()) {
        lab.server.send({ type: 'desired', spec: filterChain(i + 1, [], image) });
        await lab.detail(words);
      }
    });

    it('tells of a container whose health check fails, stops it from being taken for healthy, and restarts it', async () => {
      const lab = await ImageLab.start();
      const health = {
        by: 'command',
        command: ['test', '!', '-e', '/tmp/ill'],
        interval_s: 0.5,
        failures: 2,
        restart_after_s: 4,
      };
      const script =
        'nft -f {{dir}}/ruleset.nft; echo ready; until test -e /run/go; do sleep 0.1; done; echo ill; touch /tmp/ill; exec sleep infinity';
      await lab.desire(filterChain(1, [], { entrypoint: ['/bin/sh', '-c', script], health }));
      await lab.crosses();
      const { pid } = await lab.state();
      const before = await lab.log();
      expect(before.lines).toEqual([{ t_ms: expect.any(Number), text: 'ready' }]);
      lab.touch(pid, '/run/go');
      const later = await until('more is written', async () => {
        const told = await lab.log(before.next!);
        return told.lines.length > 0 && told;
      });
      expect(later.lines.map(({ text }) => text)).toEqual(['ill']);
      await lab.detail(/its health check fails, \d+ times in a row/);
      await until('its end is told', () => lab.told('instance.ended').length === 1, 30_000);
      expect(lab.told('instance.unresponsive')[0]).toContain('its health check fails');
      expect(lab.told('instance.ended')[0]).toMatch(/its health check fails.*after 6\.5 s of that it was killed/);
      await lab.crosses();
      expect((await lab.state()).container).toMatchObject({ ends: 1, health: { status: 'healthy' } });
    });

    it('the next agent opens no container that was never healthy', async () => {
      const lab = await ImageLab.start();
      const script =
        'echo starts; until test -e /run/go; do sleep 0.1; done; nft -f {{dir}}/ruleset.nft; sleep infinity';
      const health = { ...filterChain(1, []).instances[0]!.image!.health, start_s: 120 };
      const of = { entrypoint: ['/bin/sh', '-c', script], health };
      const checked = async () => {
        const [nf] = (await lab.docker.list()).filter(({ name }) => !name.endsWith('-net'));
        const found = nf && (await lab.docker.client.inspect(nf.id));
        return found?.running && found.health!.failures > 0 && found;
      };
      lab.server.send({ type: 'desired', spec: filterChain(1, ['udp dport 23 drop'], of) });
      const before = await until('it was checked in vain', checked, 40_000);
      process.kill(childOf(lab.agent.pid!)!, 'SIGKILL');
      await ended(lab.agent);
      const hellos = lab.server.all('hello').length;
      lab.startAgent();
      await until('it is back', () => lab.server.all('hello').length > hellos, 30_000);
      // Longer than it takes to find and open closed interfaces.
      for (let i = 0; i < 8; i++) expect(await lab.passed(23, 1, 0.5)).toBe(0);
      const isNew = async () => {
        const found = await checked();
        return found && found.id !== before.id && found;
      };
      const after = (await until('it is started again', isNew, 20_000)).pid;
      lab.touch(after, '/run/go');
      await lab.crosses();
      expect(await lab.passed(23, 3, 0.5)).toBe(0);
    });

    it('notices a container that is paused or stopped, and replaces it', async () => {
      const lab = await ImageLab.start();
      await lab.desire(
        filterChain(1, [], { health: { ...filterChain(1, []).instances[0]!.image!.health, restart_after_s: 2 } }),
      );
      const first = await lab.state();
      await lab.docker.pause(first.container.id);
      await lab.detail(/its container is paused/);
      await until('its end is told', () => lab.told('instance.ended').length === 1, 30_000);
      await lab.crosses();
      const second = await lab.state();
      lab.docker.killInside(second.pid, 'STOP');
      await until('its end is told', () => lab.told('instance.ended').length === 2, 30_000);
      expect(lab.told('instance.ended')[1]).toContain('the process was stopped');
      await lab.crosses();
      expect((await lab.state()).container.ends).toBe(2);
      expect((await lab.docker.list()).map(({ name }) => running(name)).sort()).toEqual([
        'orrery-n1-STEM',
        'orrery-n1-STEM-net',
      ]);
      expect((await lab.observes('it runs', (it) => it.state === 'converged')).instances[0]).toMatchObject({
        id: NF,
        detail: null,
      });
    });
  },
);
