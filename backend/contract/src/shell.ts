import { z } from 'zod';
import { Id } from './common.js';
import { SHELL_INPUT_CHARS, SHELL_OUTPUT_BYTES, SHELL_WINDOW_BYTES } from './shell-limits.js';

const columns = z.int().min(2).max(500);
const rows = z.int().min(1).max(300);
/** Of a terminal, in characters. */
export const ShellSize = z.strictObject({ columns, rows });
export type ShellSize = z.infer<typeof ShellSize>;

const typed = [
  z.strictObject({ type: z.literal('input'), text: z.string().max(SHELL_INPUT_CHARS) }),
  z.strictObject({ type: z.literal('resize'), columns, rows }),
  z.strictObject({
    type: z.literal('taken'),
    bytes: z
      .int()
      .min(1)
      .max(SHELL_WINDOW_BYTES)
      .describe('output that the terminal has shown: as much more may be sent'),
  }),
] as const;

/** What a terminal tells a shell. */
export const ShellInput = z.discriminatedUnion('type', [...typed]);
export type ShellInput = z.infer<typeof ShellInput>;

/** What a shell tells its terminal. Nothing follows `ended`. */
export const ShellOutput = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('output'),
    base64: z
      .base64()
      .max(Math.ceil(SHELL_OUTPUT_BYTES / 3) * 4)
      .describe('bytes as the program wrote them'),
  }),
  z.strictObject({
    type: z.literal('untaken'),
    chars: z.int().min(1).describe('typed while the program read nothing, and given up'),
  }),
  z.strictObject({ type: z.literal('ended'), detail: z.string().max(1000) }),
]);
export type ShellOutput = z.infer<typeof ShellOutput>;

/** Client to server on `/api/v1/shell`: one shell for each connection. The first message signs in and opens it. */
export const ShellClientMessage = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('open'), token: z.string().max(400), instance_id: Id, columns, rows }),
  ...typed,
]);
export type ShellClientMessage = z.infer<typeof ShellClientMessage>;

/** Server to client; `refused` and `ended` are the last. */
export const ShellServerMessage = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('opened') }),
  ...ShellOutput.options,
  z.strictObject({ type: z.literal('refused'), detail: z.string() }),
]);
export type ShellServerMessage = z.infer<typeof ShellServerMessage>;
