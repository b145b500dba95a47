import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Interval at which the progress is rewritten; the twin considers an old one abandoned (`adapters/building.py`). */
const ALIVE_MS = 5000;

/**
 * While `work` runs, `file` has its progress for the twin: the text last given to `work`'s argument. It is gone afterwards.
 * @template T
 * @param {string} file
 * @param {(advance: (progress: string) => void) => Promise<T>} work
 */
export async function whileTelling(file, work) {
  let progress = 'configuring';
  // The folder goes with a build that was configured elsewhere.
  const tell = () => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, progress);
  };
  tell();
  const alive = setInterval(tell, ALIVE_MS);
  try {
    return await work((text) => {
      progress = text;
      tell();
    });
  } finally {
    clearInterval(alive);
    rmSync(file, { force: true });
  }
}
