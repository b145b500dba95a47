import { resolve } from 'node:path';
import { whileTelling } from './building.mjs';
import { run } from './command.mjs';
import { fingerprint, unlessDone } from './fingerprint.mjs';
import { nativeBuild } from './native.mjs';
import { ROOT } from './paths.mjs';
import { p4runtimeProtos } from './python.mjs';

/** Progress of a running build; read by `twin/src/orrery_twin/adapters/p4_software.py`. */
const BUILDING = resolve(ROOT, 'agents/build/building-p4-switch');
const DESCRIPTOR = 'agents/node/generated/p4runtime.json';

/** Builds the P4 switch, and gives the agents the protocol by which they program it. */
export async function p4Switch({ background = false } = {}) {
  const print = fingerprint(['agents/node/p4runtime-descriptor.mjs', 'twin/requirements.txt', 'package-lock.json']);
  await unlessDone('p4runtime', print, [DESCRIPTOR], () =>
    run('p4runtime', process.execPath, ['agents/node/p4runtime-descriptor.mjs', p4runtimeProtos()], { cwd: ROOT }),
  );
  await nativeBuild('p4-switch', { background, during: (build) => whileTelling(BUILDING, build) });
}
