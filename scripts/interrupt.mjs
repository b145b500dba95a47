import { step } from './setup/progress.mjs';

/** What is to be done at an interrupt, in the order of registration. */
const cleanUps = new Set();
let interrupted = false;

/**
 * Runs `cleanUp`, beside those registered before, when the user or the system interrupts this process; then the process
 * ends with status 130, or 1 if one of them fails.
 */
export function onInterrupt(cleanUp) {
  cleanUps.add(cleanUp);
  if (cleanUps.size > 1) return;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, begin);
}

/** Whether the clean-up after an interrupt is in progress, so that failures are only its consequences. */
export const isInterrupted = () => interrupted;

async function begin() {
  if (interrupted) return;
  interrupted = true;
  process.stderr.write('\n');
  try {
    await step('Taking everything down', () => Promise.all([...cleanUps].map((cleanUp) => cleanUp())));
    process.exit(130);
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
