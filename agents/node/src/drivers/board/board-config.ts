import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Name } from '@orrery/contract';
import { z } from 'zod';
import { firstIssue } from '../../platform/first-issue.js';

const Iface = z.string().regex(/^[^\s/]{1,15}$/, 'must be an interface name');
const Path = z.string().min(1).max(4096);
/**
 * Beside an engine its ends: it sends frames into `near` and receives them from `far`. At a switch the board's own
 * interfaces, whose counters tell what it lost with its power.
 */
const Ends = { near: Iface, far: Iface };
const slots = <T extends z.ZodRawShape>(shape: T) =>
  z
    .array(z.strictObject({ ...Ends, ...shape }))
    .min(1)
    .max(16);

const CsrOffset = z
  .int()
  .min(0)
  .multipleOf(4, 'must be a multiple of 4')
  .describe('offset of the registers in the file `csr`');

/** Settings for a board that cannot describe itself. */
const silicon = {
  id: Name,
  images: Path.describe('directory with bitstreams and `images.json`'),
  profile: Name,
  device: z.string().min(1).max(80),
  clock_mhz: z.number().positive(),
  csr: Path.describe('register file that supports 32-bit reads and writes at offsets'),
  shell_csr: CsrOffset,
  slots: slots({ csr: CsrOffset, resources: z.record(Name, z.number().min(0)).default({}) }),
};

const Command = z
  .array(z.string().min(1))
  .min(1)
  .refine((words) => words.some((word) => word.includes('{image}')), 'must contain {image}');

const SimulatedBoard = z.strictObject({
  id: Name,
  backend: z.literal('simulated'),
  attached: z.literal('switch').optional().describe('its ports hang on a switch; absent: beside the engine'),
  control: Path.describe('socket of boardd'),
  events: Path.describe('its socket for events'),
  images: Path,
  slots: slots({}),
});
const FpgaManagerBoard = z.strictObject({
  ...silicon,
  backend: z.literal('fpga-manager'),
  manager: Path.default('/sys/class/fpga_manager/fpga0'),
  firmware: Path.default('/lib/firmware').describe('directory from which the kernel takes bitstreams'),
});
const PcieBoard = z.strictObject({
  ...silicon,
  backend: z.literal('pcie'),
  loader: z
    .strictObject({ full: Command, partial: Command })
    .partial()
    .describe('commands that load a bitstream, run without a shell; {image} and {slot} stand for what is loaded'),
  loader_timeout_s: z.number().positive().max(3600).default(120),
});

const BoardConfig = z.discriminatedUnion('backend', [SimulatedBoard, FpgaManagerBoard, PcieBoard]);
export type BoardConfig = z.infer<typeof BoardConfig>;

/** Whether the ports of the board hang on a switch. Boards of hardware stand beside the engine so far. */
export function hangsOnSwitch(board: BoardConfig): boolean {
  return board.backend === 'simulated' && board.attached === 'switch';
}

export type SimulatedConfig = z.infer<typeof SimulatedBoard>;
export type FpgaManagerConfig = z.infer<typeof FpgaManagerBoard>;
export type PcieConfig = z.infer<typeof PcieBoard>;

const Boards = z
  .array(BoardConfig)
  .max(16)
  .superRefine((boards, context) => {
    unique(boards.map(({ id }, i) => [id, [i, 'id']]));
    unique(
      boards.flatMap(({ slots }, b) =>
        slots.flatMap((slot, s) =>
          (['near', 'far'] as const).map((end): [string, PropertyKey[]] => [slot[end], [b, 'slots', s, end]]),
        ),
      ),
    );
    function unique(values: [string, PropertyKey[]][]): void {
      const seen = new Set<string>();
      for (const [value, path] of values) {
        if (seen.has(value)) context.addIssue({ code: 'custom', path, message: `${value} appears twice` });
        seen.add(value);
      }
    }
  });

/** Paths in the file are relative to it. Throws an error that names the file and the field. */
export function readBoards(file: string): BoardConfig[] {
  let document: unknown;
  try {
    document = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`);
  }
  const parsed = Boards.safeParse(document);
  if (!parsed.success) throw new Error(`${file}: ${firstIssue(parsed.error)}`);
  const from = dirname(resolve(file));
  return parsed.data.map((board) => absolute(board, (path) => resolve(from, path)));
}

function absolute(board: BoardConfig, at: (path: string) => string): BoardConfig {
  const images = at(board.images);
  switch (board.backend) {
    case 'simulated':
      return { ...board, images, control: at(board.control), events: at(board.events) };
    case 'fpga-manager':
      return { ...board, images, csr: at(board.csr), manager: at(board.manager), firmware: at(board.firmware) };
    case 'pcie':
      return { ...board, images, csr: at(board.csr) };
  }
}
