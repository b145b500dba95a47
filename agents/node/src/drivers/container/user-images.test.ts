import { ContainerImage } from '@orrery/contract';
import { expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { instance } from '../../testing/specs.js';
import { recordOf } from '../hosted-instance.js';
import type { DockerClient, FoundImage } from './docker-client.js';
import type { Buyer, ImageStore } from './image-store.js';
import { UserImages } from './user-images.js';

const ID = 'c.n.0';
const NAME = 'orrery-n1-c';
const image = ContainerImage.parse({ reference: 'a/b:1', pull: 'always', forwarding: 'bridge', preserves: [] });
const desired = (digest: string) => recordOf(instance(ID, { driver: 'container', nf: 'mine', image }), digest);

/** A registry whose tag is moved with each pull, which ends when it is told to. */
function setUp() {
  const pulls: { buyer: Buyer; end(failure?: Error): void }[] = [];
  const store = {
    provide: (_: unknown, buyer: Buyer) =>
      new Promise<FoundImage>((resolve, reject) => {
        const found = { id: `image-${pulls.length + 1}`, has_check: true, has_command: true };
        pulls.push({ buyer, end: (failure) => (failure ? reject(failure) : resolve(found)) });
      }),
  };
  const started: unknown[] = [];
  const docker = {
    inspect: async () => null,
    hasImage: async () => true,
    create: async (_: string, config: { Image: string }) => void started.push(config.Image),
    start: async () => undefined,
  };
  const images = new UserImages(store as unknown as ImageStore, docker as unknown as DockerClient, () => undefined);
  const provide = (digest: string) => images.provide(desired(digest), image, NAME);
  const files = scratchDirectory();
  const start = (digest: string) =>
    images.start(NAME, 'holder', { of: { node: 'n1', instance_id: ID }, digest, image, config: {}, files });
  const pulled = async (count: number) => {
    await expect.poll(() => pulls.length).toBe(count);
    return pulls[count - 1]!;
  };
  return { images, provide, start, started, pulls, pulled };
}

it('restarts what runs with its own image while the next one is pulled and after', async () => {
  const { images, provide, start, started, pulls, pulled } = setUp();
  const first = provide('d1');
  (await pulled(1)).end();
  await first;
  const next = provide('d2');
  const { buyer, end } = await pulled(2);
  buyer.progress('pulling');
  await provide('d1');
  await start('d1');
  expect([images.progress(ID), buyer.signal.aborted]).toEqual(['pulling', false]);
  end();
  await next;
  await provide('d1');
  await start('d1');
  await start('d2');
  expect([started, pulls.length, images.progress(ID)]).toEqual([['image-1', 'image-1', 'image-2'], 2, null]);
});

it('keeps nothing of what is given up before or during its pull', async () => {
  const { images, provide, pulled } = setUp();
  const early = provide('d1').catch((error) => error.message);
  images.abandon(ID);
  const { buyer, end } = await pulled(1);
  expect(buyer.signal.aborted).toBe(true);
  end();
  expect(await early).toBe('its image is not wanted any more');
  const again = provide('d1');
  (await pulled(2)).end();
  await again;
});
