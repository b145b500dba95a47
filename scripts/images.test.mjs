import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { images } from './images.mjs';
import { ROOT } from './setup/paths.mjs';

const NFS = resolve(ROOT, 'agents/node/container-nfs');

test('every container NF of the catalogue is built of packages of Debian, under the name that its descriptor has', () => {
  assert.deepEqual(
    images().map(({ nf }) => nf),
    ['nftables-container', 'squid-container'],
  );
  for (const { nf, reference } of images()) {
    const dockerfile = readFileSync(resolve(NFS, nf, 'Dockerfile'), 'utf8');
    const { implementations } = JSON.parse(readFileSync(resolve(NFS, nf, 'descriptor.json'), 'utf8'));
    assert.match(reference, /^orrery\/[a-z]+:\d+\.\d+\.\d+$/);
    assert.equal(implementations[0].image.pull, 'never');
    for (const [, base] of dockerfile.matchAll(/^FROM (.*)$/gm)) assert.match(base, /^\$\{DEBIAN\}$/, nf);
    assert.equal(/curl|wget|pip |npm |ADD /.test(dockerfile), false, nf);
    for (const [, sources] of dockerfile.matchAll(/^COPY (.*) \S+$/gm))
      for (const source of sources.split(' ')) assert.ok(existsSync(resolve(ROOT, 'agents/node', source)), source);
  }
});
