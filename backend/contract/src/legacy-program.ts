import { z } from 'zod';

/**
 * How the frames of a legacy NF get from one of its interfaces to the other: `program`: it reads and writes them itself;
 * `bridge`: the kernel forwards them unchanged; `route`: the kernel routes them; `tap`: as `bridge`, also while the program
 * does not run.
 */
export const Forwarding = z.enum(['program', 'bridge', 'route', 'tap']);
export type Forwarding = z.infer<typeof Forwarding>;

/** What travels with a packet in its Ethernet addresses and survives an NF that leaves these as they are. */
export const TravelsAlong = z.enum(['metadata', 'ingress-time']);
export type TravelsAlong = z.infer<typeof TravelsAlong>;

/** A program and its arguments, run without a shell; the first word is its name in PATH or its absolute path. */
export const ProgramCommand = z
  .array(z.string().min(1).max(1000))
  .min(1)
  .max(64)
  .describe('`{{name}}` in a word is replaced: near, far, dir, or a field of the configuration');
export type ProgramCommand = z.infer<typeof ProgramCommand>;

export const ProgramFile = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,60}$/, 'must be a file name without folders'),
  content: z.string().max(65_536).describe('`{{name}}` is replaced as in commands; lists become one line an item'),
});
export type ProgramFile = z.infer<typeof ProgramFile>;

/** Of a program that says nothing about it. */
export const DISK_BYTES = 256 * 2 ** 20;

export const DebianPackage = z.string().regex(/^[a-z0-9][a-z0-9+.-]{1,60}$/, 'must be the name of a Debian package');

/**
 * An unmodified program ("legacy" in E2 3.6) in a network namespace of its own with two interfaces. `setup` runs in order
 * before packets come and again with each new configuration, which is refused if a command fails; `command` is kept running.
 */
export const LegacyProgram = z.strictObject({
  forwarding: Forwarding,
  setup: z.array(ProgramCommand).max(16).default([]),
  command: ProgramCommand.optional().describe('absent: what `setup` loaded into the kernel does the work'),
  report: ProgramCommand.optional().describe(
    'run once a second beside `command`: that it succeeds is the sign of life of the program, its lines `name = number` are figures',
  ),
  files: z.array(ProgramFile).max(8).default([]).describe('written to {{dir}} before `setup`'),
  disk_bytes: z
    .int()
    .min(2 ** 20)
    .max(2 ** 40)
    .optional()
    .describe(
      `what it may have in {{dir}}; with more it is ended, and its files are removed. Absent: ${DISK_BYTES / 2 ** 20} MiB`,
    ),
  packages: z.array(DebianPackage).max(8).default([]).describe('what the operator of a server has to install'),
  preserves: z
    .array(TravelsAlong)
    .max(2)
    .describe('what is still there behind the NF; the hop always is. Nothing with `route`'),
});
export type LegacyProgram = z.infer<typeof LegacyProgram>;

/** Names that commands and files may refer to besides the fields of the configuration. */
export const PROGRAM_NAMES = ['near', 'far', 'dir'] as const;

const PLACEHOLDER = /\{\{([a-z][a-z0-9_]*)\}\}/g;

/** Names that a text refers to. */
export function placeholdersOf(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, name]) => name!);
}

/** The text with its placeholders replaced; those without a value stay. */
export function fillPlaceholders(text: string, values: Readonly<Record<string, unknown>>): string {
  return text.replace(PLACEHOLDER, (whole, name: string) => textOf(values[name]) ?? whole);
}

function textOf(value: unknown): string | null {
  if (Array.isArray(value)) return value.map((item) => textOf(item) ?? '').join('\n');
  if (value === undefined || value === null) return null;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
