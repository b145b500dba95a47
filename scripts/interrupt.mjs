import { step } from './setup/progress.mjs';

const PARENT_LOOK_MS = 250;

/** What is to be done at an interrupt or an unforeseen failure, in the order of registration. */
const cleanUps = new Set();
let interrupted = false;

/**
 * Runs `cleanUp`, beside those registered before, when the user or the system interrupts this process, or an error that
 * nothing catches would end it; then the process ends, whatever it waits for, with status 130 after an interrupt, or 1 after an
 * error or if a clean-up fails.
 */
export function onInterrupt(cleanUp) {
  const first = cleanUps.size === 0;
  cleanUps.add(cleanUp);
  if (!first) return;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => begin(130));
  if (process.env.npm_lifecycle_event !== undefined) followParent();
  process.on('uncaughtException', (error) => {
    console.error(error);
    begin(1);
  });
}

/** npm that is ended takes along the shell in between, which passes no signal on. */
function followParent() {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && begin(130), PARENT_LOOK_MS).unref();
}

/** Whether the clean-up after an interrupt or an unforeseen failure is in progress, so that failures are only its consequences. */
export const isInterrupted = () => interrupted;

async function begin(status) {
  if (interrupted) return;
  interrupted = true;
  process.stderr.write('\n');
  const ends = await step('Taking everything down', () =>
    Promise.allSettled([...cleanUps].map((cleanUp) => cleanUp())),
  );
  const failed = ends.filter(({ status }) => status === 'rejected');
  for (const { reason } of failed) console.error(reason.message);
  process.exit(failed.length === 0 ? status : 1);
}
