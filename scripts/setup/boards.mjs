import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { fingerprint, unlessDone } from './fingerprint.mjs';
import { ROOT } from './paths.mjs';
import { run, step } from './progress.mjs';

const FPGA = resolve(ROOT, 'fpga');
const BUILD = resolve(FPGA, 'build/board');
const LIBRARY = resolve(BUILD, 'slot');
/** Modules that are no hop of a chain: partial images are enough. */
const STREAMS = ['nf_aes_ctr', 'nf_sha256_hmac'];
const NFS = ['nf_stateful_firewall', 'nf_nat', 'nf_sqli_detector', 'nf_ddos_detector', 'nf_elephant_detector'];
/** Profiles for which bitstreams are made: those of the default topology. */
const PROFILES = ['de5', 'onetcard'];

/** Runs Verilator over shell and modules and compiles the board process. */
export async function boardsBuild() {
  const print = fingerprint(['fpga/meson.build', 'fpga/board', 'fpga/rtl', 'agents/support']);
  await unlessDone('boards', print, ['fpga/build/board/boardd'], () =>
    step('FPGA boards', async (note) => {
      const configured = { cwd: FPGA };
      const reconfigure = existsSync(resolve(FPGA, 'build/build.ninja')) ? ['--reconfigure'] : [];
      await run('meson-boards', 'meson', ['setup', ...reconfigure, 'build'], configured);
      await run('ninja-boards', 'ninja', ['-C', 'build'], {
        ...configured,
        onLine: (line) => {
          const match = /^\[(\d+)\/(\d+)\]/.exec(line);
          if (match) note(`${match[1]} of ${match[2]}`);
        },
      });
    }),
  );
  await unlessDone('bitstreams', print, ['fpga/build/board/images/de5'], () => step('Bitstreams', bitstreams));
}

/** One key for this checkout; for each slot every module alone, and whole-device images with the other slots empty. */
async function bitstreams(note) {
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
