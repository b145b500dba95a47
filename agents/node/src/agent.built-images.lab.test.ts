import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadContainerNfs } from './drivers/legacy/registry.js';
import { PACKAGE_ROOT } from './package-root.js';
import { DockerSandbox, dockerMissing, NF_IMAGE } from './testing/docker-sandbox.js';
import { CLIENT, EXTERNAL } from './testing/http-lab.js';
import { filterChain, ImageLab } from './testing/image-lab.js';
import { PROXY, ProxyLab, proxyChain, proxyMissing } from './testing/proxy-lab.js';
import { until } from './testing/scratch.js';

const IMAGES = resolve(PACKAGE_ROOT, '../build/images');
const built = loadContainerNfs().every(({ nf }) => existsSync(resolve(IMAGES, `${nf}.tar`)));
const missing = dockerMissing() ?? proxyMissing() ?? (built ? null : 'needs the images of npm run build:images');

/** In memory, and gone at once: the images have thousands of files. */
const DISK_MIB = 1500;

class SquidLab extends ProxyLab {
  constructor(readonly docker: DockerSandbox) {
    super(docker.enter);
  }

  static async start(): Promise<SquidLab> {
    const docker = new DockerSandbox(DISK_MIB);
    await docker.setUp();
    const lab = new SquidLab(docker);
    await lab.setUp();
    lab.startAgent('--docker', docker.socket, '--nf-image', NF_IMAGE);
    await lab.server.next('hello');
    return lab;
  }
}

describe.skipIf(missing !== null)(
  `agent with the images of the catalogue as they are built${missing ? ` (skipped: ${missing})` : ''}`,
  { timeout: 240_000 },
  () => {
    it('filters packets', async () => {
      const lab = await ImageLab.start({ sandbox: new DockerSandbox(DISK_MIB), hasImage: false });
      const config = { policy: 'accept', rules: ['udp dport 23 drop'] };
      await lab.desire(filterChain(1, [], {}, { nf: 'nftables-container', config }));
      expect([await lab.passed(80), await lab.passed(23, 3, 0.5)]).toEqual([3, 0]);
      expect(await lab.passed(80, 200, 10)).toBe(200);
    });

    it('answers from its cache, and goes on with an empty one when it was killed', async () => {
      const lab = await SquidLab.start();
      const spec = proxyChain(1, {}, 'container');
      const { image } = loadContainerNfs().find(({ nf }) => nf === 'squid-container')!;
      await lab.desire({ ...spec, instances: spec.instances.map((it) => ({ ...it, nf: 'squid-container', image })) });
      expect(await lab.get('/kept/a')).toEqual({ status: 200, bytes: 7, cache: 'MISS' });
      expect(await lab.get('/kept/a')).toEqual({ status: 200, bytes: 7, cache: 'HIT' });
      expect(lab.requests('/kept/a')).toEqual([{ path: '/kept/a', from: EXTERNAL, for: CLIENT }]);
      expect([await lab.seenAs('tcp', 8080), await lab.seenAs('udp', 7)]).toEqual([CLIENT, CLIENT]);
      lab.docker.killInside((await lab.instanceState(PROXY)).pid as number);
      await until('its end is told', () => lab.ends().length === 1);
      await lab.answers();
      expect((await lab.get('/kept/a')).cache).toBe('MISS');
    });
  },
);
