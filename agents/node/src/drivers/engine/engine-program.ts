import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { EngineAbility } from '@orrery/contract';
import { z } from 'zod';

const LIMIT_MS = 3000;

/** NFs of the engine's program; null: it cannot be run, and its start reports why. */
export async function nfsOf(path: string): Promise<readonly string[] | null> {
  return z
    .array(z.string())
    .nullable()
    .parse(JSON.parse(await answerOf(path, '--nfs', 'null')));
}

/** What the program can run beside NFs. One that does not know the option can run nothing. */
export async function abilitiesOf(path: string): Promise<readonly EngineAbility[]> {
  const known = z.array(z.string()).parse(JSON.parse(await answerOf(path, '--abilities', '[]')));
  return EngineAbility.options.filter((ability) => known.includes(ability));
}

async function answerOf(path: string, option: string, otherwise: string): Promise<string> {
  const asked = promisify(execFile)(path, [option], { timeout: LIMIT_MS });
  return asked.then(
    ({ stdout }) => stdout,
    () => otherwise,
  );
}
