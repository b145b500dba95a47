// Packs a root file system as an image that `docker load` takes: node archive-image.mjs NF ROOT FOLDER
// Name, entry point and health check are those of agents/node/container-nfs/NF; the archive is FOLDER/NF.tar.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  createReadStream,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

const NFS = resolve(import.meta.dirname, '../../agents/node/container-nfs');
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' };
/** Docker counts in ns. */
const UNITS_NS = { ms: 1e6, s: 1e9, m: 60e9 };
/** Of Debian's image; one that was imported from packages has none. */
const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What a Dockerfile says of how its image runs, as an image has it. */
export function configOf(dockerfile) {
  const entrypoint = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile);
  const check = /^HEALTHCHECK --interval=(\d+)(ms|s|m) CMD (\[.*\])$/m.exec(dockerfile);
  const other = dockerfile
    .split('\n')
    .find((line) => /^(?!ARG|FROM|RUN|COPY|ENTRYPOINT|HEALTHCHECK)[A-Z]+ /.test(line));
  if (!entrypoint || !check || other)
    throw new Error(`A Dockerfile says what cannot be packed: ${other ?? dockerfile}`);
  const [, count, unit, command] = check;
  return {
    Env: [PATH],
    Entrypoint: JSON.parse(entrypoint[1]),
    Healthcheck: { Test: ['CMD', ...JSON.parse(command)], Interval: Number(count) * UNITS_NS[unit] },
  };
}

const digestOf = async (file) => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
};

export async function archiveImage(nf, root, folder) {
  const { implementations } = JSON.parse(readFileSync(join(NFS, nf, 'descriptor.json'), 'utf8'));
  const { reference } = implementations.find(({ driver }) => driver === 'container').image;
  mkdirSync(folder, { recursive: true });
  const parts = mkdtempSync(join(folder, 'parts-'));
  try {
    const plain = join(parts, 'plain.tar');
    const layer = join(parts, 'layer.tar');
    execFileSync('tar', [
      '--create',
      '--numeric-owner',
      '--xattrs',
      '--sort=name',
      '--file',
      plain,
      '--directory',
      root,
      '.',
    ]);
    const diff = await digestOf(plain);
    await pipeline(createReadStream(plain), createGzip(), createWriteStream(layer));
    rmSync(plain);
    const config = JSON.stringify({
      architecture: ARCHITECTURES[process.arch] ?? process.arch,
      os: 'linux',
      config: configOf(readFileSync(join(NFS, nf, 'Dockerfile'), 'utf8')),
      rootfs: { type: 'layers', diff_ids: [`sha256:${diff}`] },
    });
    writeFileSync(join(parts, 'config.json'), config);
    const manifest = [{ Config: 'config.json', RepoTags: [reference], Layers: ['layer.tar'] }];
    writeFileSync(join(parts, 'manifest.json'), JSON.stringify(manifest));
    execFileSync('tar', [
      '--create',
      '--file',
      join(folder, `${nf}.tar`),
      '--directory',
      parts,
      'manifest.json',
      'config.json',
      'layer.tar',
    ]);
  } finally {
    rmSync(parts, { recursive: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  const [nf, root, folder] = process.argv.slice(2);
  await archiveImage(nf, root, folder);
}
