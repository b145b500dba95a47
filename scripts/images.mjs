import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readCommandLine, runCommand, UsageError } from './command-line.mjs';
import { ROOT } from './setup/paths.mjs';
import { SetupError } from './setup/progress.mjs';

const HELP = `Builds the images of the catalogue's container NFs (agents/node/container-nfs) with Docker

  npm run build:images [-- OPTIONS] [NF...]

Each is kept in Docker under the name that its descriptor has, and saved in agents/build/images, where agents find it whose
Docker is another one, as in the twin. What is in them comes from Debian's packages; no registry is asked but for the base.

  --base IMAGE      what they are built from (debian:bookworm-slim)
  --network NAME    network of the build, as \`docker build\` takes it
  --no-save         does not save them`;

const NFS = resolve(ROOT, 'agents/node/container-nfs');
const SAVED = resolve(ROOT, 'agents/build/images');
const BASE = 'debian:bookworm-slim';

/** The NFs that have a Dockerfile, with the name of their image. */
export function images() {
  return readdirSync(NFS).map((nf) => {
    const { implementations } = JSON.parse(readFileSync(join(NFS, nf, 'descriptor.json'), 'utf8'));
    return { nf, reference: implementations.find(({ driver }) => driver === 'container').image.reference };
  });
}

/** The base is pulled here and not by the build, whose error says less. */
function provideBase(base) {
  const has = () => spawnSync('docker', ['image', 'inspect', base], { stdio: 'ignore' }).status === 0;
  if (has() || spawnSync('docker', ['pull', base], { stdio: 'inherit' }).status === 0) return;
  throw new SetupError(`${base} is not here and cannot be pulled. Without a registry, make it of Debian's packages:
  mmdebstrap --variant=minbase bookworm - | docker import - ${base}`);
}

function build({ nf, reference }, { base, network, save }) {
  const args = ['build', '--tag', reference, '--file', join(NFS, nf, 'Dockerfile'), '--build-arg', `DEBIAN=${base}`];
  const where = network === undefined ? [] : ['--network', network];
  execFileSync('docker', [...args, ...where, resolve(ROOT, 'agents/node')], { stdio: 'inherit' });
  if (!save) return;
  mkdirSync(SAVED, { recursive: true });
  const file = join(SAVED, `${nf}.tar`);
  execFileSync('docker', ['save', '--output', `${file}.new`, reference], { stdio: 'inherit' });
  renameSync(`${file}.new`, file);
}

async function main() {
  const { values, positionals } = readCommandLine(
    {
      allowPositionals: true,
      options: {
        base: { type: 'string', default: BASE },
        network: { type: 'string' },
        'no-save': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    },
    HELP,
  );
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const all = images();
  const unknown = positionals.find((nf) => !all.some((it) => it.nf === nf));
  if (unknown)
    throw new UsageError(`There is no container NF ${unknown}; there are ${all.map(({ nf }) => nf).join(', ')}.`);
  if (spawnSync('docker', ['version'], { stdio: 'ignore' }).status !== 0)
    throw new SetupError('No Docker engine answers: `docker version` fails.');
  provideBase(values.base);
  for (const image of all)
    if (positionals.length === 0 || positionals.includes(image.nf))
      build(image, { base: values.base, network: values.network, save: !values['no-save'] });
  return 0;
}

if (process.argv[1] === import.meta.filename) await runCommand(main);
