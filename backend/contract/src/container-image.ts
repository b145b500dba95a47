import { z } from 'zod';
import { Forwarding, ProgramCommand, ProgramFile, TravelsAlong } from './legacy-program.js';

const MIB = 2 ** 20;

const HOST = '(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?(?::\\d{1,5})?/)?';
const PART = '[a-z0-9]+(?:(?:\\.|_{1,2}|-+)[a-z0-9]+)*';
const REFERENCE = new RegExp(
  `^${HOST}${PART}(?:/${PART})*` +
    `(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(?:@sha256:[a-f0-9]{64})?|@sha256:[a-f0-9]{64})$`,
);

/** Without tag and digest. */
const NAME_CHARS = 255;
const HIGHEST_PORT = 65_535;

const portOf = (reference: string): number => Number(/^[^/]*:(\d+)\//.exec(reference)?.[1] ?? 0);
const nameOf = (reference: string): string => reference.replace(/@.*$/, '').replace(/:[^/]*$/, '');

/** Name of an image with its tag, its digest or both, as Docker takes it. */
export const ImageReference = z
  .string()
  .max(300)
  .regex(REFERENCE, 'must be an image with a tag or digest: registry.example:5000/team/name:1.0')
  .refine(
    (it) => nameOf(it).length <= NAME_CHARS,
    `must have a name of at most ${NAME_CHARS} characters before its tag`,
  )
  .refine((it) => portOf(it) <= HIGHEST_PORT, `must have a port of its registry of at most ${HIGHEST_PORT}`);

/** When an image is asked of its registry. */
export const PullPolicy = z.enum(['always', 'if-missing', 'never']);
export type PullPolicy = z.infer<typeof PullPolicy>;

/** Rights that the processes of an image can have (capabilities(7)); none of them reaches beyond its namespaces. */
export const ContainerRight = z.enum([
  'NET_ADMIN',
  'NET_RAW',
  'NET_BIND_SERVICE',
  'SETUID',
  'SETGID',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'KILL',
]);
export type ContainerRight = z.infer<typeof ContainerRight>;

export const ContainerLimits = z.strictObject({
  cpus: z.number().min(0.05).max(64).default(1).describe('cores: 0.25 is a quarter of one'),
  memory_bytes: z
    .int()
    .min(8 * MIB)
    .max(2 ** 40)
    .default(512 * MIB)
    .describe('with what is written below `writable`; there is no swap'),
  processes: z.int().min(1).max(32_768).default(256).describe('with threads'),
});
export type ContainerLimits = z.infer<typeof ContainerLimits>;

const JUDGEMENT = {
  interval_s: z.number().min(0.5).max(300).default(5),
  timeout_s: z.number().min(0.5).max(60).default(3).describe('a check that takes longer has failed'),
  failures: z.int().min(1).max(20).default(3).describe('in a row, after which the container is unhealthy'),
  start_s: z.number().min(1).max(600).default(15).describe('time until it must be healthy for the first time'),
  restart_after_s: z.number().min(1).max(3600).default(30).describe('of being unhealthy'),
};

/** How it is known that a container does its work; packets come once it is healthy for the first time. */
export const ContainerHealth = z.discriminatedUnion('by', [
  z.strictObject({
    by: z.literal('command'),
    command: ProgramCommand.describe('run in the container, without a shell; exit code 0: healthy'),
    ...JUDGEMENT,
  }),
  z.strictObject({
    by: z.literal('tcp'),
    port: z.int().min(1).max(65_535).describe('on 127.0.0.1 in the container; one that takes connections is healthy'),
    ...JUDGEMENT,
  }),
  z.strictObject({ by: z.literal('image'), ...JUDGEMENT }).describe('the HEALTHCHECK of the image'),
]);
export type ContainerHealth = z.infer<typeof ContainerHealth>;

const Folder = z
  .string()
  .max(200)
  .regex(/^(\/[A-Za-z0-9][A-Za-z0-9._-]*)+$/, 'must be the absolute path of a folder')
  // The system's, without which no container starts, and that of the descriptor's files.
  .refine(
    (path) => path === '/dev/shm' || !/^\/(proc|sys|dev|instance)(\/|$)/.test(path),
    'must not be in /proc, /sys, /dev (but for /dev/shm) or /instance',
  );

/**
 * A container of Docker from an image that a user names, in a network namespace of its own with the interfaces `near` and
 * `far`. Never privileged; its root file system is read-only.
 */
export const ContainerImage = z.strictObject({
  reference: ImageReference,
  pull: PullPolicy,
  forwarding: Forwarding,
  entrypoint: ProgramCommand.optional().describe('in place of that of the image'),
  command: ProgramCommand.optional().describe('in place of that of the image'),
  environment: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'must be the name of a variable'),
      z
        .string()
        .max(4000)
        .regex(/^[^\0]*$/, 'must not have a zero character'),
    )
    .default({})
    .describe('`{{name}}` is replaced as in commands'),
  files: z.array(ProgramFile).max(8).default([]).describe('read-only in {{dir}}'),
  writable: z.array(Folder).max(8).default(['/tmp', '/run']).describe('folders in memory, empty at each start'),
  capabilities: z.array(ContainerRight).max(ContainerRight.options.length).default([]),
  limits: ContainerLimits.prefault({}),
  health: ContainerHealth.optional().describe('absent: a container that runs is healthy'),
  preserves: z
    .array(TravelsAlong)
    .max(2)
    .describe('what is still there behind the NF; the hop always is. Nothing with `route`'),
});
export type ContainerImage = z.infer<typeof ContainerImage>;
