import { parseArgs } from 'node:util';
import { isInterrupted } from './interrupt.mjs';
import { SetupError } from './setup/progress.mjs';

/** The command line is invalid: exit status 2. */
export class UsageError extends SetupError {}

/** Options and positionals as `parseArgs` returns them. Throws UsageError with the help text if the command line is invalid. */
export function readCommandLine(config, help) {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new UsageError(`${error.message}\n\n${help}`);
  }
}

/**
 * Ends this process, whatever it still holds open, with the status that `main` resolves with, or with that of its error: 2 for
 * an invalid command line, else 1. After an interrupt, the clean-up ends it.
 */
export async function runCommand(main) {
  const status = await main().catch(statusOf);
  if (!isInterrupted()) process.exit(status);
}

function statusOf(error) {
  if (isInterrupted()) return 130;
  console.error(error instanceof SetupError ? `\n${error.message}` : error);
  return error instanceof UsageError ? 2 : 1;
}
