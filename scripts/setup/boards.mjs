import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { whileTelling } from './building.mjs';
import { run } from './command.mjs';
import { fingerprint, unlessDone } from './fingerprint.mjs';
import { mesonBuild } from './native.mjs';
import { ROOT } from './paths.mjs';
import { step } from './progress.mjs';

const FPGA = resolve(ROOT, 'fpga');
const BUILD = resolve(FPGA, 'build/board');
/** Progress of a running build; read by `twin/src/orrery_twin/adapters/board_build.py`. */
const BUILDING = resolve(FPGA, 'build/building');
const LIBRARY = resolve(BUILD, 'slot');
/** Modules that are not hops of a chain: partial images are enough. */
const STREAMS = ['nf_aes_ctr', 'nf_sha256_hmac'];
const NFS = [
  'nf_stateful_firewall',
  'nf_nat',
  'nf_sqli_detector',
  'nf_ddos_detector',
  'nf_elephant_detector',
  'nf_crypto_tunnel',
];
/** Profiles for which bitstreams are made: those of the default topology. */
const PROFILES = ['de5', 'onetcard'];

/**
 * Runs Verilator over shell and modules, compiles the board process and creates bitstreams. During the build,
 * `BUILDING` contains its progress for the twin, which starts the boards once the file is gone.
 */
export async function boardsBuild({ background = false } = {}) {
  const print = fingerprint(['fpga/meson.build', 'fpga/board', 'fpga/rtl', 'agents/support'], ROOT);
  try {
    await unlessDone('boards', print, ['fpga/build/board/boardd', 'fpga/build/board/images/de5'], () =>
      step('FPGA boards', async (note) => {
        await whileTelling(BUILDING, async (tell) => {
          const advance = (text) => {
            note(text);
            tell(text);
          };
          await mesonBuild('boards', 'fpga', 'build', { targets: ['demo'], background, note: advance });
          await bitstreams((profile) => advance(`bitstreams for ${profile}`));
        });
      }),
    );
  } finally {
    rmSync(BUILDING, { force: true });
  }
}

/** One key for this checkout; every module alone for each slot, and whole-device images with the other slots empty. */
export async function bitstreams(note = () => undefined) {
  const key = resolve(BUILD, 'images.key');
  const images = resolve(BUILD, 'images');
  rmSync(images, { recursive: true, force: true });
  await bitgen(['--new-key', key, '--public-key', resolve(BUILD, 'images.pub')]);
  for (const name of PROFILES) {
    note(name);
    const profile = resolve(FPGA, `board/profiles/${name}.json`);
    mkdirSync(resolve(images, name), { recursive: true });
    const slots = JSON.parse(readFileSync(profile, 'utf8')).slots.map((_, slot) => slot);
    const make = (file, more) =>
      bitgen([
        '--profile',
        profile,
        '--library',
        LIBRARY,
        '--key',
        key,
        '--output',
        resolve(images, name, file),
        ...more,
      ]);
    for (const slot of slots) {
      for (const module of [...NFS, ...STREAMS])
        await make(`${module}-${slot}.partial`, ['--slot', String(slot), '--module', module]);
      for (const module of NFS)
        await make(`${module}-${slot}.full`, [
          '--full',
          ...slots.flatMap((other) => ['--module', other === slot ? module : '-']),
        ]);
    }
  }
}

function bitgen(args) {
  return run('bitgen', resolve(BUILD, 'bitgen'), args, { cwd: FPGA });
}
