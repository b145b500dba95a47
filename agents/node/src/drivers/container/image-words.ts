import type { ContainerImage } from '@orrery/contract';
import { readable } from '../../platform/readable.js';
import { DriverError } from '../nf-driver.js';
import { DockerAway } from './docker-http.js';

const SAID_CHARS = 300;
const REFERENCE = '/image/reference';
const PROGRAM = '/image/command/0';

const REFUSED = 'is refused by its registry';

/** What went wrong with an image, by what Docker says; the first that fits. */
const CAUSES: readonly [pattern: RegExp, field: string, words: string, permanent: boolean][] = [
  [/no space left on device/i, '', 'no space is left on the disk of Docker', false],
  [
    /executable file not found|no such file or directory: unknown|exec: .*permission denied/i,
    PROGRAM,
    'is no program of the image',
    true,
  ],
  [/no command specified/i, '/image/command', 'is missing: the image does not say what it runs', true],
  // Registries do not tell a private image from one that they do not have.
  [/may require 'docker login'/i, REFERENCE, REFUSED, false],
  [
    /manifest unknown|manifest for .* not found|does not exist|repository .* not found/i,
    REFERENCE,
    'is not in its registry',
    false,
  ],
  [
    /access denied|is denied|unauthorized|authentication required|no basic auth credentials|403 forbidden/i,
    REFERENCE,
    REFUSED,
    false,
  ],
  [/toomanyrequests|too many requests/i, REFERENCE, 'is refused by its registry, which was asked too often', false],
  [
    /connection refused|no such host|i\/o timeout|timeout exceeded|tls|x509|unreachable|lookup .* on|name resolution|server gave HTTP response|proxyconnect/i,
    REFERENCE,
    'cannot be pulled: its registry cannot be reached',
    false,
  ],
  [/range of cpus is from/i, '/image/limits/cpus', 'is more than the server has', true],
  [/invalid reference format/i, REFERENCE, 'is no reference of an image', true],
  [
    /no matching manifest|does not match the (specified|expected) platform/i,
    REFERENCE,
    'is not for this processor',
    true,
  ],
  // What Linux says of a program for another processor, and of a script that does not name its interpreter.
  [
    /exec \S+: exec format error/,
    REFERENCE,
    'runs what this server cannot: a program for another processor, or a script without `#!` in its first line',
    true,
  ],
];

/** Whether a container ended because Linux cannot run its program, by the last line of its log. */
export const isUnrunnable = (said: string): boolean => /: exec \S+: exec format error$/.test(said);

/**
 * Docker's error in plain words, with the field of the descriptor if one is the cause. `advice`: what to do where a registry refuses.
 */
export function imageError(
  error: unknown,
  { reference, entrypoint }: Pick<ContainerImage, 'reference' | 'entrypoint'>,
  instanceId: string,
  advice = '',
): DriverError {
  if (error instanceof DriverError) return error;
  const said = readable((error as Error).message, SAID_CHARS);
  if (error instanceof DockerAway) return new DriverError(said, instanceId);
  const cause = CAUSES.find(([pattern]) => pattern.test(said));
  if (!cause) return new DriverError(`image ${reference}: ${said}`, instanceId);
  const [, named, words, permanent] = cause;
  const field = named === PROGRAM && entrypoint?.length ? '/image/entrypoint/0' : named;
  const what = field === REFERENCE ? `${field}: ${reference} ${words}` : `${field === '' ? '' : `${field}: `}${words}`;
  const help = words === REFUSED && advice !== '' ? `; ${advice}` : '';
  return new DriverError(`${what}${help} (${said})`, instanceId, permanent);
}
