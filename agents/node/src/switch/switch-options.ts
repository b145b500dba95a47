import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Origin } from '@orrery/contract';
import { z } from 'zod';
import { authorities, isServerUrl, UsageError } from '../options.js';

export const SWITCH_HELP = `orrery-agent switches: programs the switches of this machine as the server wants them

  --server URL          ws://, wss:// or ws+unix:/path/agents.sock:/api/v1/agent
  --origin twin|live    emulated or real
  --ca FILE             certificate authorities (PEM) for wss:// (default: those of the system)
  --switches FILE       the switches (JSON; see README.md)
  --state-dir DIR       files that must survive a reboot
  --help

Flags can also be set as environment variables: ORRERY_SERVER, ORRERY_SWITCHES and so on.`;

export interface SwitchOptions {
  server: string;
  origin: Origin;
  /** PEM; `undefined`: Node's own list. */
  ca: string | undefined;
  switches: string;
  state_dir: string;
}

const text = (flag: string) => z.string({ error: `${flag} is missing` }).min(1, `${flag} is missing`);
const Options = z.object({
  server: text('--server').refine(isServerUrl, '--server must be ws://HOST..., wss://HOST... or ws+unix:/SOCKET:/PATH'),
  origin: text('--origin').pipe(z.enum(Origin.options, { error: '--origin must be twin or live' })),
  ca: z.string().min(1, '--ca must be a file').optional(),
  switches: text('--switches').transform((path) => resolve(path)),
  'state-dir': text('--state-dir').transform((path) => resolve(path)),
});

/** Null: help was requested. Throws a UsageError that names every bad flag. */
export function readSwitchOptions(args: string[], env: NodeJS.ProcessEnv): SwitchOptions | null {
  const flags = Object.keys(Options.shape);
  let given: Record<string, string | boolean | undefined>;
  try {
    const string = Object.fromEntries(flags.map((flag) => [flag, { type: 'string' as const }]));
    given = parseArgs({ args, options: { help: { type: 'boolean' }, ...string }, strict: true }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  if (given.help) return null;
  const parsed = Options.safeParse(
    Object.fromEntries(
      flags.map((flag) => [flag, given[flag] ?? env[`ORRERY_${flag.replaceAll('-', '_').toUpperCase()}`]]),
    ),
  );
  if (!parsed.success) throw new UsageError(parsed.error.issues.map(({ message }) => message).join('\n'));
  const { 'state-dir': state_dir, ...options } = parsed.data;
  return { ...options, ca: authorities(options), state_dir };
}
