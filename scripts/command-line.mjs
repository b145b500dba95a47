import { parseArgs } from 'node:util';
import { SetupError } from './setup/progress.mjs';

/** Options and positionals as `parseArgs` returns them. Throws SetupError with the help text if the command line is invalid. */
export function readCommandLine(config, help) {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new SetupError(`${error.message}\n\n${help}`);
  }
}
